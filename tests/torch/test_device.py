"""The device of subjects, as far as a CPU can tell: the same code with a runtime that is watched.

What needs a GPU is in test_cuda.py.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import pytest
import torch
from torch import nn

from rondo.frameworks.base import Arm, DeviceLostError, ScriptRequest
from rondo.frameworks.torch import cuda_state, device
from rondo.frameworks.torch.adapter import TorchFramework
from rondo.frameworks.torch.ambient import AmbientSnapshot, DeviceState, Mode, read_ambient
from rondo.frameworks.torch.device import Device
from rondo.frameworks.torch.documented import documented_rule
from rondo.frameworks.torch.inputs import make_inputs
from rondo.frameworks.torch.program import GIVEN_BACK, OVERWRITTEN
from rondo.frameworks.torch.script import PINNED
from rondo.frameworks.torch.subject import move_in, tensors_of
from rondo.oracle.compare import compare
from rondo.oracle.observation import Leaf, Observation
from rondo.oracle.result import Alarm, Difference, Identity
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import CALL_CHOICES, Call
from rondo.sequences.vocabulary import Dimension, InputSpec
from rondo.sequences.writer import Writer


class Runtime:
    """Stands for `torch.cuda`: counts what it is asked for, and breaks when told to."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.shares: list[float] = []
        self.broken = False

    def init(self) -> None:
        self.calls.append("init")

    def synchronize(self) -> None:
        self.calls.append("synchronize")
        if self.broken:
            raise RuntimeError("CUDA error: device-side assert triggered")

    def empty_cache(self) -> None:
        self.calls.append("empty_cache")

    def mem_get_info(self) -> tuple[int, int]:
        return 10 << 30, 40 << 30

    def set_per_process_memory_fraction(self, share: float) -> None:
        self.shares.append(share)


FLAG: dict[str, object] = {"on": True}
STATE = DeviceState(
    "meta",
    (Mode("cudnn_tf32", lambda: FLAG["on"], lambda on: FLAG.update(on=on)),),
    lambda: torch.tensor([7], dtype=torch.uint8, device="cpu"),
    lambda state: FLAG.update(random=int(state[0])),
)
"""What a device adds, of a device that every machine has."""


@pytest.fixture
def runtime() -> Iterator[Runtime]:
    before = AmbientSnapshot()
    yield Runtime()
    before.restore()


def meta(runtime: Runtime, limit_mb: int = 0) -> Device:
    return Device("meta", limit_mb=limit_mb, runtime=runtime, state=STATE)


def test_the_cpu_asks_no_runtime_for_anything(runtime: Runtime) -> None:
    cpu = Device("cpu", limit_mb=5, runtime=runtime)
    with cpu.session():
        cpu.enter_thread()
        cpu.settle()
        cpu.examine(RuntimeError("CUDA error: out of thin air"))
    assert (runtime.calls, runtime.shares) == ([], [])


def test_a_session_makes_new_tensors_there_and_pins_modes(runtime: Runtime) -> None:
    FLAG["on"] = True
    place = meta(runtime)
    with place.session():
        assert torch.ones(2).device.type == "meta"
        assert (FLAG["on"], read_ambient()["cudnn_tf32"]) == (False, "False")
        found = []

        def look() -> None:
            place.enter_thread()
            found.append(torch.ones(2).device.type)

        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert found == ["meta"]
    assert torch.ones(2).device.type == "cpu"
    assert (FLAG["on"], "cudnn_tf32" in read_ambient()) == (True, False)
    assert runtime.calls[-1] == "empty_cache"


def test_the_runtime_starts_once_in_a_process(runtime: Runtime) -> None:
    place = meta(runtime, limit_mb=10 << 10)
    for _ in range(2):
        with place.session():
            pass
    assert runtime.calls.count("init") == 1
    assert runtime.shares == [0.25]


def test_random_state_of_a_device_is_restored(runtime: Runtime) -> None:
    with meta(runtime).session():
        before = AmbientSnapshot()
        FLAG.pop("random", None)
        before.restore()
    assert FLAG["random"] == 7


