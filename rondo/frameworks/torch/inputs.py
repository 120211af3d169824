"""Making the inputs of one call: values, dtype, layout and aliasing, equal in every arm.

The key insight: everything is drawn in float64 from (seed, value seed, input name) and then cast,
so that arms get bitwise equal inputs and the float64 reference gets the very same numbers.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec

SPREAD = 0x9E3779B1
"""2**32 over the golden ratio, odd: neighbouring seeds give numbers far apart (Knuth)."""

DTYPES = {
    "float32": torch.float32,
    "float64": torch.float64,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def computing_dtype(call: Call) -> str:
    """Return the coarsest dtype in which `call` computes: its inputs' or autocast's."""
    used = {call.choice("dtype"), call.choice("autocast") if call.autocast else "float32"}
    coarsest_first = ("bfloat16", "float16", "float32")
    return next((name for name in coarsest_first if name in used), "float32")


@dataclass(slots=True)
class Inputs:
    """The arguments of one call, by name, and the tensors whose gradients a user would look at."""

    arguments: dict[str, object]
    leaves: dict[str, Tensor] = field(default_factory=dict)


def sizes_of(call: Call, dimensions: Sequence[Dimension]) -> dict[str, int]:
    """Return the size that `call` gives to each named dimension."""
    return {
        dimension.name: dimension.sizes[index]
        for dimension, index in zip(dimensions, call.sizes, strict=True)
    }


def make_inputs(
    call: Call,
    specs: Sequence[InputSpec],
    dimensions: Sequence[Dimension],
    *,
    seed: int,
    reference: bool = False,
    device: str = "cpu",
) -> Inputs:
    """Build the inputs that `call` describes. With `reference`, floats are upcast to float64.

    Values are drawn on the CPU, so that they are the same on every device, and moved before they
    are laid out: strides, offsets and shared memory come about on the device itself.

    The first two inputs of equal kind and shape are aliased as the call's `alias` operand says.
    """
    sizes = sizes_of(call, dimensions)
    dtype = DTYPES[call.choice("dtype")]
    inputs = Inputs({})
    first_of: dict[tuple[object, ...], str] = {}
    for spec in specs:
        name = _unique(spec.name, inputs.arguments)
        shape = tuple(sizes[n] if isinstance(n, str) else n for n in spec.shape)
        group = (spec.kind, shape)
        partner = first_of.get(group) if call.alias else None
        if partner is not None and spec.kind in ("float", "list"):
            _alias(inputs, partner, name, call)
            del first_of[group]
            continue
        first_of.setdefault(group, name)
        value = _make(call, spec, shape, dtype, seed=seed, name=name)
        if isinstance(value, Tensor):
            value = value.to(device)
        if isinstance(value, Tensor) and value.is_floating_point():
            value = _place(value.double() if reference else value, call, inputs, name)
        inputs.arguments[name] = value
    return inputs


def seed_of(seed: int, call: Call, name: str) -> int:
    """Return the seed of one input's values.

    torch's CPU generator looks at the low 32 bits of a seed only, so all of it must lie there.
    """
    return (zlib.crc32(name.encode()) + (seed * 8 + call.value_seed) * SPREAD) % 2**32


def _unique(name: str, taken: dict[str, object]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}{number}", number + 1
    return candidate


def _make(
    call: Call,
    spec: InputSpec,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    *,
    seed: int,
    name: str,
) -> object:
    if spec.kind == "number":
        return float(call.choice("number"))
    if spec.kind == "integer":
        return int(call.choice("integer"))
    if spec.kind == "list":
        return []
    # The device is named throughout: a step may have changed the default one.
    generator = torch.Generator("cpu").manual_seed(seed_of(seed, call, name))
    if spec.optional and call.value_seed % 2:
        return None
    if spec.kind == "index":
        return torch.randint(0, spec.high, shape, generator=generator, device="cpu")
    if spec.kind == "bool":
        return _uniform(shape, generator) < 0.5
    return _values(call.choice("values"), shape, generator).to(dtype)


def _uniform(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    return torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu")


def _values(kind: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    normal = torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu")
    if kind == "zeros":
        return torch.zeros_like(normal)
    if kind == "ones":
        return torch.ones_like(normal)
    if kind == "integers":
        return (normal * 3).round()
    if kind == "negative":
        return -normal.abs()
    if kind == "small":
        return normal * 1e-5
    if kind == "large":
        return normal * 64
    return normal


def _place(value: Tensor, call: Call, inputs: Inputs, name: str) -> Tensor:
    """Lay `value` out in memory as the call says and make it a leaf that may want a gradient."""
    placed = lay_out(value, call.choice("layout"))
    if call.inputs_grad:
        placed.requires_grad_()
        inputs.leaves[name] = placed
    return placed


def lay_out(value: Tensor, layout: str) -> Tensor:
    """Return a tensor of equal shape in the named layout (`expanded` repeats the first slice)."""
    if layout == "contiguous" or value.dim() == 0 or value.numel() == 0:
        return value.contiguous()
    if layout == "transposed":
        backwards = tuple(range(value.dim()))[::-1]
        return value.permute(backwards).contiguous().permute(backwards)
    if layout == "strided":
        wide = value.new_zeros((*value.shape[:-1], value.shape[-1] * 2))
        view = wide[..., ::2]
        view.copy_(value)
        return view
    if layout == "offset":
        flat = value.new_zeros(value.numel() + 3)
        view = flat[3:].view(value.shape)
        view.copy_(value)
        return view
    return value[:1].contiguous().expand(value.shape)


def _alias(inputs: Inputs, first: str, second: str, call: Call) -> None:
    """Make input `second` share memory with `first`, which exists already."""
    value = inputs.arguments[first]
    if not isinstance(value, Tensor) or call.choice("alias") == "same":
        inputs.arguments[second] = value
        return
    values = value.detach().reshape(-1)
    count = values.numel()
    step = count if call.choice("alias") == "adjacent" else max(1, count // 2)
    base = values.repeat(2)[: count + step].clone()
    if call.inputs_grad:
        base.requires_grad_()
        inputs.leaves.pop(first, None)
        inputs.leaves[f"{first}+{second}"] = base
    inputs.arguments[first] = base[:count].view(value.shape)
    inputs.arguments[second] = base[step : step + count].view(value.shape)
