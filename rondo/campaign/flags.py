"""The command line of `rondo.fuzz`: libFuzzer's flags as libFuzzer spells them, ours with dashes.

The key insight: a flag that is understood half is worse than one that is refused. Whoever knows
libFuzzer finds each flag to do here what it does there, or one line that says it is not available.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from rondo.campaign.settings import UNLIMITED, Settings
from rondo.errors import RondoError

SAMPLERS = ("mcmc", "random", "stateless")


class UsageError(RondoError):
    """The command line asks for something that there is not."""

    slug: ClassVar[str] = "usage"


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag: the setting it fills, how its text is read, what help says of it."""

    field: str
    parse: Callable[[str], Any]
    help: str
    repeats: bool = False
    switch: bool = False


MOST_WORKERS = 4096
"""Of one campaign, those on a cluster included: more is a slip of the finger."""


def _whole(least: int, most: int | None = None) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text)
        if number < least:
            raise ValueError(f"at least {least}")
        if most is not None and number > most:
            raise ValueError(f"at most {most}")
        return number

    return parse


_workers = _whole(0, MOST_WORKERS)


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise ValueError("at least 0")
    return number


def _zero_or_one(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("0 or 1")
    return text == "1"


def _one_of(choices: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in choices:
            raise ValueError(f"one of {', '.join(choices)}")
        return text

    return parse


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(name for name in text.split(",") if name))
    if not names:
        raise ValueError("names with commas between them")
    return names


LIBFUZZER_FLAGS = {
    "runs": Flag(
        "runs", _whole(UNLIMITED), "executions in all, those of the corpus included (-1: no limit)"
    ),
    "max_total_time": Flag("max_total_time", _seconds, "seconds in all (0: no limit)"),
    "workers": Flag("workers", _workers, "workers at once (1; with -jobs: half the cores)"),
    "jobs": Flag(
        "jobs",
        _workers,
        "as many times -runs, and -max_total_time once a round of -workers (1)",
    ),
    "fork": Flag("fork", _workers, "the same as -workers, as libFuzzer's fork mode has it"),
    "merge": Flag("merge", _zero_or_one, "1: add what the other folders show to the first"),
    "minimize_crash": Flag("minimize_crash", _zero_or_one, "1: shorten the file that is given"),
    "seed": Flag("seed", _whole(0), "seed of every random choice (0: a new one each time)"),
    "max_len": Flag("max_len", _whole(0), "longest sequence, in bytes (0: what the codec allows)"),
    "timeout": Flag(
        "timeout", _seconds, "seconds of one step; all together may take 4 times that (60)"
    ),
    "rss_limit_mb": Flag("rss_limit_mb", _whole(1), "memory of one worker in Mb (4096)"),
    "artifact_prefix": Flag("artifact_prefix", Path, "folder for findings (./findings/)"),
    "print_final_stats": Flag("print_final_stats", _zero_or_one, "1: print statistics at the end"),
    "error_exitcode": Flag("error_exitcode", _whole(0), "exit code once a finding was made (0)"),
    "verbosity": Flag("verbosity", _whole(0), "0: findings only, 1: status, 2: every execution"),
}
OWN_FLAGS = {
    "framework": Flag("framework", str, "whose compiler to test (torch)"),
    "backends": Flag("backends", _names, "only these back ends, e.g. eager,aot_eager,inductor"),
    "sampler": Flag("sampler", _one_of(SAMPLERS), f"{', '.join(SAMPLERS)} (mcmc)"),
    "constructs": Flag("constructs", _names, "only these constructs, by name"),
    "architectures": Flag("architectures", _names, "only these architectures, by name"),
    "preload": Flag("preloads", str, "Python to run in each worker first", repeats=True),
    "subject": Flag("subject", str, "your own model, as package.module:factory"),
    "batch": Flag("batch", _whole(1), "executions that one worker serves, 1 for one each (16)"),
    "lines": Flag("lines", _zero_or_one, "0: do not trace the compiler's lines (1)"),
    "device": Flag("device", str, "where subjects live: cpu, cuda; auto is a GPU if any (auto)"),
    "device_limit_mb": Flag("device_limit_mb", _whole(0), "device memory of one worker (0: any)"),
    "campaign": Flag("campaign", Path, "folder that holds all of it; several may share one"),
    "resume": Flag("resume", _zero_or_one, "continue what --campaign holds", switch=True),
    "max-disk": Flag("max_disk_mb", _whole(1), "Mb that the campaign may use; then it stops"),
    "openmetrics": Flag("openmetrics", Path, "file to keep current figures in, as OpenMetrics"),
    "ray": Flag("ray", str, "run on a Ray cluster: its address, or auto"),
    "show-documented": Flag(
        "show_documented",
        _zero_or_one,
        "list at the end which documented limitations were met",
        switch=True,
    ),
    "json": Flag("json", _zero_or_one, "JSON lines instead of status lines", switch=True),
}
CORPUS, FINDINGS = "corpus", "findings"
"""The parts of a --campaign folder that its flags stand for."""
HELP_FLAGS = ("-h", "--help", "-help=1", "-help")

USAGE = "usage: python -m rondo.fuzz [flags] CORPUS|--campaign=FOLDER [more folders or files]"


def help_text() -> str:
    """Return what -help=1 prints."""
    lines = [USAGE, "", "New entries go to the first folder. Flags as in libFuzzer:"]
    lines += [f"  -{name:<18}{flag.help}" for name, flag in LIBFUZZER_FLAGS.items()]
    lines += ["", "Rondo's own:"]
    lines += [f"  --{name:<17}{flag.help}" for name, flag in OWN_FLAGS.items()]
    lines += [
        "",
        "Exit codes: 0 done, or -error_exitcode after a new finding; 2 bad input,",
        "3 no worker, 4 disk full or --max-disk reached, 130 Ctrl-C, 143 SIGTERM.",
    ]
    return "\n".join(lines)


def parse_flags(arguments: list[str]) -> Settings:
    """Return the settings that `arguments` ask for. Raises UsageError in one clear line."""
    return parse(arguments)[0]


def parse(arguments: list[str]) -> tuple[Settings, frozenset[str]]:
    """Return the settings and the names of those that were given. Raises UsageError."""
    fields: dict[str, Any] = {}
    folders: list[Path] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument.startswith("--"):
            _own(argument, rest, fields)
        elif argument.startswith("-"):
            _libfuzzer(argument, fields)
        else:
            folders.append(Path(argument))
    campaign = fields.get("campaign")
    if not folders and campaign is None:
        raise UsageError(f"no corpus folder given; {USAGE}")
    given = frozenset(fields) | ({"corpora"} if folders else set())
    if campaign is not None:
        if "artifact_prefix" in fields:
            raise UsageError("-artifact_prefix does not go with --campaign, which has a place")
        fields["artifact_prefix"] = campaign / FINDINGS
        folders.insert(0, campaign / CORPUS)
    settings = Settings(tuple(folders), **fields)
    _check(settings)
    return settings, given


def _check(settings: Settings) -> None:
    """Raise UsageError where flags do not go together."""
    if settings.fork and (settings.jobs or settings.workers):
        raise UsageError("-fork does not go with -jobs or -workers: it says how many there are")
    if settings.merge and len(settings.corpora) < 2:
        raise UsageError("-merge=1 needs a folder to merge into and others to merge from")
    if settings.minimize_crash and (settings.merge or len(settings.corpora) != 1):
        raise UsageError("-minimize_crash=1 needs one file: a reproducer or a sequence")
    if settings.ray and (settings.campaign is None or settings.resume):
        raise UsageError("--ray needs a --campaign=FOLDER to keep everything in, and no --resume")
    if settings.resume and settings.campaign is None:
        raise UsageError("--resume needs --campaign=FOLDER: the one to continue")


def _libfuzzer(argument: str, fields: dict[str, Any]) -> None:
    name, equals, text = argument[1:].partition("=")
    flag = LIBFUZZER_FLAGS.get(name)
    if flag is None:
        raise UsageError(f"unknown flag {argument}{_hint(name)}")
    if not equals:
        raise UsageError(f"-{name} needs a value: -{name}=VALUE")
    fields[flag.field] = _read(f"-{name}", flag, text)


def _own(argument: str, rest: list[str], fields: dict[str, Any]) -> None:
    name, equals, text = argument[2:].partition("=")
    flag = OWN_FLAGS.get(name)
    if flag is None:
        raise UsageError(f"unknown flag {argument}{_hint(name)}")
    if flag.switch and not equals:
        text = "1"
    elif not equals:
        if not rest:
            raise UsageError(f"--{name} needs a value")
        text = rest.pop(0)
    value = _read(f"--{name}", flag, text)
    fields[flag.field] = (*fields.get(flag.field, ()), value) if flag.repeats else value


def _read(name: str, flag: Flag, text: str) -> Any:
    try:
        if not text:
            raise ValueError("not empty")
        return flag.parse(text)
    except ValueError as error:
        wanted = str(error)
        if wanted.startswith(("invalid literal", "could not convert")):
            wanted = "a number"
        raise UsageError(f"{name}={text} is not usable: it must be {wanted}") from None


def _hint(name: str) -> str:
    spelled = {each: f"-{each}=" for each in LIBFUZZER_FLAGS}
    spelled |= {each: f"--{each}" for each in OWN_FLAGS}
    near = difflib.get_close_matches(name, spelled, n=1, cutoff=0.7)
    return f"; did you mean {spelled[near[0]]}?" if near else "; -help=1 lists all"
