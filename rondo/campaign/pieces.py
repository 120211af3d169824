"""msgpack in pieces: what is large is packed entry by entry, so it is never in memory twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import msgpack


def map_pieces(items: Collection[tuple[Any, Any]]) -> Iterator[bytes]:
    """Yield what a map of `items` is packed to, bit by bit."""
    packer = msgpack.Packer()
    yield packer.pack_map_header(len(items))
    for key, value in items:
        yield packer.pack(key)
        yield packer.pack(value)
