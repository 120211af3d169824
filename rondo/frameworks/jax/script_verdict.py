"""What a script of jax compares, and how it tells its verdict: one line and an exit code."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rondo.frameworks.jax.script_inputs import UnwritableError
from rondo.frameworks.shared.script_zeros import differ_in_sign_of_zeros
from rondo.oracle.result import Difference

TOLERANCES = {"float16": 1e-3, "bfloat16": 1.6e-2, "float32": 1.3e-6, "float64": 1e-7}
"""Relative, as in `torch.testing.assert_close`; JAX's own tests take 1e-6 for float32."""
ABSOLUTE = 1e-5
LONGEST_LINE = 99

AGREES = (
    r"^ok: (?:eager (?P<seen>.*), (?:retained|compiled) (?P=seen)(?:, after \S+ (?P=seen))?"
    r"|(?:retained|compiled) off by 0(?:\.0)?(?:, after \S+ off by 0(?:\.0)?)?)$"
)
"""What a script prints when nothing at all differs."""

OUTPUT = re.compile(r"output\[(\d+)\]$")


@dataclass(frozen=True, slots=True)
class Observed:
    """What is looked at of a call's result (`{0}`), and how two of it are compared.

    `kind`: `floats`, `array` (exact), `text`, or `raises`.
    """

    expression: str
    kind: str
    tolerance: float = 0.0


def observed_of(difference: Difference, *, is_tuple: bool) -> Observed:
    """Return what to look at for a difference. Raises UnwritableError."""
    if difference.effect in ("exception", "missing exception", "wrong exception"):
        return Observed("{0}", "raises")
    match = OUTPUT.match(difference.path)
    if match is None or (not is_tuple and match.group(1) != "0"):
        raise UnwritableError(f"what differs, {difference.path}")
    value = f"{{0}}[{match.group(1)}]" if is_tuple else "{0}"
    if difference.effect == "value":
        if differ_in_sign_of_zeros(difference):
            return Observed(f"np.signbit(np.asarray({value}, np.float64))", "array")
        dtype = difference.eager.partition("[")[0]
        if dtype in TOLERANCES:
            return Observed(f"np.asarray({value}, np.float64)", "floats", TOLERANCES[dtype])
        return Observed(f"np.asarray({value})", "array")
    if difference.effect == "dtype":
        return Observed(f"str({value}.dtype)", "text")
    if difference.effect == "shape":
        return Observed(f"{value}.shape", "text")
    raise UnwritableError(f"what differs, {difference.effect} of {difference.path}")


def verdict_lines(observed: Observed, *, stateless: bool) -> list[str]:
    """Return the lines that compare, print one line and leave with 1 if the bug shows."""
    needs: list[str] = []
    show = "{{{0}}}"
    same, differs = "{0} == expected", "{0} != expected"
    if observed.kind == "floats":
        options = f"rtol={observed.tolerance}, atol={ABSOLUTE}, equal_nan=True"
        same = f"np.allclose({{0}}, expected, {options})"
        differs, show = f"not {same}", "off by {{abs({0} - expected).max():.2g}}"
    elif observed.kind == "array":
        same, show = "np.array_equal({0}, expected)", "{{{0}.ravel()[:4].tolist()}}"
        differs = f"not {same}"
    eager = "" if observed.kind == "floats" else f"eager {show.format('expected')}, "
    got, fresh = show.format("got"), show.format("fresh")
    if stateless:
        bug, said = differs.format("got"), f"{eager}compiled {got}"
    else:
        bug = f"{differs.format('got')} and {same.format('fresh')}"
        said = f"{eager}retained {got}, after jax.clear_caches() {fresh}"
    if len(bug) > 90:
        needs = ["", "def same(one):", f"    return {same.format('one')}", ""]
        bug = "not same(got)" if stateless else "not same(got) and same(fresh)"
    printed = [f"""print(f"{{'BUG' if bug else 'ok'}}: {said}")"""]
    if len(printed[0]) > LONGEST_LINE:
        front, _, back = said.rpartition(", after")
        printed = [
            f"""print(f"{{'BUG' if bug else 'ok'}}: {front},\"""",
            f"""      f" after{back}")""",
        ]
    return [*needs, f"bug = {bug}", *printed, "sys.exit(bug)"]
