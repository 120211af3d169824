"""msgpack in pieces: what is large is packed entry by entry, so it is never in memory twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgpack


def map_pieces(items: Iterable[tuple[Any, Any]], count: int) -> Iterator[bytes]:
    """Yield what a map of `count` items is packed to, bit by bit."""
    packer = msgpack.Packer()
    yield packer.pack_map_header(count)
    for key, value in items:
        yield packer.pack(key)
        yield packer.pack(value)
