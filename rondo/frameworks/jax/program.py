"""One arm's program: the subject, its jitted forms, and what each step does and shows.

A call runs one of four functions, each under `jax.jit` in the compiled arms and under
`jax.disable_jit()` in the others:

| `backward` | what runs |
|---|---|
| none | the forward: `jit(subject)` |
| once | forward and gradients in one program, the usual training step: `jit(value_and_grad)` |
| twice | gradients from outside: the jitted forward is linearised and transposed by `jax.vjp` |
| create_graph | the gradient and its derivative along itself: `jit(jvp(grad))` |
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rondo.frameworks.base import Arm, Program
from rondo.frameworks.jax.eager import check_numbers, eagerly, forbidden_numbers
from rondo.frameworks.jax.inputs import make_inputs
from rondo.frameworks.jax.kinds import SIDE_EFFECT
from rondo.frameworks.jax.module import Module, load_state, modules, random_keys, read_state
from rondo.frameworks.jax.observe import ambient_leaves, model_leaves, value_leaves
from rondo.frameworks.jax.subject import Subject, build_subject, copied
from rondo.frameworks.jax.watch import Watcher
from rondo.frameworks.shared.labels import first_line
from rondo.oracle.observation import Leaf, Observation
from rondo.sequences.step import Call, Change, Sequence
from rondo.subjects.target import Action, Architecture, Construct, Target

EARLIER_OUTPUTS = 2
"""How many earlier outputs are kept alive and looked at again: enough to see a reused buffer."""

PRECISIONS = {"bfloat16": "bfloat16", "float16": "tensorfloat32"}
"""What a call's `autocast` means here: the precision of matrix products during the call."""


@dataclass(slots=True)
class CompileSettings:
    """How the next compiled call is made. Compiler changes that carry over act on this."""

    jit: bool = True
    donate: bool = False
    options: dict[str, Any] = field(default_factory=dict)
    anew: frozenset[str] = frozenset()
    """The kinds of constructs after whose changes everything is traced again."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The targets that steps may change, by name."""

    architectures: dict[str, Architecture]
    constructs: dict[str, Construct]
    program: Target
    compiler: Target


