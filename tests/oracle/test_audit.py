"""The audit passes on the real judge, and fails on judges with the holes of other oracles."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from rondo.commands import audit as audit_command
from rondo.oracle import compare, judge, mutations
from rondo.oracle.audit import Audit, run_audit, specimen
from rondo.oracle.compare import Grade, Mismatch
from rondo.oracle.observation import Leaf, Observation

WANTED = (
    "zeros",
    "permuted elements",
    "sum-preserving change",
    "one element off by 1%",
    "wrong dtype",
    "stride class",
    "alias gained",
    "alias lost",
    "alias of an earlier output",
    "dropped mutation",
    "None",
    "empty against non-empty",
    "another exception",
    "raises instead of returning",
    "returns instead of raising",
    "NaN turned into 0",
    "sign of zero",
    "requires_grad changed",
    "integer off by one",
    "RNG state",
    "global mode left behind",
    "printed side effect",
    "warning",
)


@pytest.fixture(scope="module")
def audit() -> Audit:
    return run_audit()


def test_every_mistake_gets_its_verdict_and_nothing_legal_alarms(audit: Audit) -> None:
    assert audit.escapes == ()
    assert audit.false_alarms == ()
    assert audit.passed
    assert audit.caught == audit.tried
    assert set(WANTED) <= audit.tried.keys()
    assert audit.controls >= 30
    assert sum(audit.tried.values()) > 1000


def test_mistakes_are_mistakes() -> None:
    right = specimen()
    for mutation in mutations.mistakes(right):
        assert mutation.wrong.digest() != mutation.right.digest(), mutation.kind


def test_places_where_an_earlier_output_changes_are_tried() -> None:
    paths = {each.path for each in mutations.mistakes(specimen()) if each.kind == "zeros"}
    assert {"earlier[-1]", "input.x", "grad.w", "param.w", "buffer.seen"} <= paths


Compare = Callable[..., list[Mismatch]]


def sums_only(expected: Observation, found: Observation, reference: object, **kw: object):  # type: ignore[no-untyped-def]
    """An oracle that compares the sum of each output."""

    def total(leaf: Leaf) -> complex:
        return 0 if leaf.values is None else complex(np.nansum(leaf.values))

    paths = expected.leaves.keys() & found.leaves.keys()
    return [
        Mismatch(path, Grade.DIFFERENT, "value")
        for path in paths
        if abs(total(expected.leaves[path]) - total(found.leaves[path])) > 1e-3
    ]


def values_only(expected: Observation, found: Observation, reference: object, **kw: object):  # type: ignore[no-untyped-def]
    """An oracle that looks at values and at nothing else."""

    def bare(observation: Observation) -> Observation:
        return replace(
            observation,
            leaves={path: replace(leaf, meta=()) for path, leaf in observation.leaves.items()},
        )

    return compare.compare(bare(expected), bare(found), lambda: None)


def anything_is_wrong(expected: Observation, found: Observation, reference: object, **kw: object):  # type: ignore[no-untyped-def]
    """An oracle that wants bitwise equality."""
    return [
        Mismatch(path, Grade.DIFFERENT, "value")
        for path, leaf in expected.leaves.items()
        if path not in found.leaves or found.leaves[path].digest() != leaf.digest()
    ]


@pytest.mark.parametrize(
    ("broken", "kinds"),
    [
        (sums_only, {"permuted elements", "sum-preserving change", "stride class", "RNG state"}),
        (values_only, {"stride class", "alias gained", "requires_grad changed"}),
    ],
)
def test_a_judge_with_a_hole_fails(
    broken: Compare, kinds: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "compare", broken)
    audit = run_audit()
    assert not audit.passed
    assert kinds <= {escape.kind for escape in audit.escapes}


def test_a_judge_that_cries_at_rounding_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge, "compare", anything_is_wrong)
    audit = run_audit()
    assert not audit.passed
    assert any("rounding of float32" in name for name in audit.false_alarms)


def test_the_command_prints_a_table_and_a_summary(
    audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rondo.oracle.audit.run_audit", lambda: audit)
    shown = CliRunner().invoke(audit_command.command, [], standalone_mode=False)
    assert shown.return_value == 0
    tried = sum(audit.tried.values())
    assert f"caught {tried} of {tried} mistakes" in shown.output.splitlines()[-1]
    assert "sign of zero" in shown.output
    found = json.loads(
        CliRunner().invoke(audit_command.command, ["--json"], standalone_mode=False).output
    )
    assert found["passed"] is True
    assert found["caught"]["zeros"] == audit.caught["zeros"]


def test_an_escape_is_named_and_fails_the_command(
    audit: Audit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(judge, "compare", sums_only)
    failed = run_audit()
    monkeypatch.setattr("rondo.oracle.audit.run_audit", lambda: failed)
    shown = CliRunner().invoke(audit_command.command, [], standalone_mode=False)
    assert shown.return_value == 1
    assert "ESCAPED" in shown.output
