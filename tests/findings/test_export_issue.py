"""An issue answers, by its form, everything that a report of a fuzzer is asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rondo.findings.export import Exported
from rondo.findings.export_check import Ran
from rondo.findings.export_issue import Issue, issue_text, named, title
from rondo.findings.locate import Inspection, Located, Touched, Trial
from rondo.oracle.result import Alarm, Difference, Identity

SEEN = Inspection(
    frame="forward",
    entry="0/0",
    compiled_at=0,
    since=0,
    held=True,
    count=42,
    guards=(("TYPE_MATCH", "type of knobs is the same Knobs"),),
    changed=(Touched("file.Knobs.shift", "state", "absent", "2.0"),),
    errors=(1e-8, 1.75, 0.0),
)


def issue(
    *, effect: str = "value", verdict: str = "stateful", seen: Inspection = SEEN, **located: Any
) -> Issue:
    difference = Difference("output[0]", effect, "float32[1] [1.75]", "float32[1] [0]", "")
    alarm = Alarm(2, Identity(verdict, effect, "eager", "output", "hide_shift"), (difference,))
    usual: dict[str, Any] = {
        "layer": "dynamo-guards",
        "why": "no guard mentions file.Knobs.shift",
        "cure": ("compiled code",),
        "backend": "eager",
        "ladder": (("eager", "still shows"), ("aot_eager", "still shows")),
        "trials": (
            Trial(("automatic-dynamic",), "still shows"),
            Trial(("compiled code",), "cured"),
        ),
        "establishing": 0,
        "exposing": 2,
        "between": ("0  call(batch=1)", "1  knob.hide_shift(0)", "2  call(batch=1)"),
        "settings": (("dynamic=true", "still shows"),),
    }
    return Issue(
        "torch",
        Exported("import torch\nprint(1)\n", "runs", {"COMPILER_OFF": "1"}),
        Ran(1, "BUG: retained off by 1.8\n"),
        alarm,
        Located(**{**usual, **located}, inspection=seen),
        {"torch": "2.13.0", "python": "3.11.7"},
    )


@pytest.mark.parametrize(
    "answer",
    [
        "import torch\nprint(1)\n```",
        "BUG: retained off by 1.8",
        "`COMPILER_OFF=1`",
        "tolerances: the defaults of `torch.testing.assert_close`",
        "no indices (argmax, sort, topk) are compared: the program makes none",
        "float64 eager reference, worst element: eager 1e-08, compiled 1.75",
        "`torch._dynamo.utils.same(eager, compiled, float64)` calls them different",
        "`torch._inductor.config.fallback_random = True`",
        '| `backend="aot_eager"` | still shows |',
        "| `dynamic=true` | still shows |",
        "| compiled code dropped before the exposing call | cured |",
        "- step 0: `call(batch=1)` (establishes)",
        "- step 2: `call(batch=1)` (exposes)",
        "`file.Knobs.shift`: absent -> 2.0; **no guard mentions it**",
        "- TYPE_MATCH `type of knobs is the same Knobs`",
        "Expected `output[0]`: `float32[1] [1.75]`. Got: `float32[1] [0]`.",
        "torch: 2.13.0\npython: 3.11.7",
        "label: `topic: fuzzer`",
    ],
)
def test_each_question_has_its_answer(answer: str) -> None:
    assert answer in issue_text(issue())


def test_the_title_names_what_is_not_guarded() -> None:
    assert title(issue()) == (
        "torch.compile: wrong result on a later call, no guard on file.Knobs.shift"
    )
    assert title(issue(seen=Inspection())) == (
        "torch.compile: wrong result on a later call, stale dynamo-guards"
    )
    assert title(issue(verdict="stateless")) == "torch.compile: wrong result (eager)"


def test_what_changed_has_the_name_that_it_has_in_the_script() -> None:
    made = replace(issue(), exported=Exported("class Knobs: pass\nKnobs.shift = 2.0\n", "runs"))
    assert title(made) == "torch.compile: wrong result on a later call, no guard on Knobs.shift"
    assert "- `Knobs.shift`: absent -> 2.0; **no guard mentions it**" in issue_text(made)
    for script in ("import file\nfile.Knobs.shift = 2.0", "knobs.shift = 2.0"):
        assert named("file.Knobs.shift", script) == "file.Knobs.shift"
    assert named("max", "max") == "max"
    assert named("file.max", 'globals()["max"] = min') == "max"


def test_indices_in_the_program_are_told() -> None:
    made = issue()
    text = issue_text(replace(made, exported=Exported("x.topk(2)\nsort(y)\n", "runs")))
    assert "the program uses sort, topk;" in text


def test_what_was_not_measured_says_so() -> None:
    text = issue_text(issue(effect="dtype", seen=Inspection()))
    assert "float64 reference: does not apply to this effect (dtype)" in text
    assert "served by entry" not in text
    assert "float64 reference: not a float" in issue_text(issue(seen=Inspection()))


def test_what_served_the_call_is_told() -> None:
    stale = issue_text(issue(seen=replace(SEEN, held=False)))
    assert "served by entry `0/0` of `forward`, compiled at step 0; its 42 guards do not" in stale
    anew = issue_text(issue(seen=replace(SEEN, compiled_at=2)))
    assert "compiled anew, as entry `0/0` of `forward`; its 42 guards hold." in anew
    assert "`file.Knobs.shift`: absent -> 2.0\n" in anew
    none = issue_text(issue(seen=replace(SEEN, frame="", entry="", compiled_at=-1, guards=())))
    assert "No compiled code served the call." in none
    assert "`file.Knobs.shift`: absent -> 2.0\n" in none
    assert "Its guards nearest" not in none
    relation = issue_text(issue(seen=replace(SEEN, broken=("4 <= hidden.size()[0]",))))
    assert "relied on `4 <= hidden.size()[0]`, which does not hold" in relation
