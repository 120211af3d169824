"""Validity is a projection, and every record can be read aloud."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from rondo.sequences.step import (
    CALL_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    SubjectSpec,
    describe,
    normalise,
    targets_of,
)
from tests import toys

TOY = toys.toy_vocabulary()
NAMES = st.sampled_from([*TOY.targets_by_name, "unknown"])
NUMBERS = st.integers(0, 1000)
WILD_CALLS = st.builds(
    Call,
    **dict.fromkeys(CALL_CHOICES, NUMBERS),
    sizes=st.lists(NUMBERS, max_size=4).map(tuple),
)
WILD = st.builds(
    Sequence,
    st.builds(SubjectSpec, NAMES, st.lists(NAMES, max_size=7).map(tuple), NUMBERS),
    st.builds(Options, NUMBERS, NUMBERS, NUMBERS, NUMBERS, NUMBERS),
    st.lists(WILD_CALLS | st.builds(Change, NAMES, NUMBERS, NUMBERS), max_size=60).map(tuple),
)


@given(WILD)
def test_normalising_makes_valid_and_is_idempotent(wild: Sequence) -> None:
    sequence = normalise(wild, TOY)
    assert normalise(sequence, TOY) == sequence
    assert len(sequence.steps) == min(len(wild.steps), TOY.limits["steps"])
    assert len(sequence.subject.constructs) <= TOY.limits["constructs"]
    targets = {target.name: target for target in targets_of(sequence.subject, TOY)}
    for step in sequence.steps:
        if isinstance(step, Change):
            assert step.value < targets[step.target].actions[step.action].values


@given(toys.sequences(TOY))
def test_normalising_leaves_what_is_valid(sequence: Sequence) -> None:
    assert normalise(sequence, TOY) == sequence


def test_targets_without_changes_are_left_out() -> None:
    names = [target.name for target in targets_of(SubjectSpec("lstm", ("silent", "hook")), TOY)]
    assert names == ["hook", "program", "compiler"]


def test_describe_names_everything_that_is_unusual() -> None:
    sequence = Sequence(
        SubjectSpec("lstm", ("factor",), 3),
        Options(backend=2, dynamic=1),
        (Call(dtype=1, sizes=(2, 0)), Change("factor", 0, 3), Change("compiler", 0, 0)),
    )
    assert describe(sequence, TOY) == {
        "framework": "toy",
        "architecture": "lstm",
        "constructs": ["factor"],
        "seed": 3,
        "options": {
            "backend": "dear",
            "mode": "default",
            "dynamic": "true",
            "fullgraph": "no",
            "cache": "memory",
        },
        "steps": [
            "call(batch=3, time=1, dtype=float64)",
            "factor.action0(3)",
            "compiler.action0()",
        ],
    }
    assert list(replace(sequence, steps=(Change("compiler"), Call())).calls()) == [(1, Call())]
