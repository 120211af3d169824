"""What is said of a stale entry: who compiled it, what it is guarded on, what changed since."""

from __future__ import annotations

from typing import Any

import pytest

from rondo.findings.locate import GUARDABLE, Inspection
from rondo.frameworks.base import Arm
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch.guards import Guard, Names, mentions, readable
from rondo.frameworks.torch.locate import LAYERS
from rondo.frameworks.torch.locate_picture import Painter
from rondo.sequences.step import Change
from rondo.sequences.vocabulary import COMPILER
from rondo.sequences.writer import Writer

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()


def inspect(writer: Writer) -> Inspection:
    sequence = writer.sequence()
    return Inspection.from_data(FRAMEWORK.inspect(sequence, len(sequence.steps) - 1))


def on(*constructs: str, **options: str) -> Writer:
    return Writer(VOCABULARY, "identity", *constructs, backend="eager", **options)


def test_layers_are_dropped_by_changes_that_there_are() -> None:
    actions = {action.name: action for action in VOCABULARY.targets_by_name[COMPILER].actions}
    for layer in LAYERS:
        assert layer.drop
        for name, value in layer.drop:
            assert value < actions[name].values


def test_a_name_that_no_guard_mentions() -> None:
    seen = inspect(on("class_attribute").call().change("class_attribute", "hide_shift").call())
    assert (seen.frame, seen.compiled_at, seen.since, seen.held) == ("forward", 0, 0, True)
    (touched,) = seen.changed
    assert touched.path == "class_attribute.Knobs.shift"
    assert (touched.before, touched.after, touched.guards) == ("absent", "2.0", ())
    assert ("TYPE_MATCH", "type of class_attribute.knobs is the same Knobs") in seen.guards


def test_a_builtin_that_a_global_hides() -> None:
    seen = inspect(on("builtin_name").call().change("builtin_name", "shadow_abs").call())
    (touched,) = seen.changed
    assert touched.path == "builtin_name.abs"
    assert touched.guards == ()


def test_an_identity_that_only_its_type_is_checked_of() -> None:
    writer = on("object_identity").call().change("object_identity", "move_cursor", 1).call()
    seen = inspect(writer.change("object_identity", "move_cursor", 0).call())
    assert (seen.compiled_at, seen.since) == (2, 2)
    (touched,) = seen.changed
    assert touched.path == "object_identity.ring.cursor"
    assert touched.guards == ("type of object_identity.ring.cursor is the same Node",)


def test_two_arguments_that_became_one() -> None:
    seen = inspect(on("list_alias").call().call(alias="same"))
    touched = {each.path: each for each in seen.changed}
    relation = touched["first and second"]
    assert (relation.before, relation.after, relation.guards) == ("different", "the same", ())


@pytest.mark.parametrize(
    ("construct", "action", "path"),
    [
        ("metaclass_attribute", "set_gain", "metaclass_attribute.family.__class__.gain"),
        ("abstract_class", "register", "abstract_class.kind.registered"),
    ],
)
def test_what_a_class_does_not_show_by_itself(construct: str, action: str, path: str) -> None:
    """A metaclass's attributes, and what was registered with an abstract class."""
    seen = inspect(on(construct).call().change(construct, action).call())
    (touched,) = seen.changed
    assert (touched.path, touched.guards) == (path, ())


def test_where_in_one_storage_two_tensors_lie() -> None:
    name = "view_of_buffer"
    both = f"storage of {name}.bank and {name}.row"
    moved = inspect(on(name).call().change(name, "move_view").call())
    apart = next(each for each in moved.changed if each.path.startswith("storage of"))
    assert apart.path == f"{both}.offset"
    assert (apart.before, apart.after, apart.guards) == ("0 apart", "4 apart", ())
    parted = inspect(on(name).call().change(name, "cut_loose").call())
    shared = next(each for each in parted.changed if each.path.startswith("storage of"))
    assert (shared.path, shared.after) == (both, "absent")


def test_a_generator_that_went_on() -> None:
    seen = inspect(on("random_object").call().call())
    (touched,) = seen.changed
    assert (touched.path, touched.kind) == ("random_object.source", "random state")
    assert touched.kind not in GUARDABLE


def test_a_guarded_change_is_compiled_anew() -> None:
    seen = inspect(on("float_attribute").call().change("float_attribute", "set_factor").call())
    assert seen.compiled_at == 2
    assert [touched.path for touched in seen.changed] == ["float_attribute.factor"]


def test_the_entry_that_served_is_named_though_another_was_made_later() -> None:
    back = inspect(on("float_attribute").call(grad="no_grad").call().call(grad="no_grad"))
    assert (back.entry, back.compiled_at, back.since) == ("0/0", 0, 0)


def test_a_call_that_raises_while_it_compiles_was_served_by_no_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch._dynamo.output_graph import OutputGraph

    compile_graph = OutputGraph.call_user_compiler

    def failing(self: Any, *rest: Any, **named: Any) -> Any:
        made.append(None)
        if len(made) > 1:
            raise RuntimeError("the back end fails")
        return compile_graph(self, *rest, **named)

    made: list[None] = []
    monkeypatch.setattr(OutputGraph, "call_user_compiler", failing)
    seen = inspect(on("float_attribute").call().change("float_attribute", "set_factor").call())
    assert len(made) > 1
    assert (seen.entry, seen.compiled_at, seen.count) == ("", -1, 0)
    assert [touched.path for touched in seen.changed] == ["float_attribute.factor"]


def test_beyond_the_recompile_limit_no_entry_serves() -> None:
    writer = on("float_attribute").compiler("recompile_limit", 0).call()
    seen = inspect(writer.change("float_attribute", "set_factor").call())
    assert (seen.entry, seen.compiled_at) == ("", -1)


