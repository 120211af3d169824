"""One arm's program: the subject, its compiled form, and what each step does and shows."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from rondo.frameworks.base import Arm, DeviceLostError, Program
from rondo.frameworks.shared.labels import first_line
from rondo.frameworks.torch.device import Device
from rondo.frameworks.torch.inputs import DTYPES, Inputs, computing_dtype, make_inputs
from rondo.frameworks.torch.observe import (
    Aliases,
    Heard,
    ambient_leaves,
    annotated_by,
    module_leaves,
    value_leaves,
)
from rondo.frameworks.torch.provenance import Provenance
from rondo.frameworks.torch.state import carried_settings
from rondo.frameworks.torch.subject import (
    Subject,
    build_subject,
    copied,
    copy_held,
    move_in,
    tensors_of,
)
from rondo.oracle.observation import Leaf, Observation
from rondo.sequences.step import Call, Change, Sequence
from rondo.subjects.target import Action, Architecture, Construct, Target

EARLIER_OUTPUTS = 2
"""How many earlier outputs are kept alive and looked at again: enough to see a reused buffer."""


OVERWRITTEN = "output of CUDAGraphs that has been overwritten"
"""What torch says to whoever reads an output after a later run was allowed to reuse its memory."""

TAKEN_BACK = object()
"""Stands among earlier outputs for those of a run of CUDA graphs: they are told by torch to be read
until the next run and not longer, and a replay overwrites them without a word."""

GIVEN_BACK = Leaf("unreadable", text="its memory was taken back by a later run")
"""Stands for an earlier output of that kind. Only the oracle kept it, and documented is that it may
be kept no longer than until the next run: it is compared with nothing."""


_copying: list[bool] = []


@contextmanager
def outputs_copied() -> Iterator[None]:
    """Have what runs of CUDA graphs leave behind copied at once, as torch tells users to do.

    A difference that goes away then comes from reading an output longer than is documented.
    """
    _copying.append(True)
    try:
        yield
    finally:
        _copying.pop()


@dataclass(slots=True)
class CompileSettings:
    """How the next compiled call is made. Compiler changes that carry over act on this."""

    backend: str
    mode: str = "default"
    dynamic: bool | None = None
    fullgraph: bool = False
    marks: list[Callable[[Tensor], None]] = field(default_factory=list)

    def compile(self, module: torch.nn.Module) -> Callable[..., object]:
        """Wrap `module` with torch.compile as these settings say."""
        options: dict[str, Any] = {"backend": self.backend, "dynamic": self.dynamic}
        if self.backend == "inductor" and self.mode != "default":
            options["mode"] = self.mode
        compiled: Callable[..., object] = torch.compile(module, fullgraph=self.fullgraph, **options)
        return compiled


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The targets that steps may change, by name."""

    architectures: dict[str, Architecture]
    constructs: dict[str, Construct]
    program: Target
    compiler: Target


