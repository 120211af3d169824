"""Comparing two observations: bitwise first, then each float against a float64 reference.

The key insight: retained and reset arms normally run the same kernels, so equality needs no
tolerance. Only where floats differ is each *element* judged, never a mean, a norm or a cosine, so
one wrong element of four million counts as much as four million.

An element passes when |result - reference| <= atol + rtol * |reference| + SLACK * eager's own worst
error in that tensor: a compiled kernel may err as much as eager does on the same numbers. Between
one and MARGIN times that, the step is *uncertain*: counted, shown, never an alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rondo.oracle.observation import Leaf, Observation

TOLERANCES: dict[str, tuple[float, float]] = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
    "python float": (1e-7, 1e-7),
}
"""dtype -> (rtol, atol): the defaults of `torch.testing.assert_close`."""

SLACK = 4.0
"""How many times eager's own worst error a result may add: a reduction in another order and a
fused multiply-add each cost about one, in forward and backward."""

MARGIN = 16.0
"""How far beyond the tolerance a difference must lie to be an alarm."""

LARGEST = {"float16": 65504.0, "bfloat16": 3.38e38, "float32": 3.40e38}

Reference = Callable[[], Mapping[str, Leaf] | None]


class Grade(IntEnum):
    """How two leaves compare, from best to worst."""

    EQUAL = 0
    CLOSE = 1
    UNCERTAIN = 2
    DIFFERENT = 3


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One path on which two observations are not equal, and what kind of difference it is."""

    path: str
    grade: Grade
    effect: str


PLACES = ("output", "grad", "input", "param", "buffer", "state", "earlier", "rng", "ambient")
"""Heads of paths, in the order in which a difference is named when there are several."""

TRANSIENT = ("output", "input", "grad.input")
"""Paths that do not live on into later steps."""


def place_of(path: str) -> str:
    """Return the kind of path without names that vary: `state.list_alias`, `grad`, `output` ..."""
    head = path.split("[")[0]
    parts = head.split(".")
    if parts[0] in ("state", "ambient", "rng") and len(parts) > 1:
        return ".".join(parts[:2])
    return parts[0]


def rank_of(path: str) -> tuple[int, str]:
    """Return a sort key that puts the most telling path first."""
    head = place_of(path).split(".")[0]
    return (PLACES.index(head) if head in PLACES else len(PLACES), path)


def compare(
    expected: Observation,
    found: Observation,
    reference: Reference,
    *,
    ignored: tuple[str, ...] = (),
) -> list[Mismatch]:
    """Return every path on which `found` is not bitwise `expected`, most telling first.

    `reference` is asked at most once, and only when floats differ; it may have no answer. Paths
    that start with one of `ignored` are left out. Both observations must have returned.
    """
    mismatches: list[Mismatch] = []
    answer: list[Mapping[str, Leaf] | None] = []
    for path in sorted(expected.leaves.keys() | found.leaves.keys()):
        if path.startswith(ignored):
            continue
        first, second = expected.leaves.get(path), found.leaves.get(path)
        if first is None or second is None:
            mismatches.append(Mismatch(path, Grade.DIFFERENT, "missing"))
            continue
        effect = discrete_effect(first, second)
        if effect:
            mismatches.append(Mismatch(path, Grade.DIFFERENT, effect))
            continue
        if first.values is None or second.values is None or _bitwise(first.values, second.values):
            continue
        if not answer:
            answer.append(reference())
        exact = (answer[0] or {}).get(path)
        grade = grade_values(first, second, exact)
        mismatches.append(Mismatch(path, grade, "value"))
    return sorted(mismatches, key=lambda mismatch: (-mismatch.grade, rank_of(mismatch.path)))


def discrete_effect(first: Leaf, second: Leaf) -> str:
    """Return what differs besides float values: kind, dtype, shape, metadata, integers; or ''."""
    if first.kind != second.kind:
        return "kind"
    if first.text != second.text:
        return "fact"
    if first.dtype != second.dtype:
        return "dtype"
    if (first.values is None) != (second.values is None):
        return "layout"
    if first.values is not None and second.values is not None:
        if first.values.shape != second.values.shape:
            return "shape"
        if first.dtype not in TOLERANCES and not np.array_equal(first.values, second.values):
            return "value"
    return "metadata" if first.meta != second.meta else ""


def _bitwise(first: np.ndarray, second: np.ndarray) -> bool:
    return bool(
        np.array_equal(first, second, equal_nan=True)
        and np.array_equal(np.signbit(first.real), np.signbit(second.real))
    )


def grade_values(expected: Leaf, found: Leaf, exact: Leaf | None) -> Grade:
    """Return the grade of two float tensors of equal dtype and shape.

    `exact` is the float64 reference of the same path; without one, or with one of another shape,
    `expected` stands in for it and the tolerance alone decides.
    """
    first, second = _floats(expected), _floats(found)
    if first.size == 0:
        return Grade.EQUAL
    usable = exact is not None and exact.values is not None
    truth = first
    if usable and exact is not None and exact.values.shape == expected.values.shape:  # type: ignore[union-attr]
        truth = _floats(exact)
    with np.errstate(all="ignore"):
        return _grade(first, second, truth, expected.dtype)


def _floats(leaf: Leaf) -> np.ndarray:
    assert leaf.values is not None
    values = leaf.values.reshape(-1)
    return values.view(np.float64) if np.iscomplexobj(values) else values.astype(np.float64)


def _grade(first: np.ndarray, second: np.ndarray, truth: np.ndarray, dtype: str) -> Grade:
    rtol, atol = TOLERANCES.get(dtype, TOLERANCES["float32"])
    largest = LARGEST.get(dtype, np.inf)
    settled = first == second
    settled |= np.isnan(first) & np.isnan(second)
    own_error = np.abs(first - truth)
    finite_error = own_error[np.isfinite(own_error)]
    slack = SLACK * float(finite_error.max(initial=0.0))
    allowed = atol + rtol * np.abs(truth) + slack
    ratio = np.abs(second - truth) / allowed
    against_eager = np.abs(second - first) / allowed
    ratio = np.where(np.isfinite(against_eager), np.minimum(ratio, against_eager), ratio)
    ratio = np.where(settled, 0.0, ratio)
    odd = ~settled & ~(np.isfinite(first) & np.isfinite(second))
    if odd.any():
        # Near the edge of a dtype one arm may overflow where the other does not.
        edge = odd & (np.abs(truth) > largest / MARGIN) & ~np.isnan(truth)
        better = odd & np.isfinite(second) & (ratio <= 1)
        if (odd & ~edge & ~better).any():
            return Grade.DIFFERENT
        ratio = np.where(edge & ~better, (1 + MARGIN) / 2, ratio)
    worst = float(np.nan_to_num(ratio, nan=np.inf).max(initial=0.0))
    if worst <= 1:
        return Grade.CLOSE
    return Grade.UNCERTAIN if worst <= MARGIN else Grade.DIFFERENT
