"""The layer that is named follows from experiments whose outcomes are laid down here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rondo.campaign.locate_page import page_lines
from rondo.campaign.locating import LocatedFile, LocateError, save_layer
from rondo.findings.locate import Inspection, Located, locate
from rondo.findings.reproducer import load, save
from rondo.frameworks.base import Layer
from rondo.oracle.result import Alarm, Difference, Identity, Result, StepReport
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec
from tests.toys import toy_vocabulary

VOCABULARY = toy_vocabulary()
GOLDEN = Path(__file__).parent / "golden" / "version-1.rondo"
CODE, DISK, SIZES, BOTH = (
    Change("compiler", 0, 0),
    Change("compiler", 1, 0),
    Change("compiler", 1, 1),
    Change("compiler", 1, 2),
)
LAYERS = (
    Layer("aotautograd-cache", "", (("action1", 0),), disk=True),
    Layer("disk caches", "", (("action1", 2),), disk=True),
    Layer("automatic-dynamic", "", (("action1", 1),)),
    Layer("compiled code", "", (("action0", 0),)),
)
CALL = Call(sizes=(0,))
STEPS: tuple[Step, ...] = (CALL, Change("factor", 0, 1), CALL, CALL)
EXPOSING = 2
SERVED = {
    "frame": "forward",
    "entry": "0/0",
    "compiled_at": 0,
    "since": 0,
    "held": True,
    "count": 9,
    "guards": [["TYPE_MATCH", "type of factor"]],
    "broken": [],
    "changed": [],
    "leaked": [],
    "drawn": [],
    "drifted": [],
    "errors": [],
}
Rule = Callable[[list[Change], str], bool]
"""Whether the bug shows with these drops before the exposing call, on that back end."""


def change(kind: str = "state", guards: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "path": "factor.scale",
        "kind": kind,
        "before": "1.0",
        "after": "2.0",
        "guards": list(guards),
    }


def identity(verdict: str = "stateful") -> Identity:
    return Identity(verdict, "value", "dear", "output", "a change")


def laboratory(shows: Rule, verdict: str = "stateful") -> Callable[[bytes], Result | None]:
    """Return an executor in which the last call shows the bug where `shows` says so."""

    def execute(data: bytes) -> Result | None:
        sequence = decode(data, VOCABULARY)
        drops: list[Change] = []
        for step in reversed(sequence.steps[:-1]):
            if not (isinstance(step, Change) and step.target == "compiler"):
                break
            drops.append(step)
        last = len(sequence.steps) - 1
        wrong = shows(drops, VOCABULARY.backends[sequence.options.backend])
        alarms = (Alarm(last, identity(verdict), (Difference("output[0]", "value", "1", "2"),)),)
        reports = [StepReport("", "agree") for _ in sequence.steps]
        return Result(verdict, alarms if wrong else (), steps=tuple(reports))

    return execute


def located(
    shows: Rule,
    seen: dict[str, Any] | None = None,
    *,
    backend: int = 0,
    disk: bool = True,
    verdict: str = "stateful",
    thorough: bool = False,
) -> Located:
    options = Options(backend, cache=int(disk))
    sequence = Sequence(SubjectSpec("mlp", ("factor",)), options, STEPS)
    inspected = SERVED if seen is None else {**SERVED, **seen}
    return locate(
        encode(sequence),
        Alarm(EXPOSING, identity(verdict), (Difference("output[0]", "value", "1", "2"),)),
        laboratory(shows, verdict),
        lambda data, position: inspected,
        VOCABULARY,
        LAYERS,
        thorough=thorough,
    )


CASES: dict[str, tuple[Rule, dict[str, Any], str, tuple[str, ...]]] = {
    "an inner cache": (
        lambda drops, _: DISK not in drops,
        {},
        "aotautograd-cache",
        ("aotautograd-cache",),
    ),
    "an inner cache below code": (
        lambda drops, _: not (DISK in drops and CODE in drops),
        {},
        "aotautograd-cache",
        ("compiled code", "aotautograd-cache"),
    ),
    "memory below code": (
        lambda drops, _: not (SIZES in drops and CODE in drops),
        {},
        "automatic-dynamic",
        ("compiled code", "automatic-dynamic"),
    ),
    "memory alone": (
        lambda drops, _: SIZES not in drops,
        {},
        "automatic-dynamic",
        ("automatic-dynamic",),
    ),
    "a missing guard": (
        lambda drops, _: CODE not in drops,
        {"changed": [change()]},
        "dynamo-guards",
        ("compiled code",),
    ),
    "a guard that is too weak": (
        lambda drops, _: CODE not in drops,
        {"changed": [change(guards=("type of factor",))]},
        "dynamo-guards",
        ("compiled code",),
    ),
    "guards that are not asked": (
        lambda drops, _: CODE not in drops,
        {"changed": [change(guards=("factor.scale == 1.0",))], "held": False},
        "dynamo-frame cache",
        ("compiled code",),
    ),
    "no guards at all": (
        lambda drops, _: CODE not in drops,
        {"changed": [change()], "count": 0},
        "dynamo-frame cache",
        ("compiled code",),
    ),
    "a relation that is not guarded": (
        lambda drops, _: CODE not in drops,
        {"changed": [change(guards=("batch is an int",))], "broken": ["4 <= batch"]},
        "dynamo-guards",
        ("compiled code",),
    ),
    "a generator": (
        lambda drops, _: CODE not in drops,
        {"changed": [change("random state")], "drawn": ["python"]},
        "rng",
        ("compiled code",),
    ),
    "a leak": (
        lambda drops, _: True,
        {"leaked": ["grad_mode"]},
        "autograd",
        (),
    ),
    "another leak": (lambda drops, _: True, {"leaked": ["default_dtype"]}, "process state", ()),
    "beyond every layer": (lambda drops, _: True, {}, "process state", ()),
    "nothing changed": (
        lambda drops, _: CODE not in drops,
        {"changed": [change("values")]},
        "dynamo-frame cache",
        ("compiled code",),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_layer_is_named(name: str) -> None:
    shows, seen, layer, cure = CASES[name]
    found = located(shows, seen)
    assert (found.layer, found.cure) == (layer, cure)
    assert found.why


def test_the_first_back_end_is_found_and_experiments_run_there() -> None:
    found = located(lambda drops, backend: backend != "cheap" and CODE not in drops, backend=2)
    assert found.backend == "middle"
    assert found.ladder == (
        ("cheap", "cured"),
        ("middle", "still shows"),
        ("dear", "still shows"),
    )


def test_disk_caches_are_dropped_only_where_there_are_any() -> None:
    found = located(lambda drops, _: CODE not in drops, disk=False)
    assert {name for trial in found.trials for name in trial.dropped} == {
        "automatic-dynamic",
        "compiled code",
    }


def test_what_is_wrong_without_history_is_not_blamed_on_what_is_retained() -> None:
    found = located(lambda drops, _: True, verdict="stateless")
    assert found.layer == "dynamo tracing"
    assert found.trials == ()
    assert found.establishing is None


def test_steps_from_the_establishing_to_the_exposing_one_are_told() -> None:
    found = located(lambda drops, _: CODE not in drops, {"compiled_at": 0})
    assert (found.establishing, found.exposing) == (0, EXPOSING)
    assert [line.split()[0] for line in found.between] == ["0", "1", "2"]
    anew = located(lambda drops, _: CODE not in drops, {"compiled_at": EXPOSING})
    assert anew.establishing == 0


def test_other_options_are_tried_for_reports_only() -> None:
    assert located(lambda drops, _: CODE not in drops).settings == ()
    found = located(lambda drops, _: CODE not in drops, thorough=True)
    assert ("cache=memory", "still shows") in found.settings
    assert len(found.settings) == 4
    assert [name for name, _ in found.ladder] == ["cheap", "middle", "dear"]


def test_an_adapter_that_cannot_inspect_leaves_the_rest() -> None:
    sequence = Sequence(SubjectSpec("mlp", ("factor",)), Options(), STEPS)
    found = locate(
        encode(sequence),
        Alarm(EXPOSING, identity(), ()),
        laboratory(lambda drops, _: True),
        lambda data, position: {},
        VOCABULARY,
        (),
    )
    assert found.inspection == Inspection()
    assert found.layer == "process state"
    assert found.establishing == 0


def test_the_page_names_what_no_guard_mentions() -> None:
    found = located(lambda drops, _: CODE not in drops, {"changed": [change(), change("values")]})
    assert [touched.path for touched in found.unguarded] == ["factor.scale"]
    alarm = Alarm(EXPOSING, identity(), ())
    file = LocatedFile(None, {}, alarm, found)  # type: ignore[arg-type]
    page = "\n".join(page_lines(file))
    assert "layer: dynamo-guards (no guard mentions factor.scale)" in page
    assert "factor.scale: 1.0 -> 2.0   NO GUARD MENTIONS IT" in page
    assert "<- establishes" in page
    assert "<- exposes" in page
    assert "served by entry 0/0 of forward, compiled at step 0; its 9 guards hold" in page


def test_guards_beside_what_changed_come_first() -> None:
    guards = [
        ("TYPE_MATCH", "type of factor is the same Factor"),
        ("EQUALS_MATCH", "factor.scaled == 1"),
        ("TYPE_MATCH", "type of factor.scale is the same float"),
        ("EQUALS_MATCH", "self.factor.scale == 1"),
        ("EQUALS_MATCH", "other == 2"),
    ]
    found = located(lambda drops, _: CODE not in drops, {"changed": [change()], "guards": guards})
    assert found.telling_guards(9) == tuple(guards[at] for at in (2, 0, 1, 3, 4))
    assert found.telling_guards(4) == tuple(guards[at] for at in (2, 0, 1, 4))
    nothing = located(lambda drops, _: CODE not in drops, {"changed": [], "guards": guards})
    assert nothing.telling_guards(2) == tuple(guards[-2:])


def test_the_page_says_what_served_the_call() -> None:
    def page(seen: dict[str, Any]) -> str:
        found = located(lambda drops, _: CODE not in drops, {"changed": [change()], **seen})
        return "\n".join(page_lines(LocatedFile(GOLDEN, {}, Alarm(0, identity(), ()), found)))

    anew = page({"compiled_at": EXPOSING})
    assert "compiled anew as entry 0/0 of forward; its 9 guards hold" in anew
    none = page({"compiled_at": -1, "entry": "", "frame": ""})
    assert "no compiled code served the exposing call" in none
    for text in (anew, none):
        assert "NO GUARD MENTIONS IT" not in text
        assert "factor.scale: 1.0 -> 2.0" in text
    assert "relied on 4 <= batch, which does not hold" in page({"broken": ["4 <= batch"]})


def test_relations_that_hold_no_more_are_named() -> None:
    found = located(lambda drops, _: CODE not in drops, {"broken": ["4 <= batch"]})
    assert "4 <= batch" in found.why


def test_the_layer_goes_into_the_reproducer_when_asked(tmp_path: Path) -> None:
    golden = load(GOLDEN)
    file = tmp_path / "bug.rondo"
    save(golden, file)
    found = located(lambda drops, _: CODE not in drops)
    assert golden.layer == "" != found.layer
    save_layer(file, found)
    assert load(file) == replace(golden, layer=found.layer)
    plain = tmp_path / "plain.seq"
    plain.write_bytes(golden.data)
    with pytest.raises(LocateError, match="plain sequence"):
        save_layer(plain, found)
