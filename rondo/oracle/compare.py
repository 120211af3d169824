"""Comparing two observations: bitwise first, then each float against a float64 reference.

The key insight: retained and reset arms normally run the same kernels, so equality needs no
tolerance. Only where floats differ is each *element* judged, never a mean, a norm or a cosine, so
one wrong element of four million counts as much as four million.

An element passes when |result - reference| is within the tolerance of the operators behind it
(rondo/oracle/tolerance.py), widened by what eager itself errs at elements of like magnitude: a
compiled kernel may err as much as eager does. Up to the family's margin times that, the step is
*uncertain*: counted, shown, never an alarm.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from rondo.oracle.observation import Leaf, Observation, Ranking
from rondo.oracle.tolerance import RANDOM, Tolerance, slack_of, tolerance_of

EDGE = 16.0
"""How far below the largest number of a dtype an overflow in one arm alone is still plausible."""

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


PLACES = (
    "output",
    "grad",
    "input",
    "param",
    "buffer",
    "state",
    "earlier",
    "printed",
    "warnings",
    "rng",
    "ambient",
)
"""Heads of paths, in the order in which a difference is named when there are several."""

TRANSIENT = ("output", "input", "grad.input", "printed", "warnings")
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

    `reference` is asked at most once, and only when numbers differ; it may have no answer. Paths
    that start with one of `ignored` are left out, and what one of the two could not read. Both
    observations must have returned.
    """
    ignored += tuple(
        path for seen in (expected, found) for path, leaf in seen.leaves.items() if leaf.unreadable
    )
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
        if _is_inexact(first.values):
            grade = grade_values(first, second, exact, excused=_non_finite_inputs(expected))
        else:
            grade = grade_indices(first, second, exact)
        mismatches.append(Mismatch(path, grade, "value"))
    return sorted(mismatches, key=lambda mismatch: (-mismatch.grade, rank_of(mismatch.path)))


def discrete_effect(first: Leaf, second: Leaf) -> str:
    """Return what differs besides numbers: kind, text, dtype, shape, metadata; or ''."""
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
        if first.values.dtype != second.values.dtype:
            return "kind"
    return "metadata" if first.meta != second.meta else ""


def _is_inexact(values: np.ndarray) -> bool:
    return values.dtype.kind in "fc"


