"""The store: what campaigns on different machines tell each other, held in one place.

The key insight: campaigns that share a folder (`rondo.campaign.exchange`) only ever add files whose
names follow from their content, and each rewrites one file of its own. A store of two kinds of
things is therefore enough, and forgets nothing when a campaign dies: a log of files that is only
added to, and the latest publication of each campaign.
"""

from __future__ import annotations

from dataclasses import dataclass, field

Files = dict[str, bytes]
"""Files by their path within a campaign folder."""


@dataclass(slots=True)
class News:
    """What a campaign does not know yet. `position` is where to go on the next time."""

    position: int
    files: Files = field(default_factory=dict)
    published: dict[str, bytes] = field(default_factory=dict)


class Store:
    """Holds files and publications. Plain values only, so that it may live in an actor."""

    def __init__(self) -> None:
        self._log: list[tuple[str, str]] = []
        self._files: Files = {}
        self._published: dict[str, bytes] = {}

    def trade(self, name: str, position: int, files: Files, published: bytes | None = None) -> News:
        """Take what the campaign `name` has found and return what others have, since `position`.

        One call instead of two: on a cluster each is a message. A path that is known stays as it
        is, so that every campaign sees one and the same finding in a bucket.
        """
        for path, content in files.items():
            if path not in self._files:
                self._files[path] = content
                self._log.append((name, path))
        if published is not None:
            self._published[name] = published
        new = {path for giver, path in self._log[position:] if giver != name}
        return News(
            len(self._log),
            {path: self._files[path] for path in sorted(new)},
            {giver: data for giver, data in self._published.items() if giver != name},
        )
