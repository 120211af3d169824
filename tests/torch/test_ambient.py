"""Global state that a call may leave behind is put back, whatever it is, and shown before."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from torch import nn
from torch.autograd import forward_ad
from torch.autograd.graph import saved_tensors_hooks
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from rondo.frameworks.base import Arm
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch.ambient import MODES, AmbientSnapshot, read_ambient
from rondo.frameworks.torch.script_observe import AMBIENT
from rondo.oracle.run import execute
from rondo.sequences.codec import encode
from rondo.sequences.step import Call
from rondo.sequences.writer import Writer

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()


class Passing(TorchFunctionMode):
    """A function mode that does nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


class PassingDispatch(TorchDispatchMode):
    """A dispatch mode that does nothing."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _enter_vmap() -> None:
    torch._C._functorch._vmap_increment_nesting(2, "error")


def _enter_inference() -> None:
    KEPT.append(torch.inference_mode())
    KEPT[-1].__enter__()


KEPT: list[torch.inference_mode] = []
LEAKS: dict[str, Callable[[], object]] = {
    "grad_mode": lambda: torch.set_grad_enabled(False),
    "inference_mode": _enter_inference,
    "default_dtype": lambda: torch.set_default_dtype(torch.float64),
    "default_device": lambda: torch.set_default_device("meta"),
    "autocast_cpu": lambda: torch.set_autocast_enabled("cpu", True),
    "autocast_cache": lambda: torch.set_autocast_cache_enabled(False),
    "autocast_nesting": torch.autocast_increment_nesting,
    "deterministic": lambda: torch.use_deterministic_algorithms(True, warn_only=True),
    "matmul_precision": lambda: torch.set_float32_matmul_precision("medium"),
    "anomaly": lambda: torch.set_anomaly_enabled(True),
    "sdpa": lambda: torch._C._set_sdp_use_math(False),
    "multithreading": lambda: torch._C._set_multithreading_enabled(False),
    "view_replay": lambda: torch._C._set_view_replay_enabled(True),
    "function_modes": lambda: Passing().__enter__(),
    "dispatch_modes": lambda: PassingDispatch().__enter__(),
    "functorch_level": _enter_vmap,
    "dual_level": forward_ad.enter_dual_level,
    "saved_tensor_hooks": lambda: saved_tensors_hooks(lambda x: x, lambda x: x).__enter__(),
    "threads": lambda: torch.set_num_threads(torch.get_num_threads() + 1),
}


@pytest.fixture(autouse=True)
def put_back() -> Iterator[None]:
    """Leave the process as it was, should a test fail."""
    snapshot = AmbientSnapshot()
    yield
    snapshot.restore()


def test_every_mode_has_a_leak_here_and_an_expression_in_scripts() -> None:
    names = [mode.name for mode in MODES]
    assert sorted(LEAKS) == sorted(names)
    assert sorted(AMBIENT) == sorted(names)


@pytest.mark.parametrize("name", LEAKS)
def test_what_is_left_behind_is_shown_and_put_back(name: str) -> None:
    before, snapshot = read_ambient(), AmbientSnapshot()
    LEAKS[name]()
    assert read_ambient()[name] != before[name]
    assert name in snapshot.restore()
    assert read_ambient() == before


@pytest.mark.parametrize("name", AMBIENT)
def test_an_expression_of_a_script_changes_with_its_mode(name: str) -> None:
    """The expressions are pasted into reports: each must see what the table sees."""
    snapshot = AmbientSnapshot()
    before = str(eval(AMBIENT[name], {"torch": torch}))
    LEAKS[name]()
    assert str(eval(AMBIENT[name], {"torch": torch})) != before
    snapshot.restore()
    assert str(eval(AMBIENT[name], {"torch": torch})) == before


def test_a_context_left_open_keeps_no_cast_weights() -> None:
    """Inside an open autocast context a weight is cast once: later updates would not show."""
    layer, given = nn.Linear(2, 2), torch.ones(1, 2)
    snapshot = AmbientSnapshot()
    torch.autocast("cpu", dtype=torch.bfloat16).__enter__()
    first = layer(given)
    with torch.no_grad():
        layer.weight.mul_(-1)
        layer.bias.mul_(-1)
    assert torch.equal(layer(given), first)
    snapshot.restore()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(layer(given), -first)


def test_gradient_mode_is_observed_as_it_is() -> None:
    """What looks at a call switches gradients off, and must not take that for the call's doing."""
    sequence = Writer(VOCABULARY, "mlp").call().sequence()
    with FRAMEWORK.session(sequence), FRAMEWORK.arm(sequence, Arm.EAGER) as program:
        call = sequence.steps[0]
        assert isinstance(call, Call)
        seen = program.call(call, compiled=False).leaves["ambient.grad_mode"].text
        torch.set_grad_enabled(False)
        left = program.call(call, compiled=False).leaves["ambient.grad_mode"].text
    assert (seen, left) == ("True", "False")
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("construct", "change", "layout", "place"),
    [
        ("raised_midway", "set_position", "contiguous", "ambient.autocast_nesting"),
        ("input_alias", "", "expanded", "ambient.grad_mode"),
    ],
)
def test_a_mode_that_a_kernel_s_exception_leaves_on_is_an_alarm(
    construct: str, change: str, layout: str, place: str
) -> None:
    """A graph has no `finally`: what it entered stays entered (pytorch #195488)."""
    writer = Writer(VOCABULARY, "identity", construct, backend="eager")
    if change:
        writer.change(construct, change, 0)
    result = execute(encode(writer.call(layout=layout).sequence()), FRAMEWORK)
    assert result.verdict == "stateless"
    assert place in {row.path for row in result.alarms[0].differences}