class TorchProgram(Program):
    """Runs the steps of one arm on a subject of its own. Build it through the framework's `arm`."""

    def __init__(
        self,
        sequence: Sequence,
        catalogue: Catalogue,
        arm: Arm,
        settings: CompileSettings,
        device: Device | None = None,
    ) -> None:
        spec = sequence.subject
        self.device = device or Device()
        self.arm = arm
        self.settings = settings
        self.seed = spec.seed
        self._architecture = catalogue.architectures[spec.architecture]
        self._constructs = [catalogue.constructs[name] for name in spec.constructs]
        self.module: Subject = build_subject(self._architecture, self._constructs, seed=spec.seed)
        if self.device.remote:
            move_in(self.module, self.device.name)
        self._provenance: Provenance | None = None
        if arm is Arm.REFERENCE:
            self.module.double()
            self._provenance = Provenance("float32")
            self._provenance.give([*self.module.parameters(), *self.module.buffers()])
        # AOTAutograd's backward is documented not to be differentiable again. Whether a step is to
        # compile with it holds for the whole of the sequence: the eager arm makes no such step.
        self._second_order = settings.backend == "eager" and not any(
            isinstance(step, Change)
            and step.target == catalogue.compiler.name
            and catalogue.compiler.actions[step.action].spec.name == "backend"
            for step in sequence.steps
        )
        self._objects: dict[str, tuple[Target, object]] = {
            spec.architecture: (self._architecture, self.module.body),
            catalogue.program.name: (catalogue.program, self),
            catalogue.compiler.name: (catalogue.compiler, self),
        }
        for construct, module in zip(self._constructs, self.module.tail, strict=True):
            self._objects[construct.name] = (construct, module)
        self._compiled: Callable[..., object] | None = None
        self._earlier: deque[object] = deque(maxlen=EARLIER_OUTPUTS)
        self._specs = (
            *self._architecture.schema.inputs,
            *(spec for construct in self._constructs for spec in construct.inputs),
        )

    def rewrap(self) -> None:
        """Make the next compiled call go through a new torch.compile wrapper."""
        self._compiled = None

    def target(self, *, compiled: bool) -> Callable[..., object]:
        """Return what a call invokes: the module itself or its compiled wrapper."""
        if not compiled:
            return self.module
        if self._compiled is None:
            self._compiled = self.settings.compile(self.module)
        return self._compiled

    def inputs(self, call: Call) -> Inputs:
        """Build the inputs of `call` for this arm."""
        return make_inputs(
            call,
            self._specs,
            self._architecture.schema.dimensions,
            seed=self.seed,
            reference=self.arm is Arm.REFERENCE,
            device=self.device.name,
        )

    def call(self, call: Call, *, compiled: bool) -> Observation:
        """Invoke the subject once; a raised exception becomes part of the observation."""
        heard = Heard(computing_dtype(call))
        with heard.listening():
            inputs, outcome = self._invoke(call, compiled=compiled)
        with annotated_by(self._provenance):
            observation = self._observe(inputs, outcome, heard)
        if outcome.error is None:
            self._earlier.append(TAKEN_BACK if self._in_graphs(compiled) else outcome.outputs)
        return observation

    def _in_graphs(self, compiled: bool) -> bool:
        """Whether CUDA graphs may serve a call, whose outputs the next one may overwrite then."""
        graphs = self.settings.backend == "inductor" and self.settings.mode == "reduce-overhead"
        return compiled and graphs and self.device.remote

    def invoke(self, call: Call, *, compiled: bool) -> None:
        """Invoke the subject once and look at nothing."""
        self._invoke(call, compiled=compiled)

    def _invoke(self, call: Call, *, compiled: bool) -> tuple[Inputs, _Outcome]:
        inputs = self.inputs(call)
        marks, self.settings.marks = self.settings.marks, []
        if compiled:
            for mark in marks:
                for tensor in tensors_of(list(inputs.arguments.values())):
                    mark(tensor)
        target = self.target(compiled=compiled)
        outcome = _Outcome(self.device, second_order=self._second_order)
        if self._provenance is not None:
            self._provenance.dtype = computing_dtype(call)
            self._provenance.give(inputs.arguments.values())

        def run() -> None:
            with self._provenance or nullcontext():
                outcome.run(target, inputs, call, autocast=self.arm is not Arm.REFERENCE)

        if call.choice("thread") == "other":
            take_over = carried_settings()

            lost: list[DeviceLostError] = []

            def run_there() -> None:
                take_over()
                self.device.enter_thread()
                try:
                    run()
                except DeviceLostError as error:  # a thread's own exceptions end with it
                    lost.append(error)

            thread = threading.Thread(target=run_there)
            thread.start()
            thread.join()
            if lost:
                raise lost[0]
        else:
            run()
        if _copying and self._in_graphs(compiled):
            outcome.outputs = copied(outcome.outputs)
            copy_held(self.module)
        return inputs, outcome

    def _observe(self, inputs: Inputs, outcome: _Outcome, heard: Heard) -> Observation:
        error = outcome.error
        modes = ambient_leaves()  # before this very function sets one
        leaves: dict[str, Leaf] = heard.leaves() | modes
        try:
            with torch.no_grad():
                self._look(leaves, inputs, outcome)
        except RuntimeError as unreadable:
            # What a user sees who looks now: an exception of torch's own, and of no call of ours.
            if OVERWRITTEN not in str(unreadable):
                raise
            message = f"read: {first_line(unreadable)}"
            return Observation(leaves, False, type(unreadable).__name__, message)
        return Observation(
            leaves,
            returned=error is None,
            exception="" if error is None else type(error).__name__,
            message="" if error is None else f"{outcome.stage}: {first_line(error)}",
        )

    def _look(self, leaves: dict[str, Leaf], inputs: Inputs, outcome: _Outcome) -> None:
        """Add to `leaves` what can be seen of outputs, inputs, gradients and state."""
        if outcome.error is None:
            aliases = Aliases()
            for name, value in inputs.arguments.items():
                aliases.add(f"input.{name}", tensors_of(value))
            for name, parameter in self.module.named_parameters():
                aliases.add(f"param.{name}", [parameter])
            for name, buffer in self.module.named_buffers():
                aliases.add(f"buffer.{name}", [buffer])
            for index, earlier in enumerate(reversed(self._earlier)):
                if _readable(earlier):
                    aliases.add(f"earlier[-{index + 1}]", tensors_of(earlier))
            leaves |= value_leaves("output", outcome.outputs, aliases)
        for name, value in inputs.arguments.items():
            if isinstance(value, (Tensor, list)):
                leaves |= value_leaves(f"input.{name}", value)
        for name, leaf in inputs.leaves.items():
            if leaf.grad is not None:
                leaves |= value_leaves(f"grad.input.{name}", leaf.grad)
        leaves |= self.state_leaves()

    def state_leaves(self) -> dict[str, Leaf]:
        """Return what a user sees of program state: module, constructs, earlier outputs."""
        leaves = module_leaves(self.module)
        for name, (target, owner) in self._objects.items():
            if target.observer is not None:
                for key, value in target.observer(owner).items():
                    leaves |= value_leaves(f"state.{name}.{key}", value)
        for index, earlier in enumerate(reversed(self._earlier)):
            path = f"earlier[-{index + 1}]"
            leaves |= value_leaves(path, earlier) if _readable(earlier) else {path: GIVEN_BACK}
        return leaves

    def change(self, change: Change) -> Observation | None:
        """Make a change; an exception that it raises is observed, as in a user's program."""
        _, owner = self._objects[change.target]
        action = self.action_of(change)
        try:
            with self._provenance or nullcontext():
                action.apply(owner, change.value)
                self.device.settle()
        except Exception as error:
            self.device.examine(error)
            return Observation(
                {}, returned=False, exception=type(error).__name__, message=first_line(error)
            )
        return None

    compiler_change = change

    def action_of(self, change: Change) -> Action:
        """Return the action that `change` names."""
        target, _ = self._objects[change.target]
        return target.actions[change.action]


