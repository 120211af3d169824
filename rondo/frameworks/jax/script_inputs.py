"""Inputs of calls as expressions: round numbers, or bit for bit those of the sequence itself.

Most bugs do not care about the numbers, so evenly spaced ones are tried first.

JAX arrays have no strides, so a call's `layout` says in what its values are handed over; see
`inputs.py`, of which each line here is the text.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from rondo.frameworks.shared.inputs import sizes_of
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec

VALUES = {
    "normal": "{}",
    "zeros": "np.zeros_like({})",
    "ones": "np.ones_like({})",
    "integers": "np.round({} * 3)",
    "negative": "-abs({})",
    "small": "{} * 1e-5",
    "large": "{} * 64",
}


class UnwritableError(Exception):
    """A script cannot express this; the text says what."""


@dataclass
class Written:
    """The arguments of one call: new lines that make them, and what to pass."""

    lines: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)


class InputWriter:
    """Writes the inputs of calls; equal inputs share one variable."""

    def __init__(
        self,
        specs: Sequence[InputSpec],
        dimensions: Sequence[Dimension],
        *,
        seed: int,
        exact: bool,
    ) -> None:
        self.specs = specs
        self.dimensions = dimensions
        self.seed = seed
        self.exact = exact
        self._variables: dict[tuple[str, str], str] = {}

    def write(self, call: Call) -> Written:
        """Return the lines and expressions of one call. Raises UnwritableError."""
        if call.alias:
            raise UnwritableError("inputs that share memory")
        sizes = sizes_of(call, self.dimensions)
        written = Written()
        names: set[str] = set()
        for spec in self.specs:
            name, number = spec.name, 2
            while name in names:
                name, number = f"{spec.name}{number}", number + 1
            names.add(name)
            shape = tuple(sizes[n] if isinstance(n, str) else n for n in spec.shape)
            written.arguments.append(self._argument(written, call, name, spec, shape))
        return written

    def _argument(
        self, written: Written, call: Call, name: str, spec: InputSpec, shape: tuple[int, ...]
    ) -> str:
        if spec.kind == "number":
            return repr(float(call.choice("number")))
        if spec.kind == "integer":
            return repr(int(call.choice("integer")))
        if spec.optional and call.value_seed % 2:
            return "None"
        if spec.kind != "float":
            raise UnwritableError(f"an input of kind {spec.kind}")
        dtype = call.choice("dtype")
        cast = "jnp.bfloat16" if dtype == "bfloat16" else f"np.{dtype}"
        kind, layout = call.choice("values"), call.choice("layout")
        drawn = self._drawn(call, name, shape)
        key = (name, f"{drawn} {kind} {cast} {layout}")
        if key not in self._variables:
            number = sum(other == name for other, _ in self._variables) + 1
            variable = self._variables[key] = name if number == 1 else f"{name}{number}"
            values = VALUES[kind].format(variable)
            values = f"({values})" if " " in values or values.startswith("-") else values
            handed = handed_over(f"{values}.astype({cast})", layout, shape)
            written.lines += [f"{variable} = {drawn}", f"{variable} = {handed}"]
        return self._variables[key]

    def _drawn(self, call: Call, name: str, shape: tuple[int, ...]) -> str:
        if not self.exact:
            count = math.prod(shape)
            return f"np.linspace(-2, 2, {count}).reshape({shape})"
        seeds = [self.seed, call.value_seed, zlib.crc32(name.encode())]
        return f"np.random.default_rng({seeds}).standard_normal({shape})"


def handed_over(value: str, layout: str, shape: tuple[int, ...]) -> str:
    """Return a numpy array's expression as the kind of argument that a layout names."""
    if layout == "contiguous" or not shape or 0 in shape:
        return f"jnp.asarray({value})"
    if layout == "transposed":
        return f"np.asfortranarray({value})"
    if layout == "strided":
        return f"np.repeat({value}, 2, -1)[..., ::2]"
    if layout == "offset":
        return f"jax.device_put({value}, jax.devices()[0])"
    return f"np.broadcast_to({value}[:1], {shape})"
