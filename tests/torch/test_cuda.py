"""The path through a GPU. Without one, each test is skipped and says so; `bench/gpu.sh` runs them.

What a CPU can tell of that path is in test_device.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from rondo.campaign.deaths import Cause
from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.findings.export_check import run_script
from rondo.findings.reproducer import DEVICE
from rondo.frameworks.base import Arm, ScriptRequest
from rondo.frameworks.torch.adapter import MODES, TorchFramework
from rondo.frameworks.torch.ambient import read_ambient
from rondo.frameworks.torch.cuda_state import EXACT
from rondo.frameworks.torch.device import absent
from rondo.frameworks.torch.program import TorchProgram
from rondo.oracle.result import Alarm, Difference, Identity, Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Sequence
from rondo.sequences.vocabulary import SMALLEST
from rondo.sequences.writer import Writer

WITHOUT = absent("cuda")
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(WITHOUT != "", reason=WITHOUT or "there is a GPU"),
]
SUBJECTS = "tests.torch.gpu_subjects"


@pytest.fixture(scope="module")
def framework() -> TorchFramework:
    framework = TorchFramework()
    framework.use_device("auto")
    assert framework.device == "cuda"
    return framework


@pytest.fixture
def served() -> Iterator[Callable[..., Executor]]:
    """Start a server on the GPU and return an executor over it; end all of them afterwards."""
    servers: list[Server] = []

    def serve(**options: object) -> Executor:
        server = Server("torch", device="cuda", **options)  # type: ignore[arg-type]
        servers.append(server)
        return Executor(server, Limits(seconds=120), 16, lambda: None)

    yield serve
    for server in servers:
        server.close()


def on(framework: TorchFramework, *constructs: str, backend: str, mode: str = "default") -> Writer:
    writer = Writer(framework.vocabulary(), SMALLEST, *constructs, backend=backend)
    writer.options = replace(writer.options, mode=MODES.index(mode))
    return writer


def judged(framework: TorchFramework, sequence: Sequence, *, always: bool = False) -> Result:
    settings = Settings(always_reset=always, masked_every=0)
    return execute(encode(sequence), framework, settings=settings)


def test_workers_are_forked_and_findings_say_where(served: Callable[..., Executor]) -> None:
    executor = served()
    vocabulary = executor.server.vocabulary
    writer = Writer(vocabulary, "mlp", "float_attribute", backend="aot_eager")
    sequence = (
        writer.call(backward="once").change("float_attribute", "set_factor").call().sequence()
    )
    for _ in range(2):
        result = executor.run(encode(sequence))
        assert (result.verdict, result.raised) == ("agree", 0), result.alarms
    environment = executor.environment()
    assert environment[DEVICE] == "cuda"
    assert environment["gpu"] not in ("", "not used")


def test_an_assertion_of_the_device_is_a_death_at_its_own_step(
    served: Callable[..., Executor],
) -> None:
    executor = served(subject=f"{SUBJECTS}:stray")
    sequence = Writer(executor.server.vocabulary, "user").call().sequence()
    (alarm,) = executor.run(encode(sequence)).alarms
    identity = alarm.identity
    assert (identity.verdict, identity.effect) == ("died", Cause.DEVICE.value), alarm.differences
    assert identity.exception == "device-side assert"
    assert (identity.place, alarm.step) == ("retained", 0)


def test_want_of_device_memory_in_one_arm_is_not_compared(served: Callable[..., Executor]) -> None:
    executor = served(subject=f"{SUBJECTS}:hungry", device_limit_mb=1024)
    sequence = Writer(executor.server.vocabulary, "user").call().sequence()
    result = executor.run(encode(sequence))
    assert (result.verdict, result.alarms) == ("not comparable", ())


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_arms_agree_on_each_back_end(framework: TorchFramework, backend: str) -> None:
    writer = Writer(framework.vocabulary(), "mlp", "buffer_update", backend=backend)
    writer.call(backward="once", inputs_grad="yes").program("sgd_step").call(batch=3)
    writer.call(autocast="bfloat16").call(thread="other", grad="no_grad")
    result = judged(framework, writer.sequence())
    assert (result.verdict, result.raised) == ("agree", 0), result.alarms
    assert torch.ones(1).device.type == "cpu"


def test_all_of_a_program_is_on_the_device(framework: TorchFramework) -> None:
    writer = on(framework, "grad_history", "fed_back", backend="eager")
    sequence = writer.call(layout="strided", inputs_grad="yes").sequence()
    call = sequence.steps[0]
    assert isinstance(call, Call)
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        assert isinstance(program, TorchProgram)
        inputs = program.inputs(call)
        (x,) = inputs.arguments.values()
        assert isinstance(x, torch.Tensor)
        assert (x.device.type, x.stride(-1)) == ("cuda", 2)
        held = [value for part in program.module.modules() for value in vars(part).values()]
        assert {each.device.type for each in held if isinstance(each, torch.Tensor)} == {"cuda"}
        seen = program.call(call, compiled=False)
        assert dict(seen.leaves["output[0]"].meta)["device"] == "cuda:0"
        assert {"rng.cuda", "ambient.cudnn_tf32", "ambient.autocast_cuda"} <= seen.leaves.keys()
        shown = read_ambient()
        assert shown["cudnn_tf32"] == shown["cuda_matmul_tf32"] == "False"
        assert shown["cudnn_deterministic"] == str(EXACT["cudnn_deterministic"])
    assert torch.backends.cudnn.allow_tf32


def test_random_numbers_of_the_device_are_seeded_seen_and_put_back(
    framework: TorchFramework,
) -> None:
    sequence = on(framework, "torch_random", backend="aot_eager").call(2).sequence()
    result = judged(framework, sequence, always=True)
    assert (result.verdict, result.raised) == ("agree", 0), result.alarms
    with framework.session(sequence):
        shown = []
        for _ in range(2):
            with framework.arm(sequence, Arm.EAGER) as program:
                calls = [program.call(sequence.steps[0], compiled=False) for _ in range(2)]  # type: ignore[arg-type]
                shown.append([each.leaves["rng.cuda"].text for each in calls])
    assert shown[0] == shown[1]
    assert shown[0][0] != shown[0][1]


@pytest.mark.parametrize("construct", ["kept_output", "fed_back", "accumulated_gradient"])
def test_graphs_are_recorded_and_nothing_but_what_is_documented_differs(
    framework: TorchFramework, construct: str
) -> None:
    writer = on(framework, construct, backend="inductor", mode="reduce-overhead")
    writer.call(3, backward="once").compiler("mark_step_begin").call(2, backward="once")
    result = judged(framework, writer.sequence())
    assert result.verdict in ("agree", "documented"), result.alarms
    assert result.raised == 0


def test_recordings_are_behaviours(framework: TorchFramework) -> None:
    writer = on(framework, "float_attribute", backend="inductor", mode="reduce-overhead")
    sequence = writer.call(4).sequence()
    labels: list[str] = []
    with framework.session(sequence), framework.arm(sequence, Arm.RETAINED) as program:
        for step in sequence.steps:
            framework.begin_watch()
            assert isinstance(step, Call)
            program.call(step, compiled=True)
            labels += framework.end_watch().labels
    assert any(label.startswith("cudagraph recorded") for label in labels), labels
    assert any(label.startswith("cudagraph path") for label in labels), labels


def test_a_script_runs_on_the_device(framework: TorchFramework, tmp_path: Path) -> None:
    """One of a bug that there is not: it must run to its end and say that all arms are equal."""
    writer = on(framework, "float_attribute", backend="aot_eager")
    sequence = writer.call().change("float_attribute", "set_factor").call().sequence()
    identity = Identity("stateful", "value", "aot_eager", "output", "float_attribute.set_factor")
    alarm = Alarm(2, identity, (Difference("output[0]", "value", "float32[2] [1]", "", ""),))
    script = next(framework.scripts(ScriptRequest(sequence, alarm, device="cuda")))
    ran = run_script(script.text, seconds=120, environment=dict(script.environment))
    assert ran.clean, ran.describe()
