"""The inputs of one call as numpy values, equal in every arm and in every framework.

The key insight: everything is drawn in float64 from (seed, value seed, input name), and the adapter
casts it to the call's dtype, so that arms get bitwise equal inputs and the float64 reference gets
the very same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputKind, InputSpec

Value = np.ndarray | float | int | list[object] | None


@dataclass(frozen=True, slots=True)
class Drawn:
    """One input: its kind and its value (float64, int64 or bool arrays; a number; a list; None).

    `partner` names the input that this one is to share its memory with, if the call asks for it.
    """

    kind: InputKind
    value: Value
    partner: str = ""


def sizes_of(call: Call, dimensions: Sequence[Dimension]) -> dict[str, int]:
    """Return the size that `call` gives to each named dimension."""
    return {
        dimension.name: dimension.sizes[index]
        for dimension, index in zip(dimensions, call.sizes, strict=True)
    }


def draw_inputs(
    call: Call, specs: Sequence[InputSpec], dimensions: Sequence[Dimension], *, seed: int
) -> dict[str, Drawn]:
    """Return the inputs that `call` describes, by unique name, in order.

    The first two float inputs of equal shape are partners if the call aliases.
    """
    sizes = sizes_of(call, dimensions)
    drawn: dict[str, Drawn] = {}
    first_of: dict[tuple[object, ...], str] = {}
    for name, spec in _named(specs):
        shape = tuple(sizes[n] if isinstance(n, str) else n for n in spec.shape)
        value = _value(call, spec, shape, seed=seed, name=name)
        partner = ""
        if call.alias and spec.kind == "float" and value is not None:
            partner = first_of.pop(shape, "")
            if not partner:
                first_of[shape] = name
        drawn[name] = Drawn(spec.kind, value, partner)
    return drawn


def _named(specs: Sequence[InputSpec]) -> Iterator[tuple[str, InputSpec]]:
    taken: set[str] = set()
    for spec in specs:
        name, number = spec.name, 2
        while name in taken:
            name, number = f"{spec.name}{number}", number + 1
        taken.add(name)
        yield name, spec


def _value(call: Call, spec: InputSpec, shape: tuple[int, ...], *, seed: int, name: str) -> Value:
    if spec.kind == "number":
        return float(call.choice("number"))
    if spec.kind == "integer":
        return int(call.choice("integer"))
    if spec.kind == "list":
        return []
    if spec.optional and call.value_seed % 2:
        return None
    generator = np.random.default_rng((seed, call.value_seed, zlib.crc32(name.encode())))
    if spec.kind == "index":
        return generator.integers(0, spec.high, shape, dtype=np.int64)
    if spec.kind == "bool":
        return generator.random(shape) < 0.5
    return _floats(call.choice("values"), generator.standard_normal(shape))


def _floats(kind: str, normal: np.ndarray) -> np.ndarray:
    if kind == "zeros":
        return np.zeros_like(normal)
    if kind == "ones":
        return np.ones_like(normal)
    if kind == "integers":
        return np.round(normal * 3)
    if kind == "negative":
        return -np.abs(normal)
    if kind == "small":
        return normal * 1e-5
    if kind == "large":
        return normal * 64
    return normal
