"""One arm's program: the subject, its tf.function, and what each step does and shows."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import tensorflow as tf

from rondo.frameworks.base import Arm, Program
from rondo.frameworks.shared.labels import first_line
from rondo.frameworks.tensorflow._start import LOG
from rondo.frameworks.tensorflow.functions import reset_functions
from rondo.frameworks.tensorflow.inputs import make_inputs
from rondo.frameworks.tensorflow.observe import (
    ambient_leaves,
    value_leaves,
    variable_leaves,
    variables_of,
)
from rondo.frameworks.tensorflow.pictures import Tracker, module_state
from rondo.frameworks.tensorflow.subject import Subject, build_subject
from rondo.oracle.observation import Leaf, Observation
from rondo.sequences.step import Call, Change, Sequence
from rondo.subjects.target import Action, Architecture, Construct, Target

EARLIER_OUTPUTS = 2
"""How many earlier outputs are kept alive and looked at again."""

ZERO = tf.UnconnectedGradients.ZERO
"""What an unconnected gradient is: a tf.function gives zeros where a tape alone gives None."""


@dataclass(slots=True)
class CompileSettings:
    """How the next tf.function is made. Compiler changes that carry over act on this."""

    xla: bool
    own_xla: bool
    reduce_retracing: bool = False
    autograph: bool = True
    optimizer: dict[str, bool] = field(default_factory=dict)

    def function(self, python_function: Callable[..., object]) -> Any:
        """Wrap a function as these settings say."""
        return tf.function(
            python_function,
            jit_compile=True if self.xla else None,
            reduce_retracing=self.reduce_retracing,
            autograph=False,
        )


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The targets that steps may change, by name."""

    architectures: dict[str, Architecture]
    constructs: dict[str, Construct]
    program: Target
    compiler: Target


@contextmanager
def eagerly() -> Iterator[None]:
    """Have every tf.function inside call its Python function: the eager arm compiles nothing."""
    before = tf.config.functions_run_eagerly()
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(before)


