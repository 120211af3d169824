"""A campaign's folder: where everything lies, who is at work in it, and what was asked for.

    corpus/                 sequences, one file each, named by their content
    findings/               the artifact folder
    members/<n>/            one campaign process: it alone writes here
        settings.json       what it was asked to do
        checkpoint          all that the search knows, to continue exactly
        published           what other members may use: behaviours and what entries showed first
        written             names of the corpus files that are its own
        filed               the findings that are its own
        stats.jsonl         its figures, a line at each checkpoint and at the end
        lock                locked by the process for as long as it lives

The key insight: several campaigns share a folder without talking to each other, because what they
share is only ever added to, under names that follow from the content, and what changes belongs to
one of them. A lock that the kernel holds is gone with its process, however that ended.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import time
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import IO, Any, get_type_hints

from rondo.campaign.figures import last_figures
from rondo.campaign.flags import CORPUS, FINDINGS, LIBFUZZER_FLAGS, OWN_FLAGS
from rondo.campaign.settings import UNLIMITED, Settings
from rondo.drafts import sweep
from rondo.errors import CampaignError
from rondo.findings.reproducer import write_atomically

MEMBERS, LOCK, SETTINGS, STATS = "members", "lock", "settings.json", "stats.jsonl"
SHOWING = ("json", "verbosity", "openmetrics", "print_final_stats", "show_documented")
"""Settings that say what is shown where: each command says so for itself."""
LOOSE = frozenset(
    {
        *("runs", "max_total_time", "workers", "jobs", "fork", "timeout", "rss_limit_mb", "batch"),
        *(
            "error_exitcode",
            "lines",
        ),
        *("max_disk_mb", "campaign", "resume", "artifact_prefix"),
        *SHOWING,
    }
)
"""Settings that may change when a campaign is continued: none of them steers the search,
but for `lines` on Python 3.12 and later."""


class Member:
    """One campaign process's own subfolder, locked."""

    def __init__(self, folder: Path, lock: IO[bytes]) -> None:
        self.folder = folder
        self._lock = lock

    @property
    def name(self) -> str:
        """Its number in the campaign folder."""
        return self.folder.name

    @property
    def settings_file(self) -> Path:
        """What it was asked for."""
        return self.folder / SETTINGS

    @property
    def checkpoint(self) -> Path:
        """All that its search knows."""
        return self.folder / "checkpoint"

    @property
    def published(self) -> Path:
        """What others may use."""
        return self.folder / "published"

    @property
    def stats(self) -> Path:
        """Its figures over time."""
        return self.folder / STATS

    @property
    def written(self) -> Path:
        """Names of the corpus files that it wrote while it had one worker, one a line."""
        return self.folder / "written"

    @property
    def filed(self) -> Path:
        """The findings that it wrote, or was about to."""
        return self.folder / "filed"

    def own_files(self) -> set[str]:
        """Return the names of those files, whatever its checkpoint knows."""
        try:
            return {*self.written.read_text(encoding="ascii", errors="replace").splitlines()}
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise CampaignError(f"cannot read {self.written}: {error.strerror}") from None

    def siblings(self) -> list[Path]:
        """Return the folders of the other members that ever began, in the order they came in."""
        members = members_of(self.folder.parents[1])
        return [m for m in members if m != self.folder and (m / SETTINGS).exists()]

    def close(self) -> None:
        """Let somebody else have it; one that never began leaves nothing."""
        if not self.settings_file.exists():
            with suppress(OSError):
                (self.folder / LOCK).unlink()
                self.folder.rmdir()
        self._lock.close()


def members_of(campaign: Path) -> list[Path]:
    """Return the subfolders of all members, in the order in which they came."""
    # `isdigit` alone takes superscripts, which are no numbers.
    folders = (campaign / MEMBERS).glob("*")
    found = [path for path in folders if path.name.isascii() and path.name.isdigit()]
    return sorted(found, key=lambda path: int(path.name))


def _locked(folder: Path, *, kind: int = fcntl.LOCK_EX) -> IO[bytes] | None:
    """Return the open lock of `folder`, None when its process lives."""
    lock = open(folder / LOCK, "ab")  # noqa: SIM115 (held for as long as the process lives)
    try:
        fcntl.flock(lock, kind | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return None
    return lock


def is_running(folder: Path) -> bool:
    """Tell whether the member of `folder` is at work."""
    try:
        lock = _locked(folder, kind=fcntl.LOCK_SH)
    except OSError:
        return False
    if lock is None:
        return True
    lock.close()
    return False


PARSERS = {flag.field: flag.parse for flag in (*LIBFUZZER_FLAGS.values(), *OWN_FLAGS.values())}
DEFAULTS = {each.name: each.default for each in fields(Settings)}
LOOKS, LOOK_SECONDS = 10, 0.02
"""How often, and how far apart, it is looked whether a lock is held before that is believed."""

SHOWN = 40
"""Characters of a value that cannot be one that are shown."""

AUTOMATIC = {"seed": 0, "device": "auto"}
"""Settings that leave the choice to us, and are written down as what was chosen."""


def join(campaign: Path) -> Member:
    """Make a new member. Raises CampaignError when nothing can be written there."""
    try:
        for name in (CORPUS, FINDINGS, MEMBERS):
            (campaign / name).mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(path.name) for path in members_of(campaign)), default=0)
        while True:
            folder = campaign / MEMBERS / str(number)
            try:
                folder.mkdir()
            except FileExistsError:
                number += 1
                continue
            lock = _locked(folder)
            if lock is not None:
                return Member(folder, lock)
    except OSError as error:
        raise CampaignError(f"cannot write into {campaign}: {error.strerror or error}") from None


