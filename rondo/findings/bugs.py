"""The gallery of bugs: a folder each, told by a `bug.toml` that people write and commands check.

    title = "a leaf and a computed tensor share a graph"
    framework = "torch"
    sequence = "reproducer.rondo"      # not there: the script alone shows it
    script = "script.py"
    bucket = "stateful-value-..."      # the name that campaigns and lists of known bugs give it
    status = "new"                     # new, public or documented
    url = ""                           # where it is reported or documented; empty for a new one
    searches = ["dynamo is_leaf guard"]  # what was asked of the public record, for a new one
    layer = "dynamo-guards"
    cause = "torch/_dynamo/variables/tensor.py, TensorVariable.specialize"

    [verdicts]                         # version of the framework -> what it showed there
    "2.13.0" = "stateful"
    "2.14.1" = "agree"

The key insight: a bug is a claim about *versions*. What was seen on one version must be seen there
again, or the entry is wrong; on a version that nobody has recorded there is nothing to be wrong
about, so a bug that is gone there is news and no failure.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from pathlib import Path
from urllib.parse import urlsplit

from rondo.errors import RondoError
from rondo.findings.known import BUCKET_NAME
from rondo.oracle.result import Verdict

FILE = "bug.toml"
STATUSES = ("new", "public", "documented")
AGREE = Verdict.AGREE.value
DIED = "died"
"""The verdict of what the process did not survive, as campaigns call it."""
VERDICTS = frozenset({verdict.value for verdict in Verdict} | {DIED})
LARGEST = 1 << 16
"""A page of text at most; a `bug.toml` has twenty lines."""
VERSION = re.compile(r"\d+(\.\d+)*")


class BugError(RondoError):
    """An entry of the gallery cannot be used."""

    slug = "bugs"


@dataclass(frozen=True, slots=True)
class Bug:
    """One entry. `folder` is where it lies; its sequence and its script are files in there."""

    folder: Path
    title: str
    framework: str
    script: str
    status: str
    layer: str
    cause: str
    verdicts: Mapping[str, str]
    sequence: str = ""
    bucket: str = ""
    url: str = ""
    searches: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.name

    @property
    def verdict(self) -> str:
        """What it is where it shows."""
        return next(iter({*self.verdicts.values()} - {AGREE}))

    def expected(self, version: str) -> Expectation:
        """Return what `version` of the framework should show.

        An exact record counts first, then that of the newest version before it, then the oldest:
        faults outlive releases far more often than they come and go. An unknown version ("") gets
        the newest record.
        """
        public = _public(version)
        ordered = sorted(self.verdicts, key=_order)
        for recorded in ordered:
            if public and _order(recorded) == _order(public):
                return Expectation(self.verdicts[recorded], recorded, exact=True)
        before = [each for each in ordered if not public or _order(each) < _order(public)]
        recorded = before[-1] if before else ordered[0]
        return Expectation(self.verdicts[recorded], recorded, exact=not public)


@dataclass(frozen=True, slots=True)
class Expectation:
    """A verdict, the version it was recorded on, and whether that is the version that is here."""

    verdict: str
    version: str
    exact: bool

    def judge(self, verdict: str) -> Outcome:
        """Return what it means that `verdict` showed."""
        if verdict == self.verdict:
            return Outcome.SAME
        return Outcome.GONE if verdict == AGREE and not self.exact else Outcome.OTHER


class Outcome(Enum):
    """What became of one entry; the value is the word in the table."""

    SAME = "yes"
    GONE = "gone: news"
    OTHER = "NO"
    SKIPPED = "skipped"


def _public(version: str) -> str:
    """Return `version` without what a build adds to it: 2.13.0+cpu is 2.13.0."""
    found = VERSION.match(version)
    return found.group() if found else ""


def _order(version: str) -> tuple[int, ...]:
    numbers = [int(number) for number in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


def read_bugs(folder: Path) -> list[Bug]:
    """Return the entries in and below `folder`, in the order of their paths. Raises BugError."""
    if not folder.is_dir():
        raise BugError(f"{folder} is no folder")
    bugs = [read_bug(path) for path in sorted(folder.rglob(FILE))]
    if not bugs:
        raise BugError(f"no {FILE} in {folder} or below it")
    return bugs


def read_bug(path: Path) -> Bug:
    """Return the entry that `path`, a bug.toml, describes. Raises BugError naming the file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise BugError(f"cannot read {path}: {error.strerror or error}") from None
    if len(content) > LARGEST:
        raise BugError(f"{path} is larger than {LARGEST} bytes")
    try:
        told = tomllib.loads(content.decode())
        bug = _bug(path.parent, told)
        _check(bug)
    except (ValueError, TypeError) as error:
        raise BugError(f"{path}: {' '.join(str(error).split())[:200]}") from None
    return bug


TEXTS = ("title", "framework", "script", "status", "layer", "cause", "sequence", "bucket", "url")
OPTIONAL = ("sequence", "bucket", "url", "searches")


def _bug(folder: Path, told: dict[str, object]) -> Bug:
    """Return the entry that `told` describes. Raises ValueError."""
    names = [field.name for field in fields(Bug) if field.name != "folder"]
    for name in sorted({*told} - {*names}):
        raise ValueError(f"{name!r} is not known here")
    for name in names:
        if name not in told and name not in OPTIONAL:
            raise ValueError(f"{name!r} is missing")
    texts = {name: told[name] for name in TEXTS if name in told}
    for name, value in texts.items():
        if not isinstance(value, str) or not (value or name in OPTIONAL):
            raise ValueError(f"{name!r} must be a text")
    verdicts = told["verdicts"]
    if not isinstance(verdicts, dict) or not verdicts:
        raise ValueError("'verdicts' must be a table of versions and verdicts")
    searches = told.get("searches", [])
    if not isinstance(searches, list) or not all(isinstance(each, str) for each in searches):
        raise ValueError("'searches' must be a list of texts")
    return Bug(folder, **texts, verdicts=verdicts, searches=tuple(searches))  # type: ignore[arg-type]


def _check(bug: Bug) -> None:
    """Raise ValueError unless what `bug` says of itself can be so."""
    for version, verdict in bug.verdicts.items():
        if not VERSION.fullmatch(version):
            raise ValueError(f"{version!r} is no version, such as 2.13.0")
        if verdict not in VERDICTS:
            raise ValueError(f"the verdict of {version} is none of {', '.join(sorted(VERDICTS))}")
    if len({*bug.verdicts.values()} - {AGREE}) != 1:
        raise ValueError("'verdicts' must name one verdict besides agree: a bug has one")
    if bug.status not in STATUSES:
        raise ValueError(f"the status is not {', '.join(STATUSES[:-1])} or {STATUSES[-1]}")
    is_link = urlsplit(bug.url).scheme in ("http", "https")
    if bug.status != "new" and not is_link:
        raise ValueError(f"a bug that is {bug.status} needs an http or https link as 'url'")
    if bug.status == "new" and not bug.searches:
        raise ValueError("a new bug needs 'searches': what was asked of the public record")
    if bug.bucket and not BUCKET_NAME.fullmatch(bug.bucket):
        raise ValueError(f"{bug.bucket[:80]!r} is no bucket's name")
    for name in filter(None, (bug.script, bug.sequence)):
        if Path(name).name != name:
            raise ValueError(f"{name!r} must be a file beside it")
        if not (bug.folder / name).is_file():
            raise ValueError(f"there is no {name!r} beside it")