def _readable(outputs: object) -> bool:
    """Whether the memory of `outputs` is still theirs."""
    if outputs is TAKEN_BACK:
        return False
    try:
        for tensor in tensors_of(outputs):
            if tensor.layout == torch.strided and tensor.device.type == "cuda":
                tensor.untyped_storage().data_ptr()
    except RuntimeError as error:
        if OVERWRITTEN in str(error):
            return False
        raise
    return True


class _Outcome:
    """What one invocation gave: outputs, or the exception and the stage that raised it."""

    def __init__(self, device: Device, *, second_order: bool) -> None:
        self.device = device
        self.second_order = second_order
        self.outputs: object = None
        self.error: BaseException | None = None
        self.stage = "call"

    def run(
        self, target: Callable[..., object], inputs: Inputs, call: Call, *, autocast: bool
    ) -> None:
        try:
            with ExitStack() as stack:
                if call.choice("grad") == "no_grad":
                    stack.enter_context(torch.no_grad())
                elif call.choice("grad") == "inference":
                    stack.enter_context(torch.inference_mode())
                if autocast and call.autocast:
                    dtype = DTYPES[call.choice("autocast")]
                    stack.enter_context(torch.autocast(self.device.name, dtype=dtype))
                self.outputs = target(*inputs.arguments.values())
                self.device.settle()
            if call.backward and not call.grad:
                self.stage = "backward"
                self._backward(inputs, call)
                self.device.settle()
        except Exception as error:
            self.device.examine(error)
            # The traceback would keep every frame's tensors alive and make later calls differ.
            self.error = error.with_traceback(None)
            self.outputs = None

    def _backward(self, inputs: Inputs, call: Call) -> None:
        wanted = [
            tensor
            for tensor in tensors_of(self.outputs)
            if tensor.requires_grad and tensor.is_floating_point()
        ]
        if not wanted:
            return
        loss = sum(_weighted_sum(tensor) for tensor in wanted)
        assert isinstance(loss, Tensor)
        kind = call.choice("backward")
        if kind == "twice":
            loss.backward(retain_graph=True)
        if kind == "create_graph":
            # Through a copy of the graph's gradients: .grad itself would hold a reference cycle.
            leaves = list(inputs.leaves.values())
            if leaves:
                grads = torch.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
                found = [grad for grad in grads if grad is not None]
                if self.second_order:
                    found += _second_gradients(found, leaves)
                # Nobody promises what strides a gradient has that lands in no `.grad`.
                plain = [grad.detach().contiguous() for grad in found]
                self.outputs = (*tensors_of(self.outputs), *plain)
            return
        loss.backward()


def _second_gradients(grads: list[Tensor], leaves: list[Tensor]) -> list[Tensor]:
    """Return the gradients with respect to `leaves` of first gradients that depend on them."""
    wanted = [grad for grad in grads if grad.requires_grad]
    if not wanted:
        return []
    loss = sum(_weighted_sum(grad) for grad in wanted)
    assert isinstance(loss, Tensor)
    found = torch.autograd.grad(loss, leaves, allow_unused=True)
    return [grad for grad in found if grad is not None]


def _weighted_sum(tensor: Tensor) -> Tensor:
    """Return a sum whose gradient differs from element to element: a plain sum hides mix-ups."""
    count = tensor.numel()
    weights = torch.linspace(0.5, 1.5, count, dtype=tensor.dtype, device=tensor.device)
    return (tensor.reshape(-1) * weights).sum()
