"""The courier: carries files between a campaign's folder and the store.

The key insight: a campaign that shares a folder needs to know nothing of other machines. Somebody
brings what others found into its folder and takes along what it found; whoever that is may die at
any moment, since files appear whole, under the same names everywhere, and coming twice is coming
once.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from rondo.campaign.artifacts import REPRODUCER, UNCONFIRMED
from rondo.campaign.flags import CORPUS, FINDINGS
from rondo.campaign.folder import MEMBERS
from rondo.findings.reproducer import write_atomically
from rondo.scale.store import GONE, Files, News

OUR_FILES = re.compile(
    rf"{CORPUS}/[\w.-]+\.seq|{FINDINGS}/[\w.-]+/([\w-]+\.(seq|txt)|{re.escape(REPRODUCER)})"
)
"""Paths that may come from elsewhere: nothing outside these two folders is ever written."""
WAITING = f"{FINDINGS}/{UNCONFIRMED}/"
"""Where alarms wait: the only files that go again."""
GUEST = "1000"
"""The member under which a campaign finds what all others have published."""
PUBLISH_SECONDS = 60.0
"""Seconds between two publications: what behaviours are rare is no news of the second."""

Trade = Callable[[str, int, Files, "bytes | None"], News]
"""`Store.trade`, wherever the store is."""


class Courier:
    """Carries for one campaign folder."""

    def __init__(self, name: str, folder: Path, trade: Trade, *, everything: bool = False) -> None:
        """`everything`: flaky and undecided alarms come too, not only corpus and findings."""
        self._name = name
        self._folder = folder
        self._trade = trade
        self._everything = everything
        self._known: set[str] = set()
        self._position = 0
        self._publish_at = 0.0

    def go(self) -> list[str]:
        """Bring and take along; return the paths of files that are new here."""
        news = self._trade(self._name, self._position, self._found_here(), self._own_publication())
        self._position = news.position
        brought = [path for path, content in news.files.items() if self._bring(path, content)]
        if news.others is not None:
            write_atomically(self._folder / MEMBERS / GUEST / "published", news.others)
        return brought

    def _found_here(self) -> Files:
        files: Files = {}
        for name in [each for each in self._known if each.startswith(WAITING)]:
            if not (self._folder / name).exists():  # it has been decided
                self._known.discard(name)
                files[name] = GONE
        for pattern in (f"{CORPUS}/*.seq", f"{FINDINGS}/*/*"):
            for path in self._folder.glob(pattern):
                name = path.relative_to(self._folder).as_posix()
                if name not in self._known and OUR_FILES.fullmatch(name):
                    self._known.add(name)
                    try:
                        files[name] = path.read_bytes()
                    except OSError:
                        self._known.discard(name)
        return files

    def _own_publication(self) -> bytes | None:
        """Return what the campaign has published, now and then."""
        if time.monotonic() < self._publish_at:
            return None
        try:
            data = (self._folder / MEMBERS / "1" / "published").read_bytes()
        except OSError:
            return None
        self._publish_at = time.monotonic() + PUBLISH_SECONDS
        return data

    def _bring(self, name: str, content: bytes) -> bool:
        if not OUR_FILES.fullmatch(name):
            return False
        if content == GONE:
            if self._everything and name.startswith(WAITING):
                (self._folder / name).unlink(missing_ok=True)
                self._known.discard(name)
            return False
        if name in self._known:
            return False
        wanted = name.startswith(f"{CORPUS}/") or name.endswith(f"/{REPRODUCER}")
        if not (wanted or self._everything):
            return False
        self._known.add(name)
        path = self._folder / name
        if path.exists():
            return False
        write_atomically(path, content)
        return True