def resume(campaign: Path, asked: Settings, given: frozenset[str]) -> tuple[Member, Settings]:
    """Return a member that is not at work, and what it goes on with.

    Of those that agree with what was `given` the first one that began from the same folders and has
    not done its -runs; where there is none such, one that began from others, or one that is done.
    Raises CampaignError when none agrees, and when one is damaged: it may be the one that is meant.
    """
    there = [path for path in members_of(campaign) if (path / SETTINGS).is_file()]
    if not there:
        raise CampaignError(f"{campaign} holds no campaign to continue; leave --resume out")
    sweep(campaign / MEMBERS)
    fitting: list[tuple[tuple[bool, bool], Path, Settings]] = []
    refusals: list[CampaignError] = []
    for folder in there:
        before = stored_settings(folder)
        try:
            settings = _continued(before, asked, given)
        except CampaignError as refusal:
            refusals.append(refusal)
        else:
            strange = "corpora" in given and _seeds(asked) != _seeds(before)
            fitting.append(((strange, _is_done(folder, settings)), folder, settings))
    for _, folder, settings in sorted(fitting, key=lambda each: each[0]):
        try:
            lock = _locked_in_time(folder)
        except OSError as error:
            raise CampaignError(f"cannot open {folder / LOCK}: {error.strerror}") from None
        if lock is not None:
            return Member(folder, lock), settings
    if not fitting:
        raise refusals[0]
    raise CampaignError(
        f"every campaign of {campaign} that this could continue is running; "
        "one without --resume joins them"
    )


def _seeds(settings: Settings) -> tuple[Path, ...]:
    return tuple(path.resolve() for path in settings.corpora[1:])


def _locked_in_time(folder: Path) -> IO[bytes] | None:
    """Return the lock as `_locked` does; somebody may be looking just now whether it is held."""
    for _ in range(LOOKS):
        if lock := _locked(folder):
            return lock
        time.sleep(LOOK_SECONDS)
    return None


def _is_done(folder: Path, settings: Settings) -> bool:
    """Tell whether the member of `folder` has done its -runs."""
    if settings.total_runs == UNLIMITED:
        return False
    with suppress(CampaignError):
        # Seeds run however small the number is, so one without any execution is not done.
        executions: int = last_figures(folder / STATS).get("executions", 0)
        return executions >= max(settings.total_runs, 1)
    return False


def save_settings(settings: Settings, member: Member) -> None:
    """Write down what `settings` ask for, with absolute paths."""
    data: dict[str, Any] = {}
    for name, value in asdict(settings).items():
        if isinstance(value, Path):
            data[name] = str(value.resolve())
        elif isinstance(value, tuple):
            data[name] = [str(each.resolve()) if isinstance(each, Path) else each for each in value]
        else:
            data[name] = value
    data["preloads"] = [os.path.abspath(path) for path in settings.preloads]
    write_atomically(member.settings_file, (json.dumps(data, indent=1) + "\n").encode())


def stored_settings(folder: Path) -> Settings:
    """Return what the member of `folder` was asked for. Raises CampaignError when it is damaged."""
    path = folder / SETTINGS
    try:
        data = json.loads(path.read_text())
        hints = get_type_hints(Settings)
        values = {n: _restored(n, value, hints[n]) for n, value in data.items() if n in hints}
        return Settings(**values)
    except (OSError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError) as no:
        raise CampaignError(f"{path} is damaged: {no}") from None


def _continued(before: Settings, asked: Settings, given: frozenset[str]) -> Settings:
    """Return the settings `before`, with those `given` anew that may change.

    The command that began it, with --resume added, continues it. The folder may have been moved
    meanwhile: where it is now, is what `asked` says.

    Raises CampaignError where another would make it a different campaign.
    """
    now = {name: getattr(asked, name) for name in given}
    if "preloads" in now:
        now["preloads"] = tuple(map(os.path.abspath, asked.preloads))
    chosen = {name for name, value in AUTOMATIC.items() if now.get(name) == value}
    for name in sorted(now.keys() - LOOSE - {"corpora"} - chosen):
        if now[name] != getattr(before, name):
            raise CampaignError(
                f"{name} was {getattr(before, name)!r} and cannot change when a campaign continues"
            )
    loose = {name: getattr(asked, name) for name in (*SHOWING, *(LOOSE & given))}
    if "workers" in now:
        loose.setdefault("fork", 0)
    if before.campaign is not None and asked.campaign is not None:
        loose["artifact_prefix"] = asked.artifact_prefix
        loose["corpora"] = (asked.campaign / CORPUS, *before.corpora[1:])
    return replace(before, **{"resume": True, **loose})


def _restored(name: str, value: Any, hint: Any) -> Any:
    """Return a setting as it was before it became JSON.

    Raises TypeError where it cannot be one, also where the command line would not take it.
    """
    if value != DEFAULTS[name] and name in PARSERS and type(value) in (int, float, str):
        try:
            PARSERS[name](str(value))
        except ValueError as error:
            raise TypeError(f"{name} cannot be {str(value)[:SHOWN]!r}: {error}") from None
    if hint == tuple[Path, ...] and _is_texts(value):
        return tuple(map(Path, value))
    if hint == tuple[str, ...] and _is_texts(value):
        return tuple(value)
    if hint == Path | None and value is None:
        return None
    if hint in (Path, Path | None) and isinstance(value, str):
        return Path(value)
    if hint is float:
        if type(value) in (int, float) and math.isfinite(value):
            return float(value)
    elif type(value) is hint:
        return value
    raise TypeError(f"{name} cannot be {value!r}")


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