class Functions:
    """The functions over one subject that are jitted: all are pure in what they are given.

    `names` are the names of the inputs in the order in which the subject takes them.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        def subject(
            model: Subject, floats: Any, state: Any, key: Any, others: Any, *static: Any
        ) -> tuple[Any, Any]:
            given = {**floats, **others}
            load_state(model, state)
            declared = (each for each in model.tail if each.own_static)
            for construct, value in zip(declared, static, strict=True):
                construct.static_value = value
            with random_keys(key):
                outputs = model(*(given[name] for name in names))
            return outputs, read_state(model)

        def loss(*arguments: Any) -> tuple[Any, Any]:
            outputs, state = subject(*arguments)
            return weighted_sum(outputs), (outputs, state)

        def gradients(*arguments: Any) -> Any:
            return jax.value_and_grad(loss, (0, 1), has_aux=True, allow_int=True)(*arguments)

        def derivatives(model: Subject, floats: Any, *rest: Any) -> Any:
            def gradient(model: Subject, floats: Any) -> Any:
                return jax.grad(loss, (0, 1), has_aux=True)(model, floats, *rest)

            ((first, second), (outputs, state)), ((along, _), _) = jax.jvp(
                gradient, (model, floats), (tangent(model), tangent(floats))
            )
            return (0.0, (outputs, state)), (along, second), first

        self.subject = subject
        self.gradients = gradients
        self.derivatives = derivatives

    def named(self, kind: str) -> Callable[..., Any]:
        """Return the function that a call with this `backward` runs."""
        functions = {"once": self.gradients, "create_graph": self.derivatives}
        return functions.get(kind, self.subject)


def weighted_sum(outputs: Any) -> Any:
    """Return a sum whose gradient differs from element to element: a plain sum hides mix-ups."""
    total: Any = 0.0
    for leaf in jax.tree_util.tree_leaves(outputs):
        if jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating):
            weights = np.linspace(0.5, 1.5, leaf.size).reshape(leaf.shape)
            total = total + jnp.sum(leaf * jnp.asarray(weights, leaf.dtype)).astype(jnp.float32)
    return total


def tangent(tree: Any) -> Any:
    """Return the direction along which second derivatives are taken: half of each value."""
    return jax.tree_util.tree_map(lambda leaf: leaf * jnp.asarray(0.5, leaf.dtype), tree)


class JaxProgram(Program):
    """Runs the steps of one arm on a subject of its own. Build it through the framework's `arm`."""

    def __init__(
        self,
        sequence: Sequence,
        catalogue: Catalogue,
        arm: Arm,
        settings: CompileSettings,
        watcher: Watcher,
    ) -> None:
        spec = sequence.subject
        self.arm = arm
        self.settings = settings
        self.seed = spec.seed
        self.key_seed = spec.seed
        self.calls = 0
        self.grads: Module | None = None
        self._watcher = watcher
        self._architecture = catalogue.architectures[spec.architecture]
        self._constructs = [catalogue.constructs[name] for name in spec.constructs]
        self.model = build_subject(self._architecture, self._constructs, seed=spec.seed)
        if arm is Arm.REFERENCE:
            self.cast_parameters("float64")
        self._objects: dict[str, tuple[Target, object]] = {
            spec.architecture: (self._architecture, self.model.body),
            catalogue.program.name: (catalogue.program, self),
            catalogue.compiler.name: (catalogue.compiler, self),
        }
        for construct, module in zip(self._constructs, self.model.tail, strict=True):
            self._objects[construct.name] = (construct, module)
        self._specs = (
            *self._architecture.schema.inputs,
            *(spec for construct in self._constructs for spec in construct.inputs),
        )
        self._earlier: deque[object] = deque(maxlen=EARLIER_OUTPUTS)
        self._uncached = False
        self._impure = any(not construct.guarded for construct in self._constructs)
        self._side_effects = any(each.kind == SIDE_EFFECT for each in self._constructs)
        self._functions: Functions | None = None
        self._jitted: dict[str, Callable[..., Any]] = {}

    def cast_parameters(self, dtype: str) -> None:
        """Give every floating parameter and buffer the named dtype; integers stay."""

        def cast(leaf: Any) -> Any:
            return jnp.asarray(leaf, dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

        with self.precision():
            self.map_parameters(cast)
            for module in modules(self.model):
                module.buffers = {name: cast(value) for name, value in module.buffers.items()}

    def map_parameters(self, function: Callable[[Any], Any]) -> None:
        """Put `function(array)` in the place of every parameter, in the modules themselves."""
        for module in modules(self.model):
            for name, value in module.__dict__.items():
                if name != "buffers":
                    module.__dict__[name] = _mapped(value, function)

    def precision(self) -> ExitStack:
        """Return a context in which the float64 reference keeps its precision."""
        stack = ExitStack()
        if self.arm is Arm.REFERENCE:
            stack.enter_context(jax.enable_x64(True))
        return stack

    def rewrap(self, *, same_functions: bool = False) -> None:
        """Make the next compiled call go through a new `jax.jit`, of the same functions or not."""
        self._jitted = {}
        if not same_functions:
            self._functions = None

    def functions(self, inputs: dict[str, object]) -> Functions:
        """Return the functions over this subject, made at the first call."""
        if self._functions is None:
            self._functions = Functions(tuple(inputs))
        return self._functions

    def jitted(self, kind: str, function: Callable[..., Any], static: int) -> Callable[..., Any]:
        """Return the jitted form of `function`, made at its first use."""
        if kind not in self._jitted:
            self._jitted[kind] = jax.jit(
                function,
                static_argnums=tuple(range(5, 5 + static)),
                donate_argnums=(2,) if self.settings.donate else (),
                **self.settings.options,
            )
        return self._jitted[kind]

    def retained_functions(self) -> list[Any]:
        """Return the jitted functions that exist so far."""
        return list(self._jitted.values())

    def make_inputs(self, call: Call) -> dict[str, object]:
        """Build the inputs of `call` for this arm."""
        return make_inputs(
            call,
            self._specs,
            self._architecture.schema.dimensions,
            seed=self.seed,
            reference=self.arm is Arm.REFERENCE,
        )

    def arguments(self, call: Call, inputs: dict[str, object]) -> tuple[Any, ...]:
        """Return what the functions are called with: arrays that vary, then static values."""
        floats = {
            name: value
            for name, value in inputs.items()
            if call.inputs_grad and hasattr(value, "dtype") and _is_float(value)
        }
        others = {name: value for name, value in inputs.items() if name not in floats}
        key = np.array([self.key_seed, self.calls], np.uint32)
        static = [each.static_value for each in self.model.tail if each.own_static]
        return (self.model, floats, read_state(self.model), key, others, *static)

    def call(self, call: Call, *, compiled: bool) -> Observation:
        """Invoke the subject once; a raised exception becomes part of the observation."""
        inputs, outcome = self._invoke(call, compiled=compiled)
        observation = self._observe(inputs, outcome)
        if outcome.error is None:
            self._earlier.append(outcome.outputs)
        return observation

    def invoke(self, call: Call, *, compiled: bool) -> None:
        """Invoke the subject once and wait for its result, but look at nothing."""
        _, outcome = self._invoke(call, compiled=compiled)
        jax.block_until_ready(outcome.outputs)

    def _invoke(self, call: Call, *, compiled: bool) -> tuple[dict[str, object], _Outcome]:
        self._prepare_caches(compiled=compiled)
        with self.precision():
            inputs = self.make_inputs(call)
        arguments = self.arguments(call, inputs)
        kind = call.choice("backward")
        function = self.functions(inputs).named(kind)
        if not (compiled and self.settings.jit):
            arguments = unjitted(self.model, arguments)
        else:
            function = self.jitted(kind, function, len(arguments) - 5)
            self._watcher.serve(function)
        outcome = _Outcome(kind, function, arguments)
        # Read before the eager arm switches them off.
        checks = (False, False) if compiled else forbidden_numbers()

        def run() -> None:
            with self.precision() as stack:
                if not compiled:
                    stack.enter_context(eagerly())
                if call.autocast and self.arm is not Arm.REFERENCE:
                    precision = PRECISIONS[call.choice("autocast")]
                    stack.enter_context(jax.default_matmul_precision(precision))
                outcome.run(checks=checks)

        if call.choice("thread") == "other":
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
        else:
            run()
        self.calls += 1
        if outcome.error is None:
            load_state(self.model, outcome.state)
            if outcome.grads is not None:
                self.grads = outcome.grads
        return inputs, outcome

    def _prepare_caches(self, *, compiled: bool) -> None:
        """Before an eager call drop every trace that an eager operation may have kept.

        Some of JAX's functions (checkpoint, reduce, reduce_window ...) keep traces by function
        object even under `disable_jit`. Nothing but a change, or a construct that is not guarded,
        can make such a trace stale.
        """
        if compiled:
            if self.repeats_side_effects:
                self._trace_anew()
            return
        if not self._uncached or self._impure:
            jax.clear_caches()
            self._uncached = True

    @property
    def repeats_side_effects(self) -> bool:
        """Whether side effects happen at each call: that only a trace runs them is set aside.

        Then nothing may be traced ahead of a call either: no eager code would run.
        """
        return self._side_effects and SIDE_EFFECT in self.settings.anew

    def _trace_anew(self) -> None:
        jax.clear_caches()
        self.rewrap()

    def _observe(self, inputs: dict[str, object], outcome: _Outcome) -> Observation:
        error = outcome.error
        leaves: dict[str, Leaf] = {}
        if error is None:
            leaves |= value_leaves("output", outcome.outputs)
            for name, grad in outcome.input_grads.items():
                leaves |= value_leaves(f"grad.input.{name}", grad)
        for name, value in inputs.items():
            if hasattr(value, "dtype"):
                leaves |= value_leaves(f"input.{name}", value)
        leaves |= self.state_leaves()
        return Observation(
            leaves,
            returned=error is None,
            exception="" if error is None else type(error).__name__,
            message="" if error is None else first_line(error),
        )

    def state_leaves(self) -> dict[str, Leaf]:
        """Return what a user sees of program state: model, constructs, earlier outputs, flags."""
        leaves = model_leaves("param", self.model)
        for name, value in read_state(self.model).items():
            leaves |= value_leaves(f"buffer.{name}", value)
        if self.grads is not None:
            leaves |= model_leaves("grad", self.grads)
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
        self._uncached = False
        try:
            with self.precision():
                self.action_of(change).apply(owner, change.value)
        except Exception as error:
            return Observation(
                {}, returned=False, exception=type(error).__name__, message=first_line(error)
            )
        if target.kind in self.settings.anew:
            self._trace_anew()
        return None

    compiler_change = change

    def action_of(self, change: Change) -> Action:
        """Return the action that `change` names."""
        target, _ = self._objects[change.target]
        return target.actions[change.action]


def unjitted(model: Subject, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments as a jitted function would see them: a copied model, JAX arrays only."""
    _, floats, state, key, others, *static = arguments

    def as_array(leaf: Any) -> Any:
        return leaf if isinstance(leaf, jax.Array) else jnp.asarray(leaf)

    floats, others = jax.tree_util.tree_map(as_array, (floats, others))
    return (copied(model), floats, state, key, others, *static)


def _is_float(value: Any) -> bool:
    return bool(jnp.issubdtype(value.dtype, jnp.floating))


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Return `value` with every array replaced, leaving modules in it to their own turn."""
    if isinstance(value, (jax.Array, np.ndarray)):
        return function(value)
    if isinstance(value, dict):
        return {key: _mapped(item, function) for key, item in value.items()}
    if isinstance(value, list):
        return [_mapped(item, function) for item in value]
    if type(value) is tuple:
        return tuple(_mapped(item, function) for item in value)
    return value


class _Outcome:
    """What one invocation gave: outputs, new state and gradients, or the exception."""

    def __init__(self, kind: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.kind = kind
        self.function = function
        self.arguments = arguments
        self.outputs: object = None
        self.state: dict[str, Any] = {}
        self.grads: Module | None = None
        self.input_grads: dict[str, Any] = {}
        self.error: BaseException | None = None

    def run(self, *, checks: tuple[bool, bool]) -> None:
        """Call the function; look for NaNs and infinities in its results if `checks` says so."""
        try:
            if self.kind == "twice":
                self._from_outside()
            elif self.kind == "none":
                self.outputs, self.state = self.function(*self.arguments)
            else:
                (_, (outputs, self.state)), (self.grads, self.input_grads), *more = self.function(
                    *self.arguments
                )
                self.outputs = (*outputs, *(leaf for leaf in jax.tree_util.tree_leaves(more)))
            results = (self.outputs, self.state, self.grads, self.input_grads)
            jax.block_until_ready(results)
            nans, infs = checks
            check_numbers(results, nans=nans, infs=infs)
        except Exception as error:
            # The traceback would keep every frame's arrays alive and make later calls differ.
            self.error = error.with_traceback(None)
            self.outputs = None

    def _from_outside(self) -> None:
        model, floats, *rest = self.arguments

        def forward(model: Any, floats: Any) -> Any:
            return self.function(model, floats, *rest)

        self.outputs, pull, self.state = jax.vjp(forward, model, floats, has_aux=True)
        weights = jax.tree_util.tree_map(_cotangent, self.outputs)
        self.grads, self.input_grads = pull(weights)


def _cotangent(leaf: Any) -> Any:
    """Return weights that differ from element to element, or the zero that an integer takes."""
    if not _is_float(leaf):
        return np.zeros(leaf.shape, jax.dtypes.float0)
    return jnp.asarray(np.linspace(0.5, 1.5, leaf.size).reshape(leaf.shape), leaf.dtype)
