"""Every architecture keeps the promises that sequences rely on, whatever a call looks like.

Discovery parametrises the tests, so a new file is under test as soon as it exists.
"""

from __future__ import annotations

import copy
import itertools
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from rondo.sequences.vocabulary import BATCH, InputSpec, Schema, name_id
from rondo.subjects.registry import discover
from rondo.subjects.target import Action, Architecture

ARCHITECTURES = {
    name: architecture
    for name, (architecture, _) in discover(
        "rondo.frameworks.torch.architectures", "ARCHITECTURE", Architecture
    ).items()
}
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "architectures.md"
DTYPES = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
SLOWEST_FORWARD = 0.010
"""Seconds. The aim is 0.002; a loaded machine gets five times that."""


@pytest.fixture(params=list(ARCHITECTURES))
def architecture(request: pytest.FixtureRequest) -> Architecture:
    return ARCHITECTURES[request.param]


@pytest.fixture(autouse=True)
def _isolated() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    torch.compiler.reset()
    yield
    torch.compiler.reset()
    torch.set_default_dtype(torch.float32)
    torch.set_num_threads(threads)


def build(architecture: Architecture, *, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    module: nn.Module = architecture.build()
    return module


def usual_sizes(schema: Schema) -> dict[str, int]:
    return {dimension.name: dimension.sizes[0] for dimension in schema.dimensions}


def sampled_sizes(schema: Schema, *, count: int = 16) -> list[dict[str, int]]:
    """Return the extreme combinations and some more of them, the same ones in every run."""
    names = [dimension.name for dimension in schema.dimensions]
    everything = list(itertools.product(*(dimension.sizes for dimension in schema.dimensions)))
    extreme = [min(everything), max(everything)]
    sampled = random.Random(0).sample(everything, min(count, len(everything)))
    return [dict(zip(names, sizes, strict=True)) for sizes in (*extreme, *sampled)]


def draw(
    spec: InputSpec, sizes: dict[str, int], *, dtype: torch.dtype, generator: torch.Generator
) -> Tensor:
    shape = [sizes[size] if isinstance(size, str) else size for size in spec.shape]
    if spec.kind == "float":
        return torch.randn(shape, generator=generator).to(dtype)
    assert spec.kind in ("index", "bool"), f"these tests cannot draw a {spec.kind}"
    values = torch.randint(spec.high, shape, generator=generator)
    return values.bool() if spec.kind == "bool" else values


def inputs(
    architecture: Architecture,
    sizes: dict[str, int] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    schema = architecture.schema
    return [
        draw(spec, sizes or usual_sizes(schema), dtype=dtype, generator=generator)
        for spec in schema.inputs
    ]


def differentiable(given: list[Tensor]) -> list[Tensor]:
    """Ask for the gradients of all inputs that can have one."""
    return [value.requires_grad_(value.is_floating_point()) for value in given]


def state(module: nn.Module) -> dict[str, Tensor]:
    """Return copies of all parameters and buffers, the non-persistent ones too."""
    named = itertools.chain(module.named_parameters(), module.named_buffers())
    return {name: tensor.detach().clone() for name, tensor in named}


def assert_same(first: object, second: object) -> None:
    torch.testing.assert_close(first, second, rtol=0, atol=0, equal_nan=True)


def trace(architecture: Architecture, change: tuple[Action, int] | None) -> str:
    """Return all that can be seen of six calls, four before `change` and two after it.

    They alternate: one in training mode with all inputs, one in evaluation without the optional
    ones. A step of gradient descent follows each.
    """
    module = build(architecture)
    seen: list[object] = []
    torch.manual_seed(1)
    for index in range(6):
        if index == 4 and change is not None:
            action, value = change
            action.apply(module, value)
        if architecture.observer is not None:
            seen.append(architecture.observer(module))
        training = index % 2 == 0
        given = [
            None if spec.optional and not training else value
            for spec, value in zip(
                architecture.schema.inputs,
                differentiable(inputs(architecture, seed=10 + index)),
                strict=True,
            )
        ]
        output = module.train(training)(*given)
        output.square().mean().backward()
        left = {name: tensor.tolist() for name, tensor in state(module).items()}
        gradients = [p.grad.tolist() for p in module.parameters() if p.grad is not None]
        seen += [output.tolist(), output.stride(), left, gradients]
        torch.optim.SGD(module.parameters(), lr=0.1).step()
    return repr(seen)


def check_output(architecture: Architecture, output: Tensor, batch: int) -> None:
    assert isinstance(output, Tensor)
    assert output.is_floating_point()
    assert output.ndim >= 2
    assert output.shape[0] == batch
    assert output.shape[-1] == architecture.features
    assert output.isfinite().all()


def test_there_are_architectures_of_every_family() -> None:
    assert {"identity", "mlp", "cnn", "lstm", "transformer_encoder", "gpt_decoder"} <= set(
        ARCHITECTURES
    )


def test_no_two_names_share_an_id() -> None:
    assert len({name_id(name) for name in ARCHITECTURES}) == len(ARCHITECTURES)


def test_the_schema_starts_with_batch_and_names_only_its_dimensions(
    architecture: Architecture,
) -> None:
    declared = [dimension.name for dimension in architecture.schema.dimensions]
    used = {
        size for spec in architecture.schema.inputs for size in spec.shape if isinstance(size, str)
    }
    assert declared[0] == BATCH
    assert used == set(declared)
    assert architecture.doc
    assert all(action.spec.doc for action in architecture.actions)


def test_the_seed_determines_parameters_and_outputs(architecture: Architecture) -> None:
    first, second = build(architecture, seed=3), build(architecture, seed=3)
    assert_same(state(first), state(second))
    for training in (True, False):
        outputs = []
        for module in (first, second):
            torch.manual_seed(5)
            outputs.append(module.train(training)(*inputs(architecture)))
        assert_same(*outputs)
    assert_same(state(first), state(second))


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_every_combination_of_sizes_runs_and_keeps_the_contract(
    architecture: Architecture, training: bool
) -> None:
    module = build(architecture).train(training)
    for sizes in sampled_sizes(architecture.schema):
        given = inputs(architecture, sizes)
        before = copy.deepcopy(given)
        check_output(architecture, module(*given), sizes[BATCH])
        assert_same(given, before)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_optional_inputs_may_be_missing(architecture: Architecture, training: bool) -> None:
    module = build(architecture).train(training)
    specs = architecture.schema.inputs
    for missing in itertools.product((False, True), repeat=len(specs)):
        if any(gone and not spec.optional for gone, spec in zip(missing, specs, strict=True)):
            continue
        given = [
            None if gone else value
            for gone, value in zip(missing, inputs(architecture), strict=True)
        ]
        check_output(architecture, module(*given), usual_sizes(architecture.schema)[BATCH])


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("parameters", DTYPES, ids=str)
def test_inputs_and_parameters_of_any_dtype_run(
    architecture: Architecture, parameters: torch.dtype, training: bool
) -> None:
    module = build(architecture).to(parameters).train(training)
    batch = usual_sizes(architecture.schema)[BATCH]
    for dtype in DTYPES:
        check_output(architecture, module(*inputs(architecture, dtype=dtype)), batch)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_ambient_modes_run_one_after_another(architecture: Architecture, training: bool) -> None:
    """What a call under one mode leaves in the module must not stop a call under another one."""
    module = build(architecture).train(training)
    batch = usual_sizes(architecture.schema)[BATCH]
    given = inputs(architecture)
    with torch.inference_mode():
        check_output(architecture, module(*given), batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        try:
            check_output(architecture, module(*given), batch)
        except RuntimeError as error:
            # oneDNN has no bfloat16 LSTM for CPUs without the instructions: eager refuses too.
            if architecture.name != "lstm" or "could not create a primitive" not in str(error):
                raise
    with torch.no_grad():
        check_output(architecture, module(*given), batch)
    torch.set_default_dtype(torch.float64)
    check_output(architecture, module(*given), batch)


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_a_backward_pass_may_come_after_the_next_call(
    architecture: Architecture, training: bool
) -> None:
    module = build(architecture).train(training)
    trained = [p for p in module.parameters() if p.requires_grad]
    given = differentiable(inputs(architecture))
    first = module(*given)
    second = module(*given)
    (first.square().mean() + second.square().mean()).backward()
    module(*given).square().mean().backward()
    gradients = [tensor.grad for tensor in (*trained, *given) if tensor.grad is not None]
    assert gradients
    assert all(gradient.isfinite().all() for gradient in gradients)


def test_the_layout_of_inputs_does_not_matter(architecture: Architecture) -> None:
    given = inputs(architecture)
    results = []
    for strided in (False, True):
        module = build(architecture).eval()
        if strided:
            given = [torch.stack((value, value), -1)[..., 0] for value in given]
        results.append(module(*given))
    torch.testing.assert_close(*results)
    expanded = [value[:1].expand(value.shape) for value in given]
    check_output(architecture, build(architecture).eval()(*expanded), given[0].shape[0])


def test_every_change_with_every_value_leaves_a_module_that_runs(
    architecture: Architecture,
) -> None:
    batch = usual_sizes(architecture.schema)[BATCH]
    for action in architecture.actions:
        assert action.spec.values >= 1
        for value in range(action.spec.values):
            module = build(architecture)
            module(*inputs(architecture))
            for _ in range(2):
                action.apply(module, value)
                for training in (True, False):
                    check_output(architecture, module.train(training)(*inputs(architecture)), batch)


def test_every_change_can_be_seen(architecture: Architecture) -> None:
    """Some value of each change alters what the next calls put out or leave in the module."""
    unseen = []
    for action in architecture.actions:
        seen = {trace(architecture, None)}
        seen |= {trace(architecture, (action, value)) for value in range(action.spec.values)}
        if len(seen) == 1:
            unseen.append(action.spec.name)
    assert not unseen


def test_a_copy_goes_on_by_itself(architecture: Architecture) -> None:
    """Changes and calls of a deep copy do not reach the original: arms share no program state."""
    original = build(architecture)
    original(*inputs(architecture))
    before = state(original)
    duplicate = copy.deepcopy(original)
    for action in architecture.actions:
        action.apply(duplicate, 0)
    duplicate.train()(*inputs(architecture, seed=1))
    duplicate.eval()(*inputs(architecture, seed=2))
    assert_same(state(original), before)


def test_a_forward_takes_about_a_millisecond(architecture: Architecture) -> None:
    module = build(architecture).eval()
    given = inputs(architecture)
    times = []
    with torch.no_grad():
        for _ in range(30):
            start = time.perf_counter()
            module(*given)
            times.append(time.perf_counter() - start)
    median = statistics.median(times)
    print(f"{architecture.name}: {median * 1e3:.2f} ms")
    assert median < SLOWEST_FORWARD


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_agrees_with_eager(architecture: Architecture, backend: str) -> None:
    """Two calls, so that the second one reads what the first one left behind."""
    expected_module = build(architecture).eval()
    module = build(architecture).eval()
    compiled = torch.compile(module, backend=backend)
    for seed in range(2):
        given = inputs(architecture, seed=seed)
        torch.testing.assert_close(compiled(*given), expected_module(*given))
    torch.testing.assert_close(state(module), state(expected_module))


def documented_row(architecture: Architecture, state: str) -> str:
    """Return the architecture's row of docs/architectures.md; only `state` is written by hand."""
    described = ", ".join(
        f"{spec.name}{'?' if spec.optional else ''}: "
        f"{f'index < {spec.high}' if spec.kind == 'index' else spec.kind} "
        f"({', '.join(map(str, spec.shape))})"
        for spec in architecture.schema.inputs
    )
    sizes = ", ".join(
        f"{dimension.name} {'/'.join(map(str, dimension.sizes))}"
        for dimension in architecture.schema.dimensions
        if dimension.name != BATCH
    )
    changes = ", ".join(f"`{action.spec.name}`" for action in architecture.actions)
    cells = (architecture.name, state, described, sizes, str(architecture.features), changes)
    return "| " + " | ".join(cell or "-" for cell in cells) + " |"


def test_the_documentation_describes_exactly_these_architectures() -> None:
    text = DOCUMENTATION.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ")][1:]
    names = [row.split(" | ")[0].removeprefix("| ") for row in rows]
    assert sorted(names) == sorted(ARCHITECTURES)
    for name, row in zip(names, rows, strict=True):
        assert row == documented_row(ARCHITECTURES[name], row.split(" | ")[1])