class TensorFlowProgram(Program):
    """Runs the steps of one arm on a subject of its own. Build it through the framework's `arm`."""

    def __init__(
        self,
        sequence: Sequence,
        catalogue: Catalogue,
        arm: Arm,
        settings: CompileSettings,
        modules: list[ModuleType],
    ) -> None:
        spec = sequence.subject
        self.arm = arm
        self.settings = settings
        self.seed = spec.seed
        self.training = True
        self.gradients: dict[str, Any] = {}
        self._architecture = catalogue.architectures[spec.architecture]
        self._constructs = [catalogue.constructs[name] for name in spec.constructs]
        # What a user's program compiles while it builds its model is retained as well.
        with nullcontext() if arm is Arm.RETAINED else eagerly():
            self.module: Subject = build_subject(
                self._architecture,
                self._constructs,
                seed=spec.seed,
                dtype=tf.float64 if arm is Arm.REFERENCE else tf.float32,
            )
        self._objects: dict[str, tuple[Target, object]] = {
            spec.architecture: (self._architecture, self.module.body),
            catalogue.program.name: (catalogue.program, self),
            catalogue.compiler.name: (catalogue.compiler, self),
        }
        for construct, module in zip(self._constructs, self.module.tail, strict=True):
            self._objects[construct.name] = (construct, module)
        self._compiled: Any = None
        self._earlier: deque[object] = deque(maxlen=EARLIER_OUTPUTS)
        self.tracker = Tracker(
            lambda: [self.module.body, self.module.tail, *map(module_state, modules)]
        )
        self._specs = (
            *self._architecture.schema.inputs,
            *(spec for construct in self._constructs for spec in construct.inputs),
        )

    @property
    def usual_sizes(self) -> tuple[int, ...]:
        """The choice of sizes that a call makes unless told otherwise."""
        return (0,) * len(self._architecture.schema.dimensions)

    def rewrap(self) -> None:
        """Make the next compiled call go through a new tf.function."""
        self._compiled = None

    def function(self) -> Any:
        """Return the tf.function that compiled calls go through."""
        if self._compiled is None:
            self.module.autograph = self.settings.autograph
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
        return self.training, tuple(inputs.values()), self.module.arguments()

    def call(self, call: Call, *, compiled: bool) -> Observation:
        """Invoke the subject once; a raised exception becomes part of the observation."""
        arguments, outcome = self._invoke(call, compiled=compiled)
        observation = self._observe(arguments, outcome)
        if outcome.error is None:
            self._earlier.append(outcome.outputs)
        return observation

    def invoke(self, call: Call, *, compiled: bool) -> None:
        """Invoke the subject once and look at nothing."""
        self._invoke(call, compiled=compiled)

    def _invoke(self, call: Call, *, compiled: bool) -> tuple[tuple[object, ...], _Outcome]:
        arguments = self.arguments(call)
        if compiled and self.tracker.stale():
            reset_functions()
            self.rewrap()
        target = self.function() if compiled else self.module.forward
        outcome = _Outcome()

        def run() -> None:
            with nullcontext() if compiled else eagerly():
                outcome.run(target, arguments, call, self.module)

        with ExitStack() as stack:
            stack.enter_context(LOG.caught())
            if compiled:
                stack.enter_context(self._optimizer())
            if call.choice("thread") == "other":
                thread = threading.Thread(target=run)
                thread.start()
                thread.join()
            else:
                run()
        if compiled:
            self.tracker.called()
        if outcome.error is None and call.backward and not call.grad:
            self.gradients = outcome.gradients
        return arguments, outcome

    @contextmanager
    def _optimizer(self) -> Iterator[None]:
        """Run a compiled call under the graph optimizer's options that a change asked for."""
        if not self.settings.optimizer:
            yield
            return
        before = {name: not value for name, value in self.settings.optimizer.items()}
        tf.config.optimizer.set_experimental_options(self.settings.optimizer)
        try:
            yield
        finally:
            tf.config.optimizer.set_experimental_options(before)

    def _observe(self, arguments: tuple[object, ...], outcome: _Outcome) -> Observation:
        error = outcome.error
        leaves: dict[str, Leaf] = {}
        if error is None:
            leaves |= value_leaves("output", outcome.outputs)
        leaves |= value_leaves("input", arguments[1])
        for name, gradient in outcome.gradients.items():
            leaves |= value_leaves(f"grad.{name}", gradient)
        leaves |= self.state_leaves()
        return Observation(
            leaves,
            returned=error is None,
            exception="" if error is None else type(error).__name__,
            message="" if error is None else f"{outcome.stage}: {first_line(error)}",
        )

    def state_leaves(self) -> dict[str, Leaf]:
        """Return what a user sees of program state: variables, constructs, outputs, modes."""
        leaves = variable_leaves(self.module)
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
        try:
            with eagerly() if self.eager_changes(target) else nullcontext():
                self.action_of(change).apply(owner, change.value)
        except Exception as error:
            return Observation(
                {}, returned=False, exception=type(error).__name__, message=first_line(error)
            )
        return None

    compiler_change = change

    def eager_changes(self, target: Target) -> bool:
        """Whether what a change runs must not be compiled: in the arms that are eager so far."""
        ambient = isinstance(self._objects[target.name][1], TensorFlowProgram)
        return self.arm is not Arm.RETAINED and not ambient

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
            if call.backward and not call.grad:
                self._differentiate(target, arguments, call, module)
            else:
                self.outputs = target(*arguments)
        except Exception as error:
            # The traceback would keep every frame's tensors alive and make later calls differ.
            self.error = error.with_traceback(None)
            self.outputs = None
            self.gradients = {}

    def _differentiate(
        self,
        target: Callable[..., object],
        arguments: tuple[object, ...],
        call: Call,
        module: Subject,
    ) -> None:
        kind = call.choice("backward")
        watched = _floats(arguments[1]) if call.inputs_grad else []
        with ExitStack() as stack:
            outer = stack.enter_context(tf.GradientTape()) if kind == "create_graph" else None
            with tf.GradientTape(persistent=kind == "twice") as tape:
                for each in (tape, outer):
                    if each is not None:
                        each.watch(watched)
                self.outputs = target(*arguments)
                loss = _loss(self.outputs)
            self.stage = "backward"
            if loss is None:
                return
            variables = {
                name: variable
                for name, variable in variables_of(module).items()
                if variable.trainable and _is_float(variable)
            }
            wanted = {**variables, **{f"input.{i}": t for i, t in enumerate(watched)}}
            sources = [getattr(v, "value", v) if _is_keras(v) else v for v in wanted.values()]
            if kind == "twice":
                tape.gradient(loss, sources, unconnected_gradients=ZERO)
            found = tape.gradient(loss, sources, unconnected_gradients=ZERO)
            again = _loss(found) if outer is not None else None
        if outer is not None and again is not None:
            second = outer.gradient(again, sources, unconnected_gradients=ZERO)
            self.outputs = (self.outputs, second)
        self.gradients = dict(zip(wanted, found, strict=True))


def _is_keras(variable: Any) -> bool:
    return not isinstance(variable, tf.Variable) and hasattr(variable, "assign")


def _is_float(value: Any) -> bool:
    return bool(tf.as_dtype(value.dtype).is_floating)


def _floats(values: object) -> list[Any]:
    """Return the distinct floating tensors and variables in nested `values`."""
    flat = tf.nest.flatten(values)
    kept = [v for v in flat if isinstance(v, (tf.Tensor, tf.Variable)) and _is_float(v)]
    return list({id(value): value for value in kept}.values())


def _loss(outputs: object) -> Any:
    """Return a sum whose gradient differs from element to element: a plain sum hides mix-ups."""
    total: Any = None
    for tensor in _floats(outputs):
        flat = tf.reshape(tf.convert_to_tensor(tensor), [-1])
        weights = tf.constant(np.linspace(0.5, 1.5, flat.shape[0]), flat.dtype)
        part = tf.cast(tf.reduce_sum(flat * weights), tf.float64)
        total = part if total is None else total + part
    return total
