"""Wrong observations: what a compiler might get wrong, made by hand from what is right.

The key insight: an oracle is tested like any program, with inputs whose answers are known. Each
mutation takes one right leaf (or a whole observation) and makes one mistake in it, of a kind that a
real oracle has been seen to miss: comparing only sums of outputs, stopping at the first None,
taking an empty output for an equal one, an absolute tolerance that zeros pass, a cosine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from rondo.oracle.observation import EXCEPTION, Leaf, Observation

Values = np.ndarray


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mistake: its kind, the path it is made at, and the observation with it.

    `anywhere` tells whether it is wrong in any arm. Where not, only a retained arm that differs
    from the reset arm is at fault.
    """

    kind: str
    path: str
    wrong: Observation
    right: Observation
    anywhere: bool = True


def with_leaf(observation: Observation, path: str, leaf: Leaf | None) -> Observation:
    """Return `observation` with another leaf at `path`, or without one."""
    leaves = {**observation.leaves}
    if leaf is None:
        del leaves[path]
    else:
        leaves[path] = leaf
    return replace(observation, leaves=leaves)


def _zeros(values: Values) -> Values:
    return np.zeros_like(values)


def _permuted(values: Values) -> Values:
    return values[::-1].copy()


def _two_swapped(values: Values) -> Values:
    changed = values.copy()
    changed[0], changed[-1] = values[-1], values[0]
    return changed


def _sum_preserving(values: Values) -> Values:
    changed = values.copy()
    step = np.abs(values).max() / 2
    changed[0] += step
    changed[1] -= step
    return changed


def _one_element(values: Values) -> Values:
    return _moved(values, 1.01)


def _one_element_by_a_quarter(values: Values) -> Values:
    return _moved(values, 1.25)


def _moved(values: Values, factor: float) -> Values:
    """Multiply the largest finite element."""
    changed = values.copy()
    changed[np.where(np.isfinite(values), np.abs(values), 0).argmax()] *= factor
    return changed


def _negated(values: Values) -> Values:
    return -values


def _scaled(values: Values) -> Values:
    return values * 1.5


