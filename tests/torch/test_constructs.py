"""Every construct keeps the promises that sequences rely on: shape, reach, repeatability, guards.

Discovery parametrises the tests, so a new file is under test as soon as it exists.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from rondo.frameworks.torch.adapter import TorchFramework
from rondo.frameworks.torch.ambient import AmbientSnapshot, seed_everything
from rondo.oracle.result import Verdict
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import CALL_CHOICES, Call, Change, Options, Sequence, Step, SubjectSpec
from rondo.sequences.vocabulary import InputSpec, Vocabulary
from rondo.subjects.namespace import NamespaceSnapshot
from rondo.subjects.registry import discover
from rondo.subjects.target import Action, Construct

PACKAGE = "rondo.frameworks.torch.constructs"
FOUND = discover(PACKAGE, "CONSTRUCT", Construct)
FEATURES = 6
SHAPES = ((2, FEATURES), (1, 5, FEATURES))
DTYPES = (torch.float32, torch.bfloat16)
KINDS = {
    "py-object guard",
    "py-object guard (identity)",
    "module guard",
    "alias guard",
    "ambient mode",
    "dynamic specialisation",
    "compile-cache key",
    "baked trace-time state",
    "backward artefact",
    "subclass metadata",
    "leaked process state",
    "cudagraph memory",
}
RAISING = {"raised_midway": IndexError}
"""Constructs that some changes make raise, and with what: that is their subject."""

TRANSPARENT = {
    "checkpointed": {"set_enabled"},
    "fed_back": {"copy_carried"},
    "unused_size": {"set_compared"},
}
"""Changes that nobody should see: memory traded for time, a copy, a comparison without effect."""

ACCUMULATING = {"accumulated_gradient", "grad_presence"}
"""Constructs that are about the gradients which earlier calls have left."""

ON_OTHER_BACKENDS = {
    "custom_operator",
    "float_as_bound",
    "float_as_delta",
    "float_as_eps",
    "input_alias",
    "integer_input",
    "item_scalar",
    "tied_parameters",
    "updated_parameter",
    "view_of_buffer",
}
"""Constructs whose state is lost below Dynamo: never an alarm on `eager`, and yet not guarded."""


@pytest.fixture(params=list(FOUND))
def construct(request: pytest.FixtureRequest) -> Iterator[Construct]:
    """Yield each construct; put back what its changes touch, as the runner does after an arm."""
    target, module = FOUND[request.param]
    torch.compiler.reset()
    namespace, ambient = NamespaceSnapshot([module]), AmbientSnapshot()
    yield target
    torch.compiler.reset()
    namespace.restore()
    ambient.restore()


def build(construct: Construct, *, seed: int = 0) -> nn.Module:
    seed_everything(seed)
    module: nn.Module = construct.build(FEATURES)
    return module


@contextmanager
def life(construct: Construct) -> Iterator[nn.Module]:
    """Build a module and afterwards put back what the calls and changes of its life touched."""
    namespace, ambient = NamespaceSnapshot([FOUND[construct.name][1]]), AmbientSnapshot()
    try:
        yield build(construct)
    finally:
        namespace.restore()
        ambient.restore()


def arguments(
    construct: Construct, shape: tuple[int, ...], dtype: torch.dtype = torch.float32
) -> list[object]:
    """Return hidden, which wants a gradient, and the construct's own inputs: always the same."""
    generator = torch.Generator().manual_seed(3)
    # A change may have set another default device, so the device is named throughout.
    hidden = torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu") * 3
    own = [own_input(spec, shape[0], dtype, generator) for spec in construct.inputs]
    return [hidden.to(dtype).requires_grad_(), *own]


def own_input(
    spec: InputSpec, batch: int, dtype: torch.dtype, generator: torch.Generator
) -> object:
    shape = tuple(batch if size == "batch" else int(size) for size in spec.shape)
    if spec.kind == "number":
        return 0.5
    if spec.kind == "integer":
        return 3
    if spec.kind == "list":
        return []
    if spec.kind == "index":
        return torch.randint(0, spec.high, shape, generator=generator, device="cpu")
    values = torch.randn(shape, generator=generator, dtype=torch.float64, device="cpu")
    return values < 0 if spec.kind == "bool" else values.to(dtype)


def outputs_of(result: object) -> tuple[object, ...]:
    return result if isinstance(result, tuple) else (result,)


