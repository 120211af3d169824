"""What the torch adapter observes, and what it knows of the reference's tensors."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.testing._internal.two_tensor import TwoTensor

from rondo.frameworks.base import Arm
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch.adapter import TorchFramework
from rondo.frameworks.torch.observe import (
    Aliases,
    Heard,
    annotated_by,
    stride_class,
    tensor_leaf,
    value_leaves,
)
from rondo.frameworks.torch.provenance import DRAWN_IN_FLOAT32, SAME_DRAWS, Provenance
from rondo.oracle.compare import Grade, compare
from rondo.oracle.observation import Leaf, Observation
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from rondo.sequences.vocabulary import COMPILER, Dimension, InputSpec, Schema
from rondo.subjects.user import UserSubject

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()


def families(make: Callable[[], Tensor]) -> set[str]:
    provenance = Provenance("float32")
    provenance.give([GIVEN])
    with provenance:
        tensor = make()
    with annotated_by(provenance):
        return set(tensor_leaf(tensor).families or ())


GIVEN = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(3, 4)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: GIVEN.clone(), set()),
        (lambda: GIVEN.t().reshape(2, 6).neg(), set()),
        (lambda: GIVEN.relu().amax(0), {"selection"}),
        (lambda: GIVEN.relu() + 1, {"selection", "arithmetic"}),
        (lambda: GIVEN + 1, {"arithmetic"}),
        (lambda: (GIVEN + 1)[0], {"arithmetic"}),
        (lambda: GIVEN.exp(), {"transcendental"}),
        (lambda: GIVEN.sum(0), {"reduction"}),
        (lambda: GIVEN @ GIVEN.t(), {"contraction"}),
        (lambda: (GIVEN + 1).exp(), {"arithmetic", "transcendental", "composite"}),
        (lambda: GIVEN.clone().add_(1), {"arithmetic"}),
        (lambda: torch.linalg.pinv(GIVEN), {"composite"}),
        (lambda: torch.cat([GIVEN + 1, GIVEN.exp()]), {"arithmetic", "transcendental"}),
        (lambda: torch.tensor(0.5).neg(), set()),
        (lambda: torch.from_numpy(GIVEN.numpy() * 3).clone(), {"composite"}),
        (lambda: TwoTensor(GIVEN, GIVEN.clone()).exp().a, {"transcendental"}),
        (lambda: GIVEN.t().reshape(12), set()),
        (lambda: nn.functional.layer_norm(GIVEN, (4,)), {"reduction"}),
    ],
)
@pytest.mark.parametrize("mode", [nullcontext, torch.inference_mode])
def test_a_tensor_knows_the_operators_behind_it(
    make: Callable[[], Tensor], expected: set[str], mode: Callable[[], AbstractContextManager[None]]
) -> None:
    """In inference mode as well, where the dispatcher leaves composite operators whole."""
    with mode():
        found = families(make)
    assert found >= expected
    assert "composite" in expected or found == expected


def test_gradients_have_a_history_too() -> None:
    leaf = GIVEN.clone().requires_grad_()

    def make() -> Tensor:
        (leaf.exp() * 2).sum().backward()
        assert leaf.grad is not None
        return leaf.grad

    assert "composite" in families(make)


def test_random_draws_of_the_reference_are_those_of_a_float32_arm() -> None:
    def draws(like: Tensor) -> list[Tensor]:
        torch.manual_seed(4)
        return [
            like.clone().uniform_(),
            like.clone().normal_(),
            torch.rand_like(like),
            torch.randn_like(like),
            torch.bernoulli(like),
            like.clone().exponential_(),
            nn.functional.dropout(like, 0.3),
            like.clone().bernoulli_(0.4),
            torch.multinomial(like.reshape(-1), 5),
        ]

    half = torch.full((5, 9), 0.5)
    expected = draws(half)
    with Provenance("float32"):
        found = draws(half.double())
    assert DRAWN_IN_FLOAT32 | SAME_DRAWS
    for one, other in zip(expected, found, strict=True):
        assert torch.allclose(one.double(), other.double(), rtol=1e-6)


def _normalised(written: Tensor, other: Tensor) -> None:
    torch.nn.functional.batch_norm(GIVEN, written, other, training=True)


def _added(written: Tensor, other: Tensor) -> None:
    torch._foreach_add_([written, other], [GIVEN.sum(0), GIVEN.sum(0)])


def _into(written: Tensor, other: Tensor) -> None:
    torch.sum(GIVEN, 0, out=written)
    torch.sum(GIVEN, 0, out=other)


def _normalised_each(written: Tensor, other: Tensor) -> None:
    torch.nn.functional.instance_norm(GIVEN[None].mT, written, other, use_input_stats=True)


@pytest.mark.parametrize("write", [_normalised, _normalised_each, _added, _into])
@pytest.mark.parametrize("position", [0, 1])
@pytest.mark.parametrize("mode", [nullcontext, torch.no_grad, torch.inference_mode])
def test_what_an_operator_writes_has_its_history(
    write: Callable[[Tensor, Tensor], None],
    position: int,
    mode: Callable[[], AbstractContextManager[None]],
) -> None:
    """Running statistics and lists are written in place, and are no results of their operators."""
    provenance = Provenance("float32")
    tensors = [torch.zeros(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64)]
    provenance.give([GIVEN, *tensors])
    with mode(), provenance:
        write(*tensors)
    with annotated_by(provenance):
        assert tensor_leaf(tensors[position]).families


def graded(good: Tensor, bad: Tensor, make: Callable[[Tensor], Tensor], source: Tensor) -> Grade:
    provenance = Provenance("float32")
    given = source.double()
    provenance.give([given])
    with provenance:
        exact = make(given)
    with annotated_by(provenance):
        reference = {"output": tensor_leaf(exact)}
    one, other = (Observation({"output": tensor_leaf(each)}) for each in (good, bad))
    found = compare(one, other, lambda: reference)
    return found[0].grade if found else Grade.EQUAL


TIED = torch.tensor([[1.0, 3.0, 3.0, 0.0], [2.0, 2.0, -1.0, 5.0]])


@pytest.mark.parametrize(
    ("make", "other", "grade"),
    [
        (lambda x: x.argmax(1), [2, 3], Grade.CLOSE),
        (lambda x: x.argmax(1), [0, 3], Grade.DIFFERENT),
        (lambda x: x.argmax(1, keepdim=True), [[2], [3]], Grade.CLOSE),
        (lambda x: x.argmax(), 5, Grade.DIFFERENT),
        (lambda x: x.max(1).indices, [2, 3], Grade.CLOSE),
        (lambda x: x.topk(2).indices, [[2, 1], [3, 1]], Grade.CLOSE),
        (lambda x: x.topk(2).indices, [[2, 2], [3, 1]], Grade.DIFFERENT),
        (lambda x: x.sort(0).indices, [[0, 1, 0, 0], [1, 0, 1, 1]], Grade.DIFFERENT),
        (lambda x: x.argsort(1, descending=True), [[2, 1, 0, 3], [3, 1, 0, 2]], Grade.CLOSE),
        (lambda x: x.argmax(1), [9, 3], Grade.DIFFERENT),
        (lambda x: x.argmax(1) + 0, [2, 3], Grade.DIFFERENT),
    ],
)
def test_indices_are_compared_by_the_values_they_name(
    make: Callable[[Tensor], Tensor], other: object, grade: Grade
) -> None:
    assert graded(make(TIED), torch.tensor(other), make, TIED) is grade


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2])
def test_float8_is_seen_with_its_values(dtype: torch.dtype) -> None:
    leaf = tensor_leaf(torch.tensor([1.0, float("nan"), -0.5]).to(dtype))
    assert leaf.dtype.startswith("float8")
    assert leaf.values is not None
    assert leaf.values[2] == -0.5
    same = Observation({"output": leaf})
    again = Observation({"output": tensor_leaf(torch.tensor([1.0, float("nan"), -0.5]).to(dtype))})
    assert not compare(same, again, lambda: None)


def test_sparse_and_complex_tensors_show_their_values() -> None:
    one, other = (torch.sparse_coo_tensor([[0]], [value], (3,)) for value in (1.0, 2.0))
    found = compare(
        Observation({"output": tensor_leaf(one)}),
        Observation({"output": tensor_leaf(other)}),
        lambda: None,
    )
    assert [(each.effect, each.grade) for each in found] == [("value", Grade.DIFFERENT)]
    conjugate = tensor_leaf(torch.tensor([1 + 2j]).conj())
    assert conjugate.values is not None
    assert conjugate.values.tolist() == [1 - 2j]


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (torch.zeros(2, 3), "dense"),
        (torch.zeros(2, 3).t(), "dense[1, 0]"),
        (torch.zeros(1).expand(4), "expanded"),
        (torch.zeros(8)[::2], "gaps"),
        (torch.zeros(8).as_strided((3, 3), (2, 1)), "overlapping"),
        (torch.zeros(0, 3), "dense"),
    ],
)
def test_stride_classes(tensor: Tensor, expected: str) -> None:
    assert stride_class(tensor) == expected


def test_aliases_name_every_owner() -> None:
    aliases = Aliases()
    base = torch.zeros(4)
    aliases.add("input.x", [base])
    aliases.add("earlier[-1]", [base[1:]])
    (leaf,) = value_leaves("output", base[:2], aliases).values()
    assert dict(leaf.meta)["aliases"] == "input.x,earlier[-1]"


def heard(speak: Callable[[], object]) -> dict[str, Leaf]:
    ears = Heard("float32")
    with ears.listening():
        speak()
    return ears.leaves()


def test_silence_leaves_nothing() -> None:
    assert heard(lambda: None) == {}


def test_numbers_in_what_is_printed_are_told_apart() -> None:
    leaves = heard(lambda: print("loss 0.25 of 3 at", object()))
    assert leaves["printed"].text.startswith("loss # of 3 at <object object at 0x>")
    assert leaves["printed.numbers"].values is not None
    assert leaves["printed.numbers"].values.tolist() == [0.25]


def test_only_the_programs_own_warnings_are_heard() -> None:
    def speak() -> None:
        warnings.warn("mine", stacklevel=1)
        torch.zeros(3).std(correction=5)  # warns from below
        torch.tensor(torch.zeros(3))  # as well, without saying so
        np.log(np.array([-1.0]))
        nn.functional.mse_loss(torch.zeros(2, 1), torch.zeros(2, 2))  # in the caller's name

    assert heard(speak)["warnings"].text == "UserWarning: mine"


class Talker(nn.Module):
    """Prints and warns while it computes; `keep` holds a buffer that later calls write to."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = torch.zeros(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        print("rows", x.shape[0])
        warnings.warn("called", stacklevel=1)
        return x * 2