def _bitwise(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays of equal dtype and shape are the same numbers; any NaN equals any NaN."""
    if not _is_inexact(first):
        return np.array_equal(first, second)
    first, second = _parts(first), _parts(second)
    same = (first == second) & (np.signbit(first) == np.signbit(second))
    return bool((same | (np.isnan(first) & np.isnan(second))).all())


def _parts(values: np.ndarray) -> np.ndarray:
    """Return numbers as flat float64; a complex one as its two parts."""
    flat = np.ascontiguousarray(values).reshape(-1)
    return flat.view(np.float64) if np.iscomplexobj(flat) else flat.astype(np.float64, copy=False)


INPUTS = ("input", "param", "buffer")


def _non_finite_inputs(observation: Observation) -> bool:
    """Whether NaN or infinity went into the step: where it comes out may then depend on the order.

    Such a step's NaN and infinities are no alarm, but they are counted as uncertain.
    """
    return any(
        leaf.values is not None
        and place_of(path) in INPUTS
        and _is_inexact(leaf.values)
        and not np.isfinite(leaf.values).all()
        for path, leaf in observation.leaves.items()
    )


def grade_values(
    expected: Leaf, found: Leaf, exact: Leaf | None, *, excused: bool = False
) -> Grade:
    """Return the grade of two float tensors of equal dtype and shape.

    `exact` is the float64 reference of the same path; without one, with one of another shape or of
    other random numbers, `expected` stands in for it and the tolerance alone decides. `excused`
    tells that non-finite numbers went in.
    """
    assert expected.values is not None
    assert found.values is not None
    first, second = _parts(expected.values), _parts(found.values)
    if first.size == 0:
        return Grade.EQUAL
    truth, families = first, None
    if exact is not None and exact.values is not None:
        families = exact.families
        comparable = exact.values.shape == expected.values.shape
        comparable &= exact.values.dtype == expected.values.dtype
        if comparable and RANDOM not in (families or ()):
            truth = _parts(exact.values)
    tolerance = tolerance_of(families, expected.dtype)
    with np.errstate(all="ignore"):
        return _grade(first, second, truth, tolerance, excused=excused)


def _grade(
    first: np.ndarray,
    second: np.ndarray,
    truth: np.ndarray,
    tolerance: Tolerance,
    *,
    excused: bool,
) -> Grade:
    settled = (first == second) | (np.isnan(first) & np.isnan(second))
    allowed = tolerance.allowed(truth) + slack_of(np.abs(first - truth), truth, tolerance)
    # Where nothing is allowed an error is infinitely large, and no error is none.
    ratio = _ratio(second - truth, allowed)
    against_eager = _ratio(second - first, allowed)
    ratio = np.where(np.isfinite(against_eager), np.minimum(ratio, against_eager), ratio)
    ratio = np.where(settled, 0.0, ratio)
    odd = ~settled & ~(np.isfinite(first) & np.isfinite(second))
    if odd.any():
        # Near the edge of a dtype one arm may overflow where the other does not.
        near = tolerance.largest / EDGE
        edge = odd & (np.sign(first) == np.sign(second)) & (np.abs(truth) > near)
        edge &= np.minimum(np.abs(first), np.abs(second)) > near
        better = odd & np.isfinite(second) & (ratio <= 1)
        if not excused and (odd & ~edge & ~better).any():
            return Grade.DIFFERENT
        ratio = np.where(odd & ~better, (1 + tolerance.margin) / 2, ratio)
    if tolerance.zero_sign and _signs_of_zero_differ(first, second, truth):
        return Grade.DIFFERENT
    worst = float(np.nan_to_num(ratio, nan=np.inf).max(initial=0.0))
    if worst <= 1:
        return Grade.CLOSE
    return Grade.UNCERTAIN if worst <= tolerance.margin else Grade.DIFFERENT


def _ratio(error: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    quotient: np.ndarray = np.abs(error) / allowed
    quotient[error == 0] = 0.0
    return quotient


def _signs_of_zero_differ(first: np.ndarray, second: np.ndarray, truth: np.ndarray) -> bool:
    """Whether a zero has the other sign where eager and the reference are of one mind about it."""
    zeros = (first == 0) & (second == 0) & (truth == 0)
    agreed = np.signbit(first) == np.signbit(truth)
    return bool((zeros & agreed & (np.signbit(first) != np.signbit(second))).any())


def grade_indices(expected: Leaf, found: Leaf, exact: Leaf | None) -> Grade:
    """Return the grade of two tensors of integers or booleans that are not equal.

    They are different, with two exceptions. Where the framework saw what they were chosen from, an
    index is as good as another one when the values at both are equal within the tolerance of a
    chain of operators, as ties and near ties may be broken either way; along an axis that keeps
    several indices, as topk does, each element may be chosen once. And where numbers were rounded
    on the way, `found` is uncertain when each element that differs is the reference's: a kernel
    that computes half types in float32 compares and truncates more exactly than eager does.
    """
    ranking = exact.ranking if exact is not None else None
    assert expected.values is not None
    assert found.values is not None
    if ranking is None:
        return Grade.UNCERTAIN if _nearer_to_truth(expected, found, exact) else Grade.DIFFERENT
    first, second = _values_at(ranking, expected.values), _values_at(ranking, found.values)
    if first is None or second is None:
        return Grade.DIFFERENT
    tolerance = tolerance_of(None, ranking.dtype)
    with np.errstate(all="ignore"):
        ratio = _ratio(second - first, tolerance.allowed(first))
    ratio[np.isnan(first) & np.isnan(second)] = 0.0
    worst = float(np.nan_to_num(ratio, nan=np.inf).max(initial=0.0))
    if worst <= 1:
        return Grade.CLOSE
    return Grade.UNCERTAIN if worst <= tolerance.margin else Grade.DIFFERENT


def _nearer_to_truth(expected: Leaf, found: Leaf, exact: Leaf | None) -> bool:
    if exact is None or not exact.families or exact.values is None or RANDOM in exact.families:
        return False
    assert expected.values is not None
    if exact.dtype != found.dtype or exact.values.shape != expected.values.shape:
        return False
    differing = expected.values != found.values
    return bool((exact.values == found.values)[differing].all())


def _values_at(ranking: Ranking, indices: np.ndarray) -> np.ndarray | None:
    """Return the candidates that `indices` name; None where they cannot be what was chosen."""
    candidates = ranking.values
    moved = indices[..., None] if ranking.axis is None else np.moveaxis(indices, ranking.axis, -1)
    if moved.shape[:-1] != candidates.shape[:-1] or moved.dtype.kind != "i":
        return None
    if moved.size and (moved.min() < 0 or moved.max() >= candidates.shape[-1]):
        return None
    ordered = np.sort(moved, axis=-1)
    if (ordered[..., 1:] == ordered[..., :-1]).any():
        return None
    return np.take_along_axis(candidates, moved, axis=-1)
