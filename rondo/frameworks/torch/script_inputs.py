"""Inputs of calls as expressions: what `inputs.make_inputs` builds, as a person would write it.

The key insight: most bugs do not care about the numbers, so a plain `torch.randn(2, 4)` is tried
first; with `exact`, the expression gives bit for bit what the sequence's own call was given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rondo.frameworks.base import CPU
from rondo.frameworks.torch.inputs import seed_of, sizes_of
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import Dimension, InputSpec

VALUES = {
    "normal": "{}",
    "integers": "({} * 3).round()",
    "negative": "-{}.abs()",
    "small": "{} * 1e-05",
    "large": "{} * 64",
}


@dataclass
class Written:
    """The arguments of one call: lines that make them, and the expressions to pass."""

    lines: list[str] = field(default_factory=list)
    arguments: dict[str, str] = field(default_factory=dict)
    leaves: dict[str, str] = field(default_factory=dict)
    """Input name (or `first+second` for a shared base) -> variable whose `.grad` it is."""
    tensors: dict[str, int] = field(default_factory=dict)
    """Variables that hold tensors, and their ranks."""


class InputWriter:
    """Writes the inputs of calls; equal inputs share one variable unless `exact`."""

    def __init__(
        self,
        specs: Sequence[InputSpec],
        dimensions: Sequence[Dimension],
        *,
        seed: int,
        exact: bool,
        taken: set[str],
        device: str = CPU,
    ) -> None:
        self.device = device
        self.specs = specs
        self.dimensions = dimensions
        self.seed = seed
        self.exact = exact
        self.taken = taken
        self._variables: dict[tuple[str, str], str] = {}

    def write(self, call: Call) -> Written:
        """Return the lines and expressions of one call."""
        sizes = sizes_of(call, self.dimensions)
        written = Written()
        first_of: dict[tuple[object, ...], tuple[str, InputSpec]] = {}
        names: dict[str, InputSpec] = {}
        for spec in self.specs:
            name, number = spec.name, 2
            while name in names:
                name, number = f"{spec.name}{number}", number + 1
            names[name] = spec
            shape = tuple(sizes[n] if isinstance(n, str) else n for n in spec.shape)
            group = (spec.kind, shape)
            partner = first_of.get(group) if call.alias else None
            if partner is not None and spec.kind in ("float", "list"):
                self._alias(written, call, partner[0], name, shape, spec)
                del first_of[group]
                continue
            first_of.setdefault(group, (name, spec))
            self._argument(written, call, name, spec, shape)
        return written

    def _argument(
        self, written: Written, call: Call, name: str, spec: InputSpec, shape: tuple[int, ...]
    ) -> None:
        if spec.kind == "number":
            written.arguments[name] = repr(float(call.choice("number")))
        elif spec.kind == "integer":
            written.arguments[name] = repr(int(call.choice("integer")))
        elif spec.kind == "list":
            written.arguments[name] = self._variable(written, name, "[]", fresh=True)
        elif spec.optional and call.value_seed % 2:
            written.arguments[name] = "None"
        else:
            expression = self._tensor(call, name, spec, shape)
            wants = call.inputs_grad and spec.kind == "float"
            if wants:
                expression = with_gradient(expression)
            key = f"{expression} {call.value_seed}"
            variable = self._variable(written, name, expression, key=key)
            written.arguments[name] = variable
            written.tensors[variable] = len(shape)
            if wants:
                written.leaves[name] = variable

    def _variable(
        self,
        written: Written,
        name: str,
        expression: str,
        *,
        key: str = "",
        fresh: bool = False,
    ) -> str:
        """Return a variable that holds `expression`; add its line where it is new."""
        found = self._variables.get((name, key))
        if found is not None and not fresh:
            if self.exact:
                written.lines.append(f"{found} = {expression}")
            return found
        if fresh and found is not None:
            variable = found
        else:
            variable, number = name, 2
            gap = "_" if name[-1].isdigit() else ""
            while variable in self.taken:
                variable, number = f"{name}{gap}{number}", number + 1
            self.taken.add(variable)
            self._variables[name, key] = variable
        written.lines.append(f"{variable} = {expression}")
        return variable

    def _tensor(self, call: Call, name: str, spec: InputSpec, shape: tuple[int, ...]) -> str:
        size = ", ".join(map(str, shape)) or "()"
        generator = self._generator(call, name) if self.exact else ""
        if spec.kind == "index":
            return self._there(f"torch.randint(0, {spec.high}, {_tuple(shape)}{generator})")
        if spec.kind == "bool":
            wide = f"{generator}, dtype=torch.float64" if self.exact else ""
            return self._there(f"torch.rand({size}{wide})") + " < 0.5"
        return lay_out(self._float(call, name, size), call.choice("layout"), shape)

    def _float(self, call: Call, name: str, size: str) -> str:
        dtype, kind = call.choice("dtype"), call.choice("values")
        usual = "" if dtype == "float32" else f", dtype=torch.{dtype}"
        if kind in ("zeros", "ones"):
            return f"torch.{kind}({size}{usual})"
        if not self.exact:
            return VALUES[kind].format(f"torch.randn({size}{usual})")
        drawn = f"torch.randn({size}{self._generator(call, name)}, dtype=torch.float64)"
        drawn = self._there(drawn)
        value = VALUES[kind].format(drawn)
        if dtype == "float64":
            return value
        return f"({value}).to(torch.{dtype})" if value != drawn else f"{value}.to(torch.{dtype})"

    def _generator(self, call: Call, name: str) -> str:
        seed = seed_of(self.seed, call, name)
        where = "" if self.device == CPU else f', device="{CPU}"'
        return f", generator=torch.Generator().manual_seed({seed}){where}"

    def _there(self, drawn: str) -> str:
        """Return the expression of what was drawn on the CPU, from a given seed, on the device."""
        return f'{drawn}.to("{self.device}")' if self.exact and self.device != CPU else drawn

    def _alias(
        self,
        written: Written,
        call: Call,
        first: str,
        second: str,
        shape: tuple[int, ...],
        spec: InputSpec,
    ) -> None:
        """Make input `second` share memory with `first`, which is written already."""
        variable = written.arguments[first]
        if call.choice("alias") == "same" or spec.kind == "list" or variable == "None":
            written.arguments[second] = variable
            return
        count = 1
        for size in shape:
            count *= size
        step = count if call.choice("alias") == "adjacent" else max(1, count // 2)
        base = self._tensor(call, first, spec, shape)
        whole = f"{base}.reshape(-1).repeat(2)[:{count + step}].clone()"
        if not self.exact:
            whole = self._float(call, first, str(count + step))
        if call.inputs_grad:
            whole = with_gradient(whole)
        written.lines = [line for line in written.lines if not line.startswith(f"{variable} = ")]
        self._variables = {key: at for key, at in self._variables.items() if at != variable}
        written.leaves.pop(first, None)
        shared = self._variable(written, "base", whole, key=whole)
        other = self._variable(written, second, "", key=f"{shared}{step}", fresh=True)
        written.lines.pop()
        view = "" if len(shape) == 1 else f".view{_tuple(shape)}"
        written.lines.append(f"{variable} = {shared}[:{count}]{view}")
        written.lines.append(f"{other} = {shared}[{step}:{step + count}]{view}")
        written.arguments[second] = other
        written.tensors[other] = len(shape)
        if call.inputs_grad:
            written.leaves[f"{first}+{second}"] = shared


def _tuple(shape: tuple[int, ...]) -> str:
    return repr(tuple(shape))


def with_gradient(expression: str) -> str:
    """Return the expression of a leaf that wants a gradient."""
    if expression.startswith(("torch.randn(", "torch.zeros(", "torch.ones(")) and (
        expression.find(")") == len(expression) - 1
    ):
        return f"{expression[:-1]}, requires_grad=True)"
    return f"({expression}).requires_grad_()"


def lay_out(value: str, layout: str, shape: tuple[int, ...]) -> str:
    """Return `value` in the named layout, as `inputs.lay_out` gives it."""
    count = 1
    for size in shape:
        count *= size
    if layout == "contiguous" or not shape or not count:
        return value
    inner = value if value.endswith(")") and not value.startswith("-") else f"({value})"
    if layout == "transposed":
        if len(shape) == 1:
            return value
        turned = ".t()" if len(shape) == 2 else f".permute{tuple(range(len(shape)))[::-1]}"
        return f"{inner}{turned}.contiguous(){turned}"
    if layout == "strided":
        return f"torch.stack([{value}] * 2, -1).flatten(-2)[..., ::2]"
    if layout == "offset":
        return (
            f"nn.functional.pad({inner}.flatten(), (3, 0))[3:].view({', '.join(map(str, shape))})"
        )
    return f"{inner}[:1].expand({', '.join(map(str, shape))})"