def run_user(module: Callable[[], nn.Module], *calls: Call) -> Result:
    framework = TorchFramework()  # one of its own: the subject takes the place of all others
    schema = Schema((Dimension("batch", (2, 3)),), (InputSpec("x", ("batch", 4)),))
    framework.add_subject(UserSubject(build=module, schema=schema))
    vocabulary = framework.vocabulary()
    (name,) = (each.name for each in vocabulary.architectures)
    sequence = normalise(Sequence(SubjectSpec(name), Options(), calls), vocabulary)
    settings = Settings(always_reset=True)
    return execute(encode(sequence), framework, settings=settings, vocabulary=vocabulary)


def test_what_is_printed_and_warned_of_is_the_same_when_compiled() -> None:
    assert run_user(Talker, Call(), Call(), Call(sizes=(1,))).verdict == "agree"


class QuietWhenCompiled(Talker):
    def forward(self, x: Tensor) -> Tensor:
        if not torch.compiler.is_compiling():
            print("eager")
        return x * 2


def test_a_line_that_compiled_code_leaves_out_is_a_difference() -> None:
    result = run_user(QuietWhenCompiled, Call())
    (alarm,) = result.alarms
    assert (alarm.identity.place, alarm.identity.effect) == ("printed", "missing")


class ReusesABuffer(Talker):
    """Compiled calls hand the same memory out again."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            self.kept[: x.shape[0]] = x
            return self.kept[: x.shape[0]]
        return x.clone()


def test_a_later_call_that_changes_an_earlier_output_is_seen() -> None:
    result = run_user(ReusesABuffer, Call(), Call(value_seed=1))
    assert {"output", "earlier"} >= {alarm.identity.place for alarm in result.alarms}
    effects = {
        (difference.path.split("[")[0], difference.effect)
        for alarm in result.alarms
        for difference in alarm.differences
    }
    assert ("output", "metadata") in effects


class WrongCurvature(nn.Module):
    """Compiled, the first gradient is right and its own gradient is not."""

    def forward(self, x: Tensor) -> Tensor:
        if torch.compiler.is_compiling():
            return x * x.detach() ** 2 * 3 - x.detach() ** 3 * 2
        return x**3


def test_gradients_of_gradients_are_looked_at_when_asked_for() -> None:
    once = run_user(WrongCurvature, Call(backward=1, inputs_grad=1))
    assert once.verdict in ("agree", "uncertain")
    twice = run_user(WrongCurvature, Call(backward=3, inputs_grad=1))
    assert twice.verdict == "stateless"


def test_facts_are_compared_as_numpy_arrays() -> None:
    leaves = value_leaves("output", {"a": 1.5, "b": [True, None]})
    assert np.asarray(leaves["output.a"].values) == 1.5
    assert leaves["output.b[1]"].text == "NoneType None"


FILES = sorted((Path(__file__).parents[2] / "corpus" / "torch").glob("*.seq"))
WITHOUT_HISTORY = ("earlier",)
SMALL = ("identity", "mlp", "cnn")
"""Architectures whose seeds run on back end aot_eager too: the others take it half a minute."""


def last_of(data: bytes, backend: str, arm: Arm, *, observed: bool) -> tuple[list[str], str]:
    """Run a seed on `backend`; return its behaviours and what is left to see after its last call.

    With `observed` each call is looked at, as the oracle does; without, the last one only.
    """
    sequence = decode(data, VOCABULARY)
    options = replace(sequence.options, backend=VOCABULARY.backends.index(backend))
    sequence = replace(sequence, options=options)
    *_, (last, _) = sequence.calls()
    labels: list[str] = []
    compiled = arm is Arm.RETAINED
    with FRAMEWORK.session(sequence), FRAMEWORK.arm(sequence, arm) as program:
        for position, step in enumerate(sequence.steps[: last + 1]):
            if isinstance(step, Change):
                if step.target != COMPILER:
                    program.change(step)
                elif compiled:
                    program.compiler_change(step)
                continue
            FRAMEWORK.begin_watch()
            if observed or position == last:
                seen = program.call(step, compiled=compiled)
            else:
                program.invoke(step, compiled=compiled)
            labels += FRAMEWORK.end_watch().labels
    leaves = {
        path: leaf for path, leaf in seen.leaves.items() if not path.startswith(WITHOUT_HISTORY)
    }
    return labels, replace(seen, leaves=leaves).digest()


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_looking_changes_nothing(file: Path) -> None:
    """Behaviours and the final observation are those of a run in which nothing was looked at.

    What was put out earlier is left out: keeping it is the looking itself.
    """
    data = file.read_bytes()
    small = decode(data, VOCABULARY).subject.architecture in SMALL
    runs = [("eager", Arm.EAGER), ("eager", Arm.RETAINED)]
    runs += [("aot_eager", Arm.RETAINED)] if small else []
    for backend, arm in runs:
        looked = last_of(data, backend, arm, observed=True)
        assert looked == last_of(data, backend, arm, observed=False)
        assert looked[0] or arm is Arm.EAGER, "nothing was compiled"


def test_a_random_state_has_one_digest_in_every_process() -> None:
    program = (
        "import random; random.seed(7); random.random();"
        "from rondo.frameworks.python_random import python_random_digest as digest;"
        "print(digest()); random.gauss(0, 1); print(digest())"
    )
    said = {
        subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout
        for _ in range(3)
    }
    assert len(said) == 1
    first, second = said.pop().split()
    assert first != second
