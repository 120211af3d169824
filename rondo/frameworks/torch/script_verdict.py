"""How a script tells its verdict: one line and an exit code, or a test that is expected to fail.

The key insight: what is compared decides how. Floats are close or not, by the tolerances that the
framework's own tests use, and shown by how far they are off; everything else is equal or not, and
shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rondo.frameworks.torch.script_observe import Observed
from rondo.oracle.result import Verdict

INDENT = "    "
LONGEST_LINE = 99

AGREES = (
    r"^ok: (?:(?:retained|compiled) off by 0(?:\.0)?(?:, after .*off by 0(?:\.0)?)?"
    r"|eager (?P<seen>.*), (?:retained|compiled) (?P=seen)(?:, after \S+ (?P=seen))?)$"
)
"""What a script prints when nothing at all differs."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The conditions of a verdict: what must differ, what must not, and what is printed."""

    differs: str
    """Holds while the bug is there."""
    agrees: str
    """Holds too, or it is another bug; may be empty."""
    said: str
    needs: tuple[str, ...] = ()
    """Lines in front."""


def compare(observed: Observed, verdict: str) -> Comparison:
    """Return how `expected`, `got` and `fresh` are compared for a verdict of the oracle."""
    needs: tuple[str, ...] = ()
    if observed.kind == "floats":
        rtol, atol = observed.tolerance
        options = f"rtol={rtol}, atol={atol}, equal_nan=True"
        needs = (f"same = functools.partial(torch.allclose, {options})",)
        same, differs = "same({0}, expected)", "not same({0}, expected)"
        show = "off by {{({0} - expected).abs().max():.2g}}"
    elif observed.kind == "tensor":
        same, differs = "torch.equal({0}, expected)", "not torch.equal({0}, expected)"
        show = "{{{0}.flatten()[:4].tolist()}}"
    else:
        same, differs, show = "{0} == expected", "{0} != expected", "{{{0}}}"
    eager = "" if observed.kind == "floats" else f"eager {show.format('expected')}, "
    got, fresh = show.format("got"), show.format("fresh")
    said = f"{eager}retained {got}, after torch._dynamo.reset() {fresh}"
    if verdict == Verdict.STATELESS.value:
        return Comparison(differs.format("got"), "", f"{eager}compiled {got}", needs)
    if verdict == Verdict.MASKED.value:
        return Comparison(differs.format("fresh"), same.format("got"), said, needs)
    if verdict == Verdict.STATEFUL.value:
        return Comparison(differs.format("got"), same.format("fresh"), said, needs)
    return Comparison(differs.format("got"), "", said, needs)


def verdict_lines(observed: Observed, verdict: str) -> list[str]:
    """Return the lines that compare, print one line and leave with 1 if the bug shows."""
    comparison = compare(observed, verdict)
    bug = " and ".join(part for part in (comparison.differs, comparison.agrees) if part)
    return [*comparison.needs, f"bug = {bug}", *_print(comparison.said), "sys.exit(bug)"]


def lines_of_test(
    observed: Observed, verdict: str, arms: list[str], words: Sequence[str], title: str
) -> list[str]:
    """Return a test that fails by assertion for as long as the bug is there.

    `arms` are the lines that make `expected`, `got` and `fresh`; `words` become its name.
    """
    comparison = compare(observed, verdict)
    reason = title.partition("\n")[0].rstrip(".").replace('"', "'")
    other = []
    if comparison.agrees:
        other = [f"if {negated(comparison.agrees)}:", '    raise RuntimeError("another bug")']
    body = [*arms, *comparison.needs, *other, f"assert {negated(comparison.differs)}"]
    return [
        "@pytest.mark.xfail(",
        f'    strict=True, raises=AssertionError, reason="{reason}"',
        ")",
        f"def test_{re.sub(r'[^0-9A-Za-z]+', '_', '_'.join(words))}():",
        *(INDENT + line for line in body),
    ]


def negated(condition: str) -> str:
    """Return the opposite of a comparison that `compare` has written."""
    if condition.startswith("not "):
        return condition.removeprefix("not ")
    for operator, opposite in ((" == ", " != "), (" != ", " == ")):
        if operator in condition:
            return condition.replace(operator, opposite)
    return f"not {condition}"


def _print(said: str) -> list[str]:
    """Return the line that prints the verdict, in two where it is long."""
    line = f"""print(f"{{'BUG' if bug else 'ok'}}: {said}")"""
    if len(line) <= LONGEST_LINE:
        return [line]
    front, _, back = said.rpartition(", after")
    return [
        f"""print(f"{{'BUG' if bug else 'ok'}}: {front},\"""",
        f"""      f" after{back}")""",
    ]