def test_an_error_that_lasts_gives_the_device_up(runtime: Runtime) -> None:
    place = meta(runtime)
    error = RuntimeError("CUDA error: an illegal memory access was encountered\nmore")
    place.examine(error)  # once: the program's own affair
    place.examine(ValueError("CUDA is nice"))
    runtime.broken = True
    place.examine(ValueError("shapes differ"))  # not of the device: nobody looks
    with pytest.raises(DeviceLostError, match=r"an illegal memory access was encountered$"):
        place.examine(error)


def test_whoever_ends_the_process_is_called_instead(
    runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    class GoneError(Exception):
        pass

    def end(text: str) -> NoReturn:
        told.append(text)
        raise GoneError

    framework = TorchFramework()
    monkeypatch.setattr(framework, "lose_device", end)
    place = Device("meta", runtime=runtime, state=STATE, lost=framework._give_up)
    runtime.broken = True
    with pytest.raises(GoneError):
        place.examine(RuntimeError("CUDA error: misaligned address"))
    assert told == ["CUDA error: misaligned address"]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_asynchronous_error_belongs_to_its_own_step(
    runtime: Runtime, asynchronous: bool
) -> None:
    """The step is waited for before it ends, so that no later one raises in its stead."""
    framework = TorchFramework()
    sequence = Writer(framework.vocabulary(), "identity").call().call().sequence()
    call = sequence.steps[0]
    assert isinstance(call, Call)
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        place = Device("meta", runtime=runtime, state=STATE)
        assert program.call(call, compiled=False).returned
        inputs = program.inputs(call)
        program.inputs = lambda call: inputs  # type: ignore[method-assign]
        program.device = place
        runtime.broken = asynchronous
        if asynchronous:
            with pytest.raises(DeviceLostError, match="device-side assert"):
                program.call(call, compiled=False)
        else:
            assert program._invoke(call, compiled=False)[1].error is None
        assert "synchronize" in runtime.calls


CALLS = [
    Call(layout=CALL_CHOICES["layout"].index(layout), alias=alias, inputs_grad=grad)
    for layout in CALL_CHOICES["layout"]
    for alias in range(len(CALL_CHOICES["alias"]))
    for grad in (0, 1)
]


@pytest.mark.parametrize("call", CALLS, ids=str)
def test_inputs_keep_strides_offsets_and_sharing(call: Call) -> None:
    specs = (InputSpec("x", ("batch", 3)), InputSpec("y", ("batch", 3)))
    dimensions = (Dimension("batch", (4, 2)),)
    call = replace(call, sizes=(0,))
    here, there = (
        make_inputs(call, specs, dimensions, seed=1, device=name) for name in ("cpu", "meta")
    )
    assert here.leaves.keys() == there.leaves.keys()
    for name, value in here.arguments.items():
        moved = there.arguments[name]
        assert isinstance(value, torch.Tensor)
        assert isinstance(moved, torch.Tensor)
        assert moved.device.type == "meta"
        assert moved.stride() == value.stride()
        assert moved.storage_offset() == value.storage_offset()
        assert moved.requires_grad == value.requires_grad
        assert moved.is_leaf == value.is_leaf
    pairs = [list(each.arguments.values()) for each in (here, there)]
    assert (pairs[0][0] is pairs[0][1]) == (pairs[1][0] is pairs[1][1])
    bases = [[getattr(value, "_base", None) for value in pair] for pair in pairs]
    assert (bases[0][0] is bases[0][1]) == (bases[1][0] is bases[1][1])


class Holder(nn.Module):
    """Keeps tensors wherever a module may."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("count", torch.zeros(1))
        whole = torch.arange(6.0)
        self.whole, self.part = whole, whole[2:].view(2, 2).t()
        self.listed: list[Any] = [whole[:1], 3, [torch.ones(1)]]
        self.listed.append(self.listed)
        self.named = {"a": torch.ones(2, requires_grad=True)}
        self.history = torch.ones(2, requires_grad=True) * 2


def test_all_that_a_module_holds_moves_and_shares_as_before() -> None:
    module = Holder()
    listed, named = module.listed, module.named
    move_in(module, "meta")
    held = [module.whole, module.part, module.listed[0], module.listed[2][0], module.named["a"]]
    assert {each.device.type for each in held} == {"meta"}
    assert {each.device.type for each in module.state_dict().values()} == {"meta"}
    assert module.listed is listed
    assert module.named is named
    assert module.listed[3] is listed
    assert module.part.stride() == (1, 2)
    assert module.part.storage_offset() == 2
    shared = [each.untyped_storage()._cdata for each in held[:3]]
    assert len({storage for storage in shared}) == 1
    assert module.named["a"].requires_grad
    assert module.history.device.type == "cpu"  # made by autograd on the other device


def test_without_a_gpu_cuda_is_refused_and_never_started() -> None:
    if torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    assert device.absent("cpu") == ""
    assert device.absent("cuda").startswith("torch sees no CUDA device")
    framework = TorchFramework()
    framework.use_device("auto")
    assert (framework.device, framework.place.remote) == ("cpu", False)
    assert framework.unforkable() == ""


def test_whether_there_is_a_gpu_is_told_without_starting_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def start() -> NoReturn:
        raise AssertionError("this would start CUDA in the process that forks")

    monkeypatch.setattr(torch._C, "_cuda_getDeviceCount", start, raising=False)
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.version, "hip", None)
    for count, told in ((2, ""), (0, "torch sees no CUDA device")):
        monkeypatch.setattr(torch.cuda, "_device_count_nvml", lambda count=count: count)
        assert device.absent("cuda") == told
    # NVML cannot tell, and a driver is there: another process is asked.
    monkeypatch.setattr(torch.cuda, "_device_count_nvml", lambda: -1)
    monkeypatch.setattr("ctypes.CDLL", lambda name: None)
    asked: list[list[str]] = []

    def run(command: list[str], **how: object) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        return subprocess.CompletedProcess(command, 0, stdout="1\n")

    monkeypatch.setattr("subprocess.run", run)
    assert device.absent("cuda") == ""
    assert asked == [[sys.executable, "-c", device.PROBE]]


def test_a_gpu_lacks_what_would_end_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    framework = TorchFramework()
    whole = {each.name for each in framework.vocabulary().constructs}
    monkeypatch.setattr(framework, "absent", lambda device: "")
    framework.use_device("cuda", limit_mb=64)
    there = {each.name for each in framework.vocabulary().constructs}
    assert whole - there == device.HOST_ONLY
    assert (framework.place.name, framework.place.limit_mb) == ("cuda", 64)


def test_pins_are_exact_and_put_back() -> None:
    before = {mode.name: mode.read() for mode in cuda_state.MODES}
    assert cuda_state.EXACT.keys() < before.keys()
    with cuda_state.pinned(cuda_state.MODES):
        for mode in cuda_state.MODES:
            if mode.name in cuda_state.EXACT:
                assert mode.read() in (cuda_state.EXACT[mode.name], False)
    assert {mode.name: mode.read() for mode in cuda_state.MODES} == before


def test_an_output_that_torch_took_back_is_compared_with_nothing() -> None:
    expected = Observation({"output": Leaf("fact", text="1"), "earlier[-1][0]": Leaf("fact")})
    found = Observation({"output": Leaf("fact", text="1"), "earlier[-1]": GIVEN_BACK})
    assert compare(expected, found, lambda: None) == []
    other = Observation({"output": Leaf("fact", text="2"), "earlier[-1]": GIVEN_BACK})
    assert [each.path for each in compare(expected, other, lambda: None)] == ["output"]


def test_reading_an_overwritten_output_is_a_documented_refusal() -> None:
    framework = TorchFramework()
    sequence = Writer(framework.vocabulary(), "identity").call().sequence()
    for kind in ("tensor", "gradient tensor"):
        said = f"read: Error: accessing {kind} {OVERWRITTEN} by a subsequent run."
        seen = Observation({}, False, "RuntimeError", said)
        assert "cudagraph_trees" in documented_rule(sequence, seen)
    assert not documented_rule(sequence, Observation({}, False, "RuntimeError", "read: other"))


def test_an_output_taken_back_is_seen_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of outputs that only the oracle kept; of all else a user sees torch's exception."""
    from rondo.frameworks.torch import program as programs

    framework = TorchFramework()
    sequence = Writer(framework.vocabulary(), "identity").call().call().sequence()
    call = sequence.steps[0]
    assert isinstance(call, Call)
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        program.call(call, compiled=False)
        monkeypatch.setattr(programs, "_readable", lambda outputs: False)
        seen = program.call(call, compiled=False)
        assert seen.returned
        assert seen.leaves["earlier[-1]"] == GIVEN_BACK

        def unreadable(*arguments: object) -> NoReturn:
            raise RuntimeError(f"Error: accessing tensor {OVERWRITTEN} by a subsequent run.")

        monkeypatch.setattr(programs, "module_leaves", unreadable)
        seen = program.call(call, compiled=False)
        assert (seen.returned, seen.exception) == (False, "RuntimeError")
        assert OVERWRITTEN in seen.message


def test_want_of_device_memory_is_nobodys_fault() -> None:
    framework = TorchFramework()
    full = Observation({}, False, "OutOfMemoryError", "call: CUDA out of memory.")
    assert framework.exhausted(full) == ""  # of a CPU, it is a finding like any other
    framework.place = Device("cuda", runtime=Runtime())
    assert framework.exhausted(full) == "out of device memory"
    assert framework.exhausted(Observation({})) == ""


@pytest.mark.parametrize("thread", [0, 1])
def test_scripts_build_all_on_the_device(thread: int) -> None:
    framework = TorchFramework()
    writer = Writer(framework.vocabulary(), "mlp", "float_attribute", backend="aot_eager")
    sequence = (
        writer.call().change("float_attribute", "set_factor", 0).call().sequence()
        if not thread
        else writer.call(thread="other", autocast="bfloat16").call(thread="other").sequence()
    )
    step = len(sequence.steps) - 1
    identity = Identity("stateful", "value", "aot_eager", "output", "float_attribute.x")
    alarm = Alarm(step, identity, (Difference("output[0]", "value", "float32[2] [1]", "", ""),))
    texts = {
        name: [s.text for s in framework.scripts(ScriptRequest(sequence, alarm, device=name))]
        for name in ("cpu", "cuda")
    }
    assert len(texts["cpu"]) == len(texts["cuda"])
    assert not any("cuda" in text for text in texts["cpu"])
    for text in texts["cuda"]:
        ast.parse(text)
        assert 'torch.set_default_device("cuda")' in text
        assert all(line in text for line in PINNED)
        assert ".detach().cpu()" in text or "def run" not in text
        assert ".clone()" not in text
        if "torch.Generator()" in text:  # drawn on the CPU, as sequences do
            assert 'device="cpu"' in text
            assert '.to("cuda")' in text
        if thread:
            assert 'initargs=("cuda",)' in text
            assert 'torch.autocast("cuda", dtype=torch.bfloat16)' in text


def test_triton_keeps_its_files_where_the_worker_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rondo.frameworks.torch.state import CACHE_VARIABLE, CacheFolders

    for name in (CACHE_VARIABLE, "TRITON_CACHE_DIR"):
        monkeypatch.setenv(name, "elsewhere")
    folders = CacheFolders(tmp_path)
    for disk in (False, True):
        folders.use(disk=disk)
        inductor, triton = os.environ[CACHE_VARIABLE], os.environ["TRITON_CACHE_DIR"]
        assert Path(triton).parent == Path(inductor)
        assert tmp_path in Path(triton).parents
        Path(triton).mkdir()
    folders.drop()
    assert not Path(triton).exists()


class Kernels:
    triton_kernel_compile_times_us = (
        '[[812, "triton_poi_fused_add_mul_0"], [90, "triton_red_fused_sum_1"], [1, "triton_mm"]]'
    )


def test_kernels_are_told_by_kind_and_size() -> None:
    from rondo.frameworks.torch.watch_graphs import kernel_labels

    labels = ["triton poi ops=2", "triton red ops=1", "triton kernels 3-4"]
    assert list(kernel_labels(Kernels())) == labels
    assert list(kernel_labels(object())) == []


def test_recordings_are_told_where_they_grow() -> None:
    from rondo.frameworks.torch import watch_graphs

    class Node:
        def __init__(self, *children: Node) -> None:
            self.children = {0: list(children)}

    class Manager:
        warmed_up_functions = (1, 2)
        roots = {0: [Node(Node(), Node(Node()))]}
        num_rerecord = {None: {0: 1}}
        debug_fail_counter = 0

    class Container:
        tree_manager = Manager()

    class Local:
        tree_manager_containers = {0: Container()}

    assert watch_graphs.recordings() == watch_graphs.Recordings()  # nothing was recorded here
    module = type(sys)("trees")
    module.local = Local()  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patched:
        patched.setitem(sys.modules, watch_graphs.TREES, module)
        found = watch_graphs.recordings()
    assert (found.warmed, found.recorded, found.again) == (2, 4, 1)
    before = replace(found, recorded=1)
    assert list(found.labels(before)) == ["cudagraph recorded 3-4"]


def test_what_graphs_leave_behind_is_copied_on_request() -> None:
    from rondo.frameworks.torch import program as programs
    from rondo.frameworks.torch.documented import ABLATIONS, ON_DEVICES

    framework = TorchFramework()
    assert tuple(framework.ablations()) == ABLATIONS
    framework.place = Device("cuda", runtime=Runtime())
    assert tuple(framework.ablations()) == ABLATIONS + ON_DEVICES
    framework.place = Device()
    sequence = Writer(framework.vocabulary(), "mlp", "kept_output").call().sequence()
    call = Call(sizes=(0,), backward=1, inputs_grad=1)
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(program, "_in_graphs", lambda compiled: True)
            program.call(call, compiled=False)
            construct = program.module.tail[0]
            made = tensors_of(program._invoke(call, compiled=False)[1].outputs)
            assert construct.latest is made[1]
            with programs.outputs_copied():
                copies = tensors_of(program._invoke(call, compiled=False)[1].outputs)
            assert construct.latest is not copies[1]
            assert torch.equal(construct.latest, copies[1])
        # What a run of graphs put out is not looked at again: the next one may overwrite it.
        assert program.state_leaves()["earlier[-1]"] == GIVEN_BACK


def test_mode_reduce_overhead_is_quiet_on_a_cpu() -> None:
    framework = TorchFramework()
    sequence = Writer(framework.vocabulary(), "identity", backend="inductor").call().sequence()
    sequence = replace(sequence, options=replace(sequence.options, mode=1))
    with framework.session(sequence), framework.arm(sequence, Arm.RETAINED) as program:
        assert program.settings.mode == "reduce-overhead"
        assert not program._in_graphs(compiled=True)


class Near(Device):
    """The CPU, treated as what lies behind a runtime: the whole path with numbers in it."""

    remote = True


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_arms_agree_where_the_default_device_is_named(runtime: Runtime, backend: str) -> None:
    framework = TorchFramework()
    framework.place = Near("cpu", runtime=runtime, state=STATE, limit_mb=1)
    writer = Writer(
        framework.vocabulary(), "mlp", "torch_random", "torch_generator", "fed_back",
        backend=backend,
    )  # fmt: skip
    writer.call(backward="once", inputs_grad="yes", layout="strided").program("sgd_step")
    writer.call(batch=3, alias="overlap").call(thread="other", autocast="bfloat16")
    settings = Settings(always_reset=True)
    result = execute(encode(writer.sequence()), framework, settings=settings)
    assert (result.verdict, result.raised) == ("agree", 0), result.alarms
    assert runtime.calls.count("init") == 1
    assert runtime.calls.count("synchronize") > 8
    assert torch.ones(1).device.type == "cpu"
    assert torch._C._len_torch_function_stack() == 0


def test_steps_that_break_the_device_are_told_by_the_step_and_its_first_words(
    runtime: Runtime,
) -> None:
    framework = TorchFramework()
    framework.place = Near("cpu", runtime=runtime, state=STATE, lost=framework._give_up)
    sequence = Writer(framework.vocabulary(), "identity", "fed_back").call().call().sequence()
    call = sequence.steps[0]
    assert isinstance(call, Call)
    with framework.session(sequence), framework.arm(sequence, Arm.RETAINED) as program:
        assert program.call(call, compiled=True).returned
        for thread in (0, 1):
            runtime.broken = True
            with pytest.raises(DeviceLostError, match="device-side assert"):
                program.call(replace(call, thread=thread), compiled=True)
            runtime.broken = False
    assert torch._C._len_torch_function_stack() == 0