def frozen(value: object) -> object:
    """Return a value that compares by content; NaNs count as equal."""
    if isinstance(value, Tensor):
        return (str(value.dtype), tuple(value.shape), repr(value.detach().tolist()))
    if isinstance(value, dict):
        return {key: frozen(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [frozen(item) for item in value]
    return (type(value).__name__, repr(value))


def seen(
    construct: Construct, module: nn.Module, call: Callable[..., object] | None = None
) -> object:
    """Call once, with a backward, and return all that a user could see of it."""
    inputs = arguments(construct, SHAPES[0])
    for parameter in module.parameters():
        if construct.name not in ACCUMULATING:
            parameter.grad = None
    torch.manual_seed(1)
    try:
        outputs = outputs_of((module if call is None else call)(*inputs))
    except tuple(RAISING.values()) as error:
        return type(error).__name__
    hidden = outputs[0]
    assert isinstance(hidden, Tensor)
    if hidden.requires_grad:
        weights = torch.linspace(0.5, 1.5, hidden.numel(), dtype=hidden.dtype, device="cpu")
        (hidden.reshape(-1) * weights).sum().backward()
    gradients = [inputs[0].grad, *(parameter.grad for parameter in module.parameters())]  # type: ignore[attr-defined]
    return frozen([outputs, inputs, gradients, list(module.buffers()), observed(construct, module)])


def observed(construct: Construct, module: nn.Module) -> object:
    return None if construct.observer is None else frozen(construct.observer(module))


def all_changes(construct: Construct) -> list[tuple[Action, int]]:
    return [(action, value) for action in construct.actions for value in range(action.spec.values)]


def test_a_construct_is_named_after_its_file_and_described() -> None:
    for name, (construct, module) in FOUND.items():
        assert module.__name__ == f"{PACKAGE}.{name}"
        assert construct.doc
        assert construct.doc != name
        assert construct.kind in KINDS, f"{name} is of the unknown kind {construct.kind!r}"
        assert construct.actions, f"{name} has no change"
        for action in construct.actions:
            assert action.spec.doc, f"{name}.{action.spec.name} has no docstring"


def test_every_kind_has_a_construct() -> None:
    assert {construct.kind for construct, _ in FOUND.values()} == KINDS


def test_the_table_in_the_documentation_is_complete() -> None:
    text = (Path(__file__).parents[2] / "docs" / "constructs.md").read_text()
    for name, (construct, _) in FOUND.items():
        row = next((line for line in text.splitlines() if line.startswith(f"| `{name}` |")), "")
        assert row, f"docs/constructs.md lacks {name}"
        for action in construct.actions:
            assert f"`{action.spec.name}`" in row, f"the row of {name} lacks {action.spec.name}"
        assert construct.kind in row


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_forward_keeps_shape_and_dtype(
    construct: Construct, shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    module = build(construct)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with mode():
            hidden = outputs_of(module(*arguments(construct, shape, dtype)))[0]
        assert isinstance(hidden, Tensor)
        assert hidden.shape == shape
        assert hidden.dtype == dtype


def test_every_change_runs_and_the_forward_after_it_keeps_the_shape(construct: Construct) -> None:
    for action, value in all_changes(construct):
        module = build(construct)
        module(*arguments(construct, SHAPES[0]))
        action.apply(module, value)
        for shape in SHAPES:
            try:
                result = module(*arguments(construct, shape))
            except tuple(RAISING.values()):
                assert construct.name in RAISING, f"{action.spec.name}({value}) raises"
                continue
            hidden = outputs_of(result)[0]
            assert hidden.shape == shape, f"after {action.spec.name}({value})"
            assert hidden.isfinite().all(), f"after {action.spec.name}({value})"


def lived(construct: Construct, *changes: tuple[Action, int] | None) -> list[object]:
    """Return what each call of a life shows: one at first, and one after each change (or none)."""
    with life(construct) as module:
        shown = [seen(construct, module)]
        for change in changes:
            if change is not None:
                change[0].apply(module, change[1])
            shown.append(seen(construct, module))
    return shown


def test_every_change_can_be_seen_by_a_user(construct: Construct) -> None:
    """Alone, or next to one other change, each change alters what some later call shows."""
    others: list[tuple[Action, int] | None] = [None, *all_changes(construct)]

    def alters(change: tuple[Action, int]) -> bool:
        return any(
            lived(construct, *first) != lived(construct, *second)
            for other in others
            for first, second in (
                ((other, change), (other, None)),
                ((change, other), (None, other)),
            )
        )

    blind = {
        action.spec.name
        for action in construct.actions
        if not any(alters((action, value)) for value in range(action.spec.values))
    }
    assert blind == TRANSPARENT.get(construct.name, set())


def test_equal_seeds_show_the_same_and_changes_do_not_outlive_a_life(construct: Construct) -> None:
    changes = random.Random(0).sample(all_changes(construct), k=min(4, len(all_changes(construct))))
    first = lived(construct, *changes)
    assert lived(construct, *changes) == first
    assert lived(construct) == first[:1]


def test_many_calls_and_changes_stay_tame(construct: Construct) -> None:
    module, rng = build(construct), random.Random(1)
    for _ in range(20):
        try:
            result = module(*arguments(construct, SHAPES[0]))
        except tuple(RAISING.values()):
            assert construct.name in RAISING
        else:
            hidden = outputs_of(result)[0]
            assert hidden.isfinite().all()
            assert hidden.abs().max() < 1000
        action, value = rng.choice(all_changes(construct))
        action.apply(module, value)


def test_observing_changes_nothing(construct: Construct) -> None:
    if construct.observer is None:
        return
    with life(construct) as module:
        shown = []
        for _ in range(3):
            assert observed(construct, module) == observed(construct, module)
            shown.append(seen(construct, module))
    observer, construct.observer = construct.observer, lambda module: {}
    try:
        unwatched = lived(construct, None, None)
    finally:
        construct.observer = observer
    for with_observer, without in zip(shown, unwatched, strict=True):
        assert with_observer[:-1] == without[:-1]  # type: ignore[index]


def test_compiled_on_the_eager_back_end_equals_eager(construct: Construct) -> None:
    expected = lived(construct)
    with life(construct) as module:
        assert [seen(construct, module, torch.compile(module, backend="eager"))] == expected
        torch.compiler.reset()


# ---------------------------------------------------------------------------- three arms, for real


@pytest.fixture(scope="module")
def framework() -> TorchFramework:
    return TorchFramework()


@pytest.fixture(scope="module")
def vocabulary(framework: TorchFramework) -> Vocabulary:
    return framework.vocabulary()


def sequence_of(construct: Construct, rng: random.Random, *, changes: int) -> Sequence:
    """Return calls that mostly repeat each other, with the construct's own changes in between."""
    usual = Call(backward=1, inputs_grad=1, grad=rng.choice((0, 0, 1)), sizes=(0,))
    steps: list[Step] = [usual]
    for _ in range(changes):
        action = rng.randrange(len(construct.actions))
        value = rng.randrange(construct.actions[action].spec.values)
        steps.append(Change(construct.name, action, value))
        number = rng.randrange(len(CALL_CHOICES["number"]))
        integer = rng.randrange(len(CALL_CHOICES["integer"]))
        sizes = (rng.choice((0, 0, 0, 1)),)
        steps.append(
            Call(
                backward=1,
                inputs_grad=1,
                grad=usual.grad,
                number=number,
                integer=integer,
                sizes=sizes,
            )
        )
    return Sequence(SubjectSpec("identity", (construct.name,)), Options(), tuple(steps))


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, (construct, _) in FOUND.items()
        if construct.guarded or name in ON_OTHER_BACKENDS
    ],
)
def test_what_is_guarded_raises_no_alarm_on_the_eager_back_end(
    name: str, framework: TorchFramework, vocabulary: Vocabulary
) -> None:
    construct, _ = FOUND[name]
    sequence = sequence_of(construct, random.Random(0), changes=6)
    result = execute(
        encode(sequence), framework, settings=Settings(masked_every=0), vocabulary=vocabulary
    )
    assert result.verdict == Verdict.AGREE.value, result.alarms
    assert result.raised == 0


EXPOSURES = {
    "builtin_name": ("shadow_max", 0),
    "class_method": ("rebind_on_class", 0),
    "autocast_object": ("set_enabled", 0),
    "signed_zero": ("set_zero", 0),
    "tuple_content": ("replace_numbers", 1),
    "shadowed_layer": ("shadow", 1),
    "container_alias": ("share_tables", 0),
}
"""On torch 2.13 one call, this change and the same call are a stateful bug."""


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="bugs come and go")
@pytest.mark.parametrize("name", list(EXPOSURES))
def test_the_change_that_exposes_a_live_bug_raises_the_alarm(
    name: str, framework: TorchFramework, vocabulary: Vocabulary
) -> None:
    construct, _ = FOUND[name]
    change, value = EXPOSURES[name]
    action = [action.spec.name for action in construct.actions].index(change)
    call = Call(backward=1, inputs_grad=1, sizes=(0,))
    steps = (call, Change(name, action, value), call)
    sequence = Sequence(SubjectSpec("identity", (name,)), Options(), steps)
    result = execute(encode(sequence), framework, vocabulary=vocabulary)
    assert result.verdict == Verdict.STATEFUL.value
    assert result.alarms[0].step == 2
    assert not construct.guarded