def test_guards_of_every_frame_that_ran_count() -> None:
    seen = inspect(
        on("graph_break", "class_attribute").call().change("class_attribute", "hide_shift").call()
    )
    touched = {each.path: each.guards for each in seen.changed}
    assert touched["class_attribute.Knobs.shift"] == ()
    assert "len(graph_break.history) == 1" in touched["graph_break.history"]


def test_a_relation_that_a_trace_relied_on_and_nobody_guards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from torch._dynamo.guards import GuardBuilder

    guard = GuardBuilder.SHAPE_ENV
    calls = on("size_branch").call(batch=4).call(batch=8).call(batch=2)
    assert inspect(calls).broken == ()

    def unguarded(self: Any, *rest: Any) -> None:
        self.add_python_lambda_leaf_guard_to_root = lambda *rest, **named: None
        guard(self, *rest)
        del self.add_python_lambda_leaf_guard_to_root

    monkeypatch.setattr(GuardBuilder, "SHAPE_ENV", unguarded)
    seen = inspect(calls)
    assert (seen.compiled_at, seen.held) == (1, True)
    assert any(text.startswith("4 <= ") for text in seen.broken)


def test_floats_are_held_against_float64() -> None:
    seen = inspect(on("class_attribute").call().change("class_attribute", "hide_shift").call())
    eager, retained, equal = seen.errors
    assert eager < 1e-6 < 1 < retained
    assert equal == 0.0
    assert inspect(on("float_attribute").call().call()).errors == ()


def test_a_mode_that_a_call_leaves_behind_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from torch._dynamo.eval_frame import OptimizedModule

    call = OptimizedModule.__call__

    def forgetting(self: Any, *arguments: Any) -> Any:
        result = call(self, *arguments)
        torch.set_default_dtype(torch.float64)
        return result

    monkeypatch.setattr(OptimizedModule, "__call__", forgetting)
    assert inspect(on("float_attribute").call().call()).leaked == ("default_dtype",)
    assert torch.get_default_dtype() is torch.float32


UNSEEN = {
    ("accumulated_gradient", "halve_gradient"): "there is none before a backward",
    ("accumulated_gradient", "step"): "there is none before a backward",
    ("backward_hook", "remove_hooks"): "there are none at first",
    ("forward_hook", "remove_hooks"): "there are none at first",
    ("module_dict", "drop_extra"): "there is none at first",
    ("parametrization", "remove"): "there is none at first",
    ("custom_operator", "register_factor"): "held by torch's registry of operators",
    ("custom_operator", "register_dtype"): "held by torch's registry of operators",
}
"""Changes that leave no trace in what a forward reads of Python."""


def test_every_change_of_every_construct_shows_in_the_picture() -> None:
    unseen = set()
    with FRAMEWORK.session(on("float_attribute").call().sequence()):
        for target in VOCABULARY.constructs:
            for number, action in enumerate(target.actions):
                operands = range(action.values)
                if not any(_seen(target.name, number, value) for value in operands):
                    unseen.add((target.name, action.name))
    assert unseen == set(UNSEEN)


def _seen(name: str, number: int, value: int) -> bool:
    """Whether the picture of a construct differs after a change."""
    adapter: Any = FRAMEWORK
    sequence = on(name).call().sequence()
    with FRAMEWORK.arm(sequence, Arm.EAGER) as running:
        program: Any = running
        program.invoke(sequence.steps[0], compiled=False)
        painter = Painter({name: adapter.constructs[name][1]})
        before = painter.paint({name: program.module.tail[0]}, {})
        program.change(Change(name, number, value))
        after = painter.paint({name: program.module.tail[0]}, {})
    keys = {path: fact.key for path, fact in before.items()}
    return keys != {path: fact.key for path, fact in after.items()}


def test_sources_are_written_in_the_programs_words() -> None:
    names = Names(("knob", "lever"), ("x", "y"), {})
    root = "L['self']._modules['tail']._modules['1']"
    assert names.path(f"{root}.ring.cursor") == ("self", "lever", "ring", "cursor")
    assert names.path(f"{root}._parameters['weight']") == ("self", "lever", "weight")
    assert names.path("L['inputs'][1]") == ("input", "y")
    assert names.path("G['__import_rondo_dot_constructs_dot_knob'].gain") == (
        "file",
        "knob",
        "gain",
    )
    assert names.path("G['__builtins_dict___2']['abs']") == ("builtins", "abs")
    assert readable(f"{root}._buffers['count'] == 3", names) == "lever.count == 3"
    assert (
        readable(f"___check_type_id({root}.ring, 140), type=<class 'a.b.Ring'>", names)
        == "type of lever.ring is the same Ring"
    )


def test_a_type_in_a_source_is_the_class_that_it_means() -> None:
    class Base:
        pass

    class Derived(Base):
        pass

    names = Names((), (), {"L": {"self": Derived()}})
    path = names.path("type(L['self']).__mro__[1].__dict__['shift']")
    assert path[-2:] == ("Base", "shift")
    assert names.path("type(L['missing']).x")[-1] == "x"


def test_a_relation_is_mentioned_by_guards_on_both_sides_only() -> None:
    relation = ("input", "first and second")
    assert not mentions(Guard("TYPE_MATCH", "type of first", ("input", "first")), relation)
    assert mentions(Guard("OBJECT_ALIASING", "first is second"), relation)
    assert mentions(Guard("TENSOR_MATCH", "", ("input", "x")), ("input", "x", "size"))
    assert mentions(Guard("DICT", "", ("self", "a", "b", "c")), ("self", "a", "b"))
    assert not mentions(Guard("DICT", "", ("self", "a")), ("self", "a", "b"))
