"""One arm's program: the subject, its compiled function, and what each step does and shows."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle

from rondo.frameworks.base import Arm, Program
from rondo.frameworks.paddle import statics
from rondo.frameworks.paddle.inputs import make_inputs
from rondo.frameworks.paddle.kinds import BAKED_CHANGE, BAKED_CHANGES, SIDE_EFFECT
from rondo.frameworks.paddle.observe import (
    ambient_leaves,
    layer_leaves,
    parameters_of,
    value_leaves,
)
from rondo.frameworks.paddle.subject import Subject, build_subject
from rondo.frameworks.shared.catalogue import Catalogue
from rondo.frameworks.shared.labels import first_line
from rondo.oracle.observation import Leaf, Observation
from rondo.sequences.step import Call, Change, Sequence
from rondo.subjects.target import Action, Target

EARLIER_OUTPUTS = 2
"""How many earlier outputs are kept alive and looked at again."""


@dataclass(slots=True)
class CompileSettings:
    """How the next compiled function is made. Compiler changes that carry over act on this."""

    full_graph: bool
    own_full_graph: bool
    dynamic_shape: bool = True
    min_graph_size: int = 0
    anew: frozenset[str] = frozenset()
    """The kinds of targets after whose changes whole-graph capture starts from nothing."""

    def function(self, forward: Callable[..., object]) -> Any:
        """Compile a forward as these settings say."""
        return paddle.jit.to_static(forward, full_graph=self.full_graph, backend=None)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Set what bytecode capture reads from the environment while it translates."""
        from paddle.jit.sot.utils import envs

        with (
            envs.allow_dynamic_shape_guard(self.dynamic_shape),
            envs.min_graph_size_guard(self.min_graph_size),
        ):
            yield


@contextmanager
def eagerly() -> Iterator[None]:
    """Have every compiled function inside run as plain Python: the eager arm compiles nothing."""
    before = paddle.jit.dy2static.program_translator.ProgramTranslator().enable_to_static
    paddle.jit.enable_to_static(False)
    try:
        yield
    finally:
        paddle.jit.enable_to_static(before)


class PaddleProgram(Program):
    """Runs the steps of one arm on a subject of its own. Build it through the framework's `arm`."""

    def __init__(
        self, sequence: Sequence, catalogue: Catalogue, arm: Arm, settings: CompileSettings
    ) -> None:
        spec = sequence.subject
        self.arm = arm
        self.settings = settings
        self.seed = spec.seed
        self._architecture = catalogue.architectures[spec.architecture]
        self._constructs = [catalogue.constructs[name] for name in spec.constructs]
        self.module: Subject = build_subject(
            self._architecture,
            self._constructs,
            seed=spec.seed,
            dtype="float64" if arm is Arm.REFERENCE else "float32",
        )
        self._objects: dict[str, tuple[Target, object]] = {
            spec.architecture: (self._architecture, self.module.body),
            catalogue.program.name: (catalogue.program, self),
            catalogue.compiler.name: (catalogue.compiler, self),
        }
        for construct, module in zip(self._constructs, self.module.tail, strict=True):
            self._objects[construct.name] = (construct, module)
        self._compiled: Any = None
        self._stale = False
        self.hooks: list[Any] = []
        self._side_effects = any(each.kind == SIDE_EFFECT for each in self._constructs)
        self._earlier: deque[object] = deque(maxlen=EARLIER_OUTPUTS)
        self._specs = (
            *self._architecture.schema.inputs,
            *(spec for construct in self._constructs for spec in construct.inputs),
        )

    @property
    def usual_sizes(self) -> tuple[int, ...]:
        """The choice of sizes that a call makes unless told otherwise."""
        return (0,) * len(self._architecture.schema.dimensions)

    def rewrap(self) -> None:
        """Make the next compiled call go through a new compiled function."""
        self._compiled = None

    def function(self) -> Any:
        """Return the compiled function that calls go through."""
        if self._compiled is None:
            self._compiled = self.settings.function(self.module.forward)
        return self._compiled

    def arguments(self, call: Call) -> tuple[object, ...]:
        """Build the arguments of `call` for this arm."""
        inputs = make_inputs(
            call,
            self._specs,
            self._architecture.schema.dimensions,
            seed=self.seed,
            reference=self.arm is Arm.REFERENCE,
        )
        return tuple(inputs.values()), self.module.arguments()

    def call(self, call: Call, *, compiled: bool) -> Observation:
        """Invoke the subject once; a raised exception becomes part of the observation."""
        arguments, outcome = self._invoke(call, compiled=compiled)
        observation = self._observe(call, arguments, outcome)
        if outcome.error is None:
            self._earlier.append(outcome.outputs)
        return observation

    def invoke(self, call: Call, *, compiled: bool) -> None:
        """Invoke the subject once and look at nothing."""
        self._invoke(call, compiled=compiled)

    def _invoke(self, call: Call, *, compiled: bool) -> tuple[tuple[object, ...], _Outcome]:
        arguments = self.arguments(call)
        if compiled and self._stale and self.settings.full_graph:
            statics.reset()
            self.rewrap()
            self._stale = False
        target = self.function() if compiled else self.module.forward
        outcome = _Outcome()
        if differentiates(call, self.module):
            self.module.clear_gradients(set_to_zero=False)

        def run() -> None:
            with self.settings.applied() if compiled else eagerly():
                outcome.run(target, arguments, call, self.module)

        if call.choice("thread") == "other":
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        else:
            run()
        if compiled and self.repeats_side_effects:
            self._stale = True
        return arguments, outcome

    @property
    def repeats_side_effects(self) -> bool:
        """Whether side effects happen at each call: that only a trace runs them is set aside.

        Then nothing may be traced ahead of a call either: no eager code would run.
        """
        return self._side_effects and SIDE_EFFECT in self.settings.anew

    def _observe(self, call: Call, arguments: tuple[object, ...], outcome: _Outcome) -> Observation:
        error = outcome.error
        leaves: dict[str, Leaf] = {}
        if error is None:
            leaves |= value_leaves("output", outcome.outputs)
        leaves |= value_leaves("input", arguments[0])
        for name, gradient in outcome.gradients.items():
            # Detached: whether a gradient may be differentiated again differs between eager and
            # compiled calls by design, since compiled programs have no second derivative.
            seen = None if gradient is None else gradient.detach()
            leaves |= value_leaves(f"grad.{name}", seen)
        leaves |= self.state_leaves()
        return Observation(
            leaves,
            returned=error is None,
            exception="" if error is None else type(error).__name__,
            message="" if error is None else f"{outcome.stage}: {telling_line(error)}",
        )

    def state_leaves(self) -> dict[str, Leaf]:
        """Return what a user sees of program state: tensors, constructs, outputs, modes."""
        leaves = layer_leaves(self.module)
        for name, (target, owner) in self._objects.items():
            if target.observer is not None:
                for key, value in target.observer(owner).items():
                    leaves |= value_leaves(f"state.{name}.{key}", value)
        for index, earlier in enumerate(reversed(self._earlier)):
            leaves |= value_leaves(f"earlier[-{index + 1}]", earlier)
        return leaves | ambient_leaves()

    def change(self, change: Change) -> Observation | None:
        """Make a change; an exception that it raises is observed, as in a user's program."""
        target, owner = self._objects[change.target]
        compiles = owner is self or self.arm is Arm.RETAINED
        try:
            with nullcontext() if compiles else eagerly():
                self.action_of(change).apply(owner, change.value)
        except Exception as error:
            return Observation(
                {}, returned=False, exception=type(error).__name__, message=telling_line(error)
            )
        kind = BAKED_CHANGE if self.action_of(change).spec.name in BAKED_CHANGES else target.kind
        if kind in self.settings.anew:
            self._stale = True
        return None

    compiler_change = change

    def action_of(self, change: Change) -> Action:
        """Return the action that `change` names."""
        target, _ = self._objects[change.target]
        return target.actions[change.action]