def _one_nan(values: Values) -> Values:
    changed = values.copy()
    changed[len(changed) // 2] = np.nan
    return changed


def _one_infinite(values: Values) -> Values:
    changed = values.copy()
    changed[len(changed) // 2] = np.inf
    return changed


def _off_by_one(values: Values) -> Values:
    changed = values.copy()
    changed[-1] += 1
    return changed


def _one_flipped(values: Values) -> Values:
    changed = values.copy()
    changed[0] = ~changed[0]
    return changed


FLOAT_MISTAKES: dict[str, Callable[[Values], Values]] = {
    "zeros": _zeros,
    "permuted elements": _permuted,
    "two elements swapped": _two_swapped,
    "sum-preserving change": _sum_preserving,
    "one element off by 1%": _one_element,
    "one element off by a quarter": _one_element_by_a_quarter,
    "negated": _negated,
    "scaled": _scaled,
    "a number turned into NaN": _one_nan,
    "a number turned into infinity": _one_infinite,
}
COARSE = ("bfloat16", "float16", "float8")
"""Dtypes in which one percent may be rounding, after a chain of operators."""

INTEGER_MISTAKES = {
    "zeros": _zeros,
    "permuted elements": _permuted,
    "integer off by one": _off_by_one,
}
BOOLEAN_MISTAKES = {"boolean flipped": _one_flipped}

OTHER_DTYPES = {
    "float64": "float32",
    "float32": "float64",
    "bfloat16": "float16",
    "float16": "bfloat16",
    "float8_e4m3fn": "float8_e5m2",
    "complex64": "complex128",
    "int64": "int32",
    "bool": "uint8",
}

OTHER_META = {
    "stride class": ("strides", "dense[1, 0]"),
    "alias gained": ("aliases", "input.x"),
    "alias of an earlier output": ("aliases", "earlier[-1]"),
    "requires_grad changed": ("requires_grad", "False"),
    "tensor type": ("type", "Parameter"),
    "inference tensor": ("inference", "True"),
}


def _mistakes_of(values: Values) -> Mapping[str, Callable[[Values], Values]]:
    if values.dtype.kind in "fc":
        return FLOAT_MISTAKES
    return BOOLEAN_MISTAKES if values.dtype.kind == "b" else INTEGER_MISTAKES


def leaf_mistakes(leaf: Leaf) -> Iterator[tuple[str, Leaf]]:
    """Yield (kind, leaf) for every mistake that can be made in one tensor's leaf."""
    values = leaf.values
    if values is None:
        return
    if values.ndim == 1 and values.size >= 4:
        for kind, mistake in _mistakes_of(values).items():
            if mistake is _one_element and leaf.dtype.startswith(COARSE):
                continue
            yield kind, replace(leaf, values=mistake(values))
    if values.dtype.kind == "f":
        if np.isnan(values).any():
            yield "NaN turned into 0", replace(leaf, values=np.nan_to_num(values, nan=0.0))
        if np.isinf(values).any():
            sign = np.where(np.isinf(values), -values, values)
            yield "sign of infinity", replace(leaf, values=sign)
            large = np.where(np.isinf(values), np.sign(values) * 1e4, values)
            yield "infinity turned into a number", replace(leaf, values=large)
    yield "wrong dtype", replace(leaf, dtype=OTHER_DTYPES.get(leaf.dtype, "float32"))
    yield "wrong shape", replace(leaf, values=values[None])
    if values.size:
        yield "empty against non-empty", replace(leaf, values=values.reshape(-1)[:0])
        yield "one element short", replace(leaf, values=values.reshape(-1)[:-1])
    yield "None", Leaf("fact", text="NoneType None")
    meta = dict(leaf.meta)
    for kind, (name, value) in OTHER_META.items():
        if meta.get(name, value) != value:
            yield kind, replace(leaf, meta=tuple(sorted({**meta, name: value}.items())))
    if meta.get("aliases"):
        yield "alias lost", replace(leaf, meta=tuple(sorted({**meta, "aliases": ""}.items())))


def mistakes(right: Observation, before: Observation | None = None) -> Iterator[Mutation]:
    """Yield every mistake that can be made in `right`, one at a time.

    `before` is what the same program showed before the step: leaves under `input`, `buffer`,
    `param` and `grad` that the step changed are put back, as by a dropped mutation.
    """
    for path in sorted(right.leaves):
        leaf = right.leaves[path]
        for kind, wrong in leaf_mistakes(leaf):
            yield Mutation(kind, path, with_leaf(right, path, wrong), right)
        if leaf.kind == "fact":
            kind = FACTS.get(path.split(".")[0].split("[")[0], "fact")
            other = replace(leaf, text=leaf.text + " and more")
            yield Mutation(kind, path, with_leaf(right, path, other), right)
        yield Mutation("nothing at a path", path, with_leaf(right, path, None), right)
        old = before.leaves.get(path) if before is not None else None
        if old is not None and old.digest() != leaf.digest():
            yield Mutation("dropped mutation", path, with_leaf(right, path, old), right)
    extra = with_leaf(right, "output[99]", Leaf("tensor", "float32", np.ones(1)))
    yield Mutation("one output more", "output[99]", extra, right)
    yield from exception_mistakes(right)


FACTS = {
    "rng": "RNG state",
    "ambient": "global mode left behind",
    "printed": "printed side effect",
    "warnings": "warning",
    "state": "Python state",
}


def raising(right: Observation, exception: str, message: str = "call: no") -> Observation:
    """Return what a step that raised shows: state, and no output."""
    leaves = {path: leaf for path, leaf in right.leaves.items() if not path.startswith("output")}
    return Observation(leaves, returned=False, exception=exception, message=message)


def exception_mistakes(right: Observation) -> Iterator[Mutation]:
    """Yield mistakes in whether and what a step raises."""
    raised = raising(right, "ValueError")
    yield Mutation("raises instead of returning", EXCEPTION, raised, right)
    yield Mutation("returns instead of raising", EXCEPTION, right, raised)
    other = raising(right, "TypeError")
    yield Mutation("another exception", EXCEPTION, other, raised, anywhere=False)


SIGN_OF_ZERO = "sign of zero"


def zero_mistakes(right: Observation) -> Iterator[Mutation]:
    """Yield the sign of zero turned, for leaves that one exact or correctly rounded step made."""
    for path in sorted(right.leaves):
        values = right.leaves[path].values
        if values is not None and values.dtype.kind == "f" and (values == 0).any():
            turned = np.where(values == 0, -values, values)
            wrong = with_leaf(right, path, replace(right.leaves[path], values=turned))
            yield Mutation(SIGN_OF_ZERO, path, wrong, right)
