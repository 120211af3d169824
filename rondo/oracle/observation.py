"""Observations: all that one step lets a user see, as plain numpy data under readable paths.

The key insight: once a framework's tensors are leaves with numpy values, comparing arms, digesting
them and printing them needs no framework. Paths name what was seen: `output[0]`, `input.x`,
`grad.body.head.weight`, `state.random_object.digest`, `ambient.default_dtype`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import msgpack
import numpy as np

EXCEPTION = "exception"
"""The path under which an exception's type stands; its observation holds no output."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """What the indices of a tensor were chosen from (argmax, topk, sort), as the reference saw it.

    `values` has the candidates along its last axis. `axis` is that axis of the index tensor, None
    where an operator like argmax leaves none. `dtype` is the candidates' dtype in the other arms.
    """

    values: np.ndarray
    axis: int | None
    dtype: str


@dataclass(frozen=True, slots=True)
class Leaf:
    """One thing seen: a tensor (values as float64, complex128, int64, uint64 or bool), or a fact.

    `kind` is `tensor` or `fact`. For a tensor, `dtype` is the framework's name of it and `meta`
    holds what else a user can read: stride class, requires_grad, aliases. A fact is its text. Kind
    `unreadable` stands for all below its path, which the oracle kept and may not look at any more.

    `families` and `ranking` are known of the reference's leaves only, and nothing that is compared:
    the families of operators behind the values (None: unknown), and what indices were chosen from.
    """

    kind: str
    dtype: str = ""
    values: np.ndarray | None = None
    meta: tuple[tuple[str, str], ...] = ()
    text: str = ""
    families: frozenset[str] | None = field(default=None, compare=False)
    ranking: Ranking | None = field(default=None, compare=False)

    @property
    def unreadable(self) -> bool:
        """Whether nothing can be compared with it."""
        return self.kind == "unreadable"

    def digest(self) -> str:
        """Return 16 hex digits that are equal for bitwise equal leaves."""
        state = blake2b(digest_size=8)
        state.update(repr((self.kind, self.dtype, self.meta, self.text)).encode())
        if self.values is not None:
            state.update(repr(self.values.shape).encode())
            state.update(np.ascontiguousarray(self.values).tobytes())
        return state.hexdigest()

    def brief(self, width: int = 60) -> str:
        """Return the leaf on one line of at most about `width` characters."""
        if self.values is None:
            text = self.text
        else:
            flat = self.values.reshape(-1)
            shown = ", ".join(f"{value:.6g}" for value in flat[:4].tolist())
            more = ", ..." if flat.size > 4 else ""
            text = f"{self.dtype}{list(self.values.shape)} [{shown}{more}]"
        return text if len(text) <= width else text[: width - 3] + "..."


@dataclass(frozen=True, slots=True)
class Observation:
    """What one step showed. `returned` is False when the step raised."""

    leaves: Mapping[str, Leaf]
    returned: bool = True
    exception: str = ""
    message: str = field(default="", compare=False)

    def digest(self) -> str:
        """Return 16 hex digits over all leaves."""
        state = blake2b(digest_size=8)
        for path in sorted(self.leaves):
            state.update(path.encode() + b"\0" + self.leaves[path].digest().encode())
        state.update(self.exception.encode())
        return state.hexdigest()


def pack_observation(observation: Observation) -> bytes:
    """Return `observation` as bytes that another process can unpack: plain data, no pickle."""
    leaves = {
        path: [leaf.kind, leaf.dtype, _packed(leaf.values), list(leaf.meta), leaf.text]
        for path, leaf in observation.leaves.items()
    }
    fields = [leaves, observation.returned, observation.exception, observation.message]
    packed: bytes = msgpack.packb(fields)
    return packed


def unpack_observation(packed: bytes) -> Observation:
    """Return what `pack_observation` packed. Raises ValueError on anything else."""
    try:
        leaves, returned, exception, message = msgpack.unpackb(packed)
        unpacked = {
            path: Leaf(kind, dtype, _unpacked(values), tuple((a, b) for a, b in meta), text)
            for path, (kind, dtype, values, meta, text) in leaves.items()
        }
    except (msgpack.UnpackException, TypeError, AttributeError) as error:
        raise ValueError(f"no observation: {error}") from None
    return Observation(unpacked, returned, exception, message)


def _packed(values: np.ndarray | None) -> list[Any] | None:
    if values is None:
        return None
    return [values.dtype.str, list(values.shape), np.ascontiguousarray(values).tobytes()]


def _unpacked(packed: list[Any] | None) -> np.ndarray | None:
    if packed is None:
        return None
    dtype, shape, content = packed
    if np.dtype(dtype).kind not in "bifcu":
        raise ValueError(f"values of numpy dtype {dtype}")
    return np.frombuffer(content, dtype=np.dtype(dtype)).reshape(shape).copy()