class _Outcome:
    """What one invocation gave: outputs and gradients, or the exception and what raised it."""

    def __init__(self) -> None:
        self.outputs: object = None
        self.gradients: dict[str, Any] = {}
        self.error: BaseException | None = None
        self.stage = "call"

    def run(
        self,
        target: Callable[..., object],
        arguments: tuple[object, ...],
        call: Call,
        module: Subject,
    ) -> None:
        try:
            with ExitStack() as stack:
                if call.choice("grad") != "grad":
                    stack.enter_context(paddle.no_grad())
                autocast = call.choice("autocast")
                if autocast != "off":
                    stack.enter_context(paddle.amp.auto_cast(dtype=autocast))
                self.outputs = target(*arguments)
                if differentiates(call, module):
                    if call.choice("backward") == "twice":
                        backward(self.outputs)
                        self.outputs = target(*arguments)
                    self.stage = "backward"
                    self._differentiate(arguments, call, module)
        except Exception as error:
            # The traceback would keep every frame's tensors alive and make later calls differ.
            self.error = error.with_traceback(None)
            self.outputs = None
            self.gradients = {}

    def _differentiate(self, arguments: tuple[Any, ...], call: Call, module: Subject) -> None:
        wanted = parameters_of(module)
        inputs = [each for each in arguments[0] if isinstance(each, paddle.Tensor)]
        wanted |= {f"input.{i}": each for i, each in enumerate(inputs) if not each.stop_gradient}
        if call.choice("backward") == "create_graph":
            loss = weighted_sum(self.outputs)
            if loss is not None and not loss.stop_gradient:
                sources = {name: each for name, each in wanted.items() if not each.stop_gradient}
                found = paddle.grad(loss, list(sources.values()), allow_unused=True)
                self.gradients = dict(zip(sources, found, strict=True))
        elif backward(self.outputs):
            self.gradients = {name: each.grad for name, each in wanted.items()}


def backward(outputs: object) -> bool:
    """Add gradients of the outputs to those of what they depend on; False if on nothing."""
    loss = weighted_sum(outputs)
    if loss is None or loss.stop_gradient:
        return False
    loss.backward()
    return True


def telling_line(error: BaseException) -> str:
    """Return the line of an exception's message that says what is wrong.

    Both modes begin with a traceback of the code that they read and say it at the end.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    traced = bool(lines) and lines[0].startswith("In ") and lines[0].endswith(":")
    return lines[-1][:200] if traced else first_line(error)


def differentiates(call: Call, module: Subject) -> bool:
    """Whether `call` asks for gradients: in training only.

    `to_static` gives a layer in evaluation mode a program for inference, which has no backward.
    """
    return bool(call.backward) and module.training


def floats(values: object) -> list[Any]:
    """Return the distinct floating tensors in nested `values`."""
    flat = paddle.utils.flatten(values)
    kept = [v for v in flat if isinstance(v, paddle.Tensor) and v.is_floating_point()]
    return list({id(value): value for value in kept}.values())


def weighted_sum(outputs: object) -> Any:
    """Return a sum whose gradient differs from element to element: a plain sum hides mix-ups."""
    total: Any = None
    for tensor in floats(outputs):
        weights = np.linspace(0.5, 1.5, int(tensor.size)).reshape(tensor.shape)
        part = paddle.sum(tensor.astype("float64") * paddle.to_tensor(weights))
        total = part if total is None else total + part
    return total
