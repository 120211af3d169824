"""The command line of a target: ours start with two dashes, all else is libFuzzer's.

libFuzzer passes over flags with two dashes and hands them on to the processes that it starts for
-fork, -merge and -minimize_crash, so ours stay where they are. A value is joined by `=`, always:
a word of its own would be a corpus folder to libFuzzer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from rondo.errors import RondoError

MUTATORS = ("chain", "havoc", "libfuzzer")
DEFAULT_MAX_LEN = 1024
"""Bytes that an input may have: 24 steps on any subject take fewer. libFuzzer's own default is the
size of the largest seed, which would forbid what the chains propose."""

HELP = """\
Rondo's flags (libFuzzer's are listed by -help=1):
  --mutator=NAME        who proposes [chain]: Markov chains over sequences (chain), our operators on
                        libFuzzer's pick (havoc), or libFuzzer's byte mutations (libfuzzer)
  --backend=NAME        another back end than the target's own
  --known=FOLDER        bugs whose reproducers lie below FOLDER are not reported again; repeatable
  --keep-going=0|1      write a crash file for each new bug and go on, not end at the first [0]
  --alarms=0|1          0: only count alarms, for -merge and for measurements [1]
  --preload=FILE.py     Python to run first; repeatable
  --lines=0|1           the compiler's lines are features too [1]
  --record=0|1          keep growth and behaviours beside the findings, for `rondo report` [0]"""


class TargetUsageError(RondoError):
    """A target's command line asks for something that there is not."""

    slug: ClassVar[str] = "usage"


@dataclass(frozen=True, slots=True)
class Options:
    """What a target was asked to do. The last four are read from libFuzzer's own flags."""

    mutator: str = "chain"
    backend: str = ""
    known: tuple[Path, ...] = ()
    keep_going: bool = False
    preload: tuple[str, ...] = ()
    lines: bool = True
    alarms: bool = True
    record: bool = False
    artifact_prefix: str = "./"
    max_len: int = DEFAULT_MAX_LEN
    timeout: int = 300  # atheris's
    max_total_time: int = 0

    @property
    def artifacts(self) -> Path:
        """The folder in which findings are kept, beside libFuzzer's crash files."""
        prefix = self.artifact_prefix
        folder = Path(prefix) if prefix.endswith("/") else Path(prefix).parent
        return folder / "findings"


def _mutator(text: str) -> str:
    if text not in MUTATORS:
        raise ValueError(f"one of {', '.join(MUTATORS)}")
    return text


def _switch(text: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError("0 or 1")
    return text == "1"


def _file(text: str) -> str:
    if not Path(text).is_file():
        raise ValueError("a readable file")
    return text


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise ValueError("a folder that exists")
    return Path(text)


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise ValueError("a positive number")
    return number


def _seconds(text: str) -> int:
    if not text.isdecimal():
        raise ValueError("a number of seconds")
    return int(text)


OURS: dict[str, Callable[[str], Any]] = {
    "mutator": _mutator,
    "backend": str,
    "known": _folder,
    "keep_going": _switch,
    "preload": _file,
    "lines": _switch,
    "alarms": _switch,
    "record": _switch,
}
THEIRS: dict[str, Callable[[str], Any]] = {
    "artifact_prefix": str,
    "max_len": _positive,
    "timeout": _positive,
    "max_total_time": _seconds,
}
REPEATED = frozenset({"known", "preload"})


def parse(arguments: list[str], *, known: tuple[Path, ...] = ()) -> tuple[Options, list[str]]:
    """Return our options and the arguments for libFuzzer. Raises TargetUsageError.

    `known` comes before the folders that --known names; one that does not exist is left out.
    """
    chosen: dict[str, Any] = {"known": tuple(path for path in known if path.is_dir())}
    for argument in arguments[1:]:
        ours = argument.startswith("--")
        if not ours and not argument.startswith("-"):
            continue
        spelled, equals, text = argument.lstrip("-").partition("=")
        name = spelled.replace("-", "_") if ours else spelled
        parsers = OURS if ours else THEIRS
        if name not in parsers:
            if ours:
                raise TargetUsageError(f"unknown flag {argument}; --help lists ours")
            continue
        if not equals:
            raise TargetUsageError(f"{argument} needs a value, as in {argument}=...")
        try:
            value = parsers[name](text)
        except ValueError as error:
            raise TargetUsageError(f"{argument}: {error}") from None
        chosen[name] = (*chosen.get(name, ()), value) if name in REPEATED else value
    options = Options(**chosen)
    passed_on = list(arguments)
    if not any(argument.startswith("-max_len=") for argument in arguments):
        passed_on.append(f"-max_len={options.max_len}")
    assert set(OURS) | set(THEIRS) == {each.name for each in fields(Options)}
    return options, passed_on
