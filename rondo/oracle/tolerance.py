"""The tolerance table: how far a result may lie from the reference, by operators and dtype.

The key insight: what may differ depends on what was computed, not on where it is read. A tensor
that was only moved must be bitwise equal, one addition may be off by half a unit in the last place,
a chain of a hundred operators by what `torch.testing.assert_close` grants. So whoever makes the
reference says of each tensor which families of operators are behind it, and the numbers of each
family stand with their sources in one data file, `tolerances.toml`.

What an element may err beyond its tolerance is what eager errs there itself, and "there" means at
elements of like magnitude: an error of 1 at elements near a million is no excuse for one of 1 at
elements near zero, however large the tensor is.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

EXACT = "exact"
SELECTION = "selection"
ARITHMETIC = "arithmetic"
COMPOSITE = "composite"
RANDOM = "random"
"""A family without numbers: the reference draws other random numbers than a float32 arm, so it says
nothing of this tensor."""

SLACK = 4.0
"""How many times what eager errs beyond its tolerance a result may add: a reduction in another
order and a fused multiply-add each cost about one, in forward and backward."""

REACH = 3
"""Binary orders of magnitude above an element's own, up to which eager's errors excuse its own."""

NEIGHBOURS = 64
"""The smallest elements are judged together, this many: a lone one that eager happens to get right
by luck would otherwise have no slack at all."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What an element of one tensor may err, and how far beyond it is an alarm."""

    rtol: float
    atol: float
    margin: float
    zero_sign: bool
    largest: float

    def allowed(self, truth: np.ndarray) -> np.ndarray:
        """Return what each element may err before any slack."""
        allowed: np.ndarray = self.atol + self.rtol * np.abs(truth)
        return allowed


@cache
def table() -> dict[str, Any]:
    """Return the data file as it stands."""
    return tomllib.loads(files("rondo.oracle").joinpath("tolerances.toml").read_text())


@cache
def families_by_operator() -> dict[str, str]:
    """Return the family of every operator that the data file names."""
    return {
        operator: name
        for name, family in table()["families"].items()
        for operator in family.get("operators", ())
    }


def tolerance_of(families: Iterable[str] | None, dtype: str) -> Tolerance:
    """Return the widest tolerance of `families` for `dtype`; None is an unknown history.

    An empty history is exact. A family without numbers for a dtype has those of `composite`.
    """
    names = (COMPOSITE,) if families is None else tuple(sorted(set(families) - {RANDOM, EXACT}))
    return _widest(names or (EXACT,), dtype)


@cache
def _widest(names: tuple[str, ...], dtype: str) -> Tolerance:
    rows = [_row(name, dtype) for name in names]
    return Tolerance(
        rtol=max(row["rtol"] for row in rows),
        atol=max(row["atol"] for row in rows),
        margin=max(row["margin"] for row in rows),
        zero_sign=all(row["zero_sign"] for row in rows),
        largest=table()["dtypes"].get(dtype, np.inf),
    )


def _row(name: str, dtype: str) -> dict[str, Any]:
    family = table()["families"][name]
    numbers = family.get(dtype) or family.get("default")
    if numbers is None:
        family = table()["families"][COMPOSITE]
        numbers = family.get(dtype) or family["float32"]
    return {"margin": family["margin"], "zero_sign": family["zero_sign"], **numbers}


def slack_of(own_error: np.ndarray, truth: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Return what each element may err because eager errs that much at elements of like magnitude.

    Elements are grouped by their binary exponent. An element's slack is SLACK times the worst error
    that eager makes beyond the tolerance in any group up to REACH above its own; groups at the
    lower end are joined until they hold NEIGHBOURS elements.
    """
    excess: np.ndarray = np.maximum(own_error - tolerance.allowed(truth), 0.0)
    excess[~np.isfinite(excess)] = 0.0
    if not excess.any():
        return excess
    sizes = np.abs(truth)
    nonzero = np.isfinite(sizes) & (sizes > 0)
    exponents = np.frexp(np.where(nonzero, sizes, 1.0))[1].astype(np.int64)
    lowest = int(exponents[nonzero].min()) if nonzero.any() else 0
    groups = np.where(nonzero, exponents - lowest, 0)
    highest = int(groups.max()) + REACH
    groups[np.isinf(sizes)] = highest
    worst = np.zeros(highest + 1)
    np.maximum.at(worst, groups, excess)
    worst = np.maximum.accumulate(worst)
    filled = np.cumsum(np.bincount(groups[nonzero], minlength=highest + 1))
    joined = int(np.searchsorted(filled, min(NEIGHBOURS, filled[-1])))
    reached = np.minimum(np.maximum(groups + REACH, joined), highest)
    slack: np.ndarray = SLACK * worst[reached]
    return slack
