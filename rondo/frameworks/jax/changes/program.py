"""program: changes to the state of the program that any subject has.

Each does what user code does between calls: switch modes, update or replace parameters, load a
checkpoint, cast, seed, set a flag. Arrays are computed by numpy, so that a change compiles nothing.
"""

from __future__ import annotations

import random
from contextlib import nullcontext, suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rondo.frameworks.base import Arm
from rondo.frameworks.jax import flags
from rondo.frameworks.jax.eager import eagerly
from rondo.frameworks.jax.module import modules
from rondo.frameworks.jax.program import JaxProgram
from rondo.frameworks.jax.subject import copied
from rondo.sequences import vocabulary
from rondo.sequences.step import Call
from rondo.subjects.target import Target

PROGRAM = Target(
    vocabulary.PROGRAM, kind="program", doc="the model's parameters and modes, JAX's flags"
)


def scaled(factor: float) -> Any:
    """Return a function that multiplies a floating array by `factor`, in its own dtype."""

    def scale(array: Any) -> Any:
        if not jnp.issubdtype(array.dtype, jnp.floating):
            return array
        return jnp.asarray((np.asarray(array).astype(np.float64) * factor).astype(array.dtype))

    return scale


@PROGRAM.change()
def train(program: JaxProgram, value: int) -> None:
    """Put every module into training mode."""
    for module in modules(program.model):
        module.training = True


@PROGRAM.change()
def eval_(program: JaxProgram, value: int) -> None:
    """Put every module into evaluation mode."""
    for module in modules(program.model):
        module.training = False


@PROGRAM.change(values=2)
def train_part(program: JaxProgram, value: int) -> None:
    """Put only the body (0) or only the constructs (1) into evaluation mode."""
    for module in modules((program.model.body, program.model.tail)[value]):
        module.training = False


@PROGRAM.change(values=2)
def sgd_step(program: JaxProgram, value: int) -> None:
    """Take one step of plain SGD along the last gradients, bounded so that sequences stay tame."""
    if program.grads is None:
        return
    grads = {jax.tree_util.keystr(path): leaf for path, leaf in _leaves(program.grads)}
    rate = (0.01, 0.1)[value]
    updated: dict[int, Any] = {}
    for path, parameter in _leaves(program.model):
        grad = grads.get(jax.tree_util.keystr(path))
        if grad is not None and grad.shape == parameter.shape and _is_float(grad):
            step = np.clip(np.asarray(grad).astype(np.float64), -1, 1) * rate
            new = np.asarray(parameter).astype(np.float64) - step
            updated[id(parameter)] = jnp.asarray(new.astype(parameter.dtype))
    program.map_parameters(lambda array: updated.get(id(array), array))


def _leaves(tree: Any) -> list[Any]:
    return jax.tree_util.tree_leaves_with_path(tree)


def _is_float(array: Any) -> bool:
    return bool(jnp.issubdtype(array.dtype, jnp.floating))


@PROGRAM.change(values=3)
def scale_parameters(program: JaxProgram, value: int) -> None:
    """Multiply every parameter."""
    program.map_parameters(scaled((0.5, -1.0, 1.25)[value]))


@PROGRAM.change(values=2)
def copy_parameters(program: JaxProgram, value: int) -> None:
    """Put equal new arrays in the parameters' place: uncommitted (0) or committed to a device (1).

    jit keeps another fast entry for committed arrays, for the same trace.
    """

    def copy(array: Any) -> Any:
        held = np.array(array)
        return jax.device_put(held, jax.devices()[0]) if value else jnp.asarray(held)

    program.map_parameters(copy)


@PROGRAM.change(values=2)
def cast_parameters(program: JaxProgram, value: int) -> None:
    """Cast the model to bfloat16 (0) or to float32 (1)."""
    if program.arm is not Arm.REFERENCE:
        program.cast_parameters(("bfloat16", "float32")[value])


@PROGRAM.change(values=2)
def reset_buffers(program: JaxProgram, value: int) -> None:
    """Put zeros (0) or halves (1) in the place of all buffers."""
    for module in modules(program.model):
        for name, buffer in module.buffers.items():
            module.buffers[name] = jnp.asarray(np.full(buffer.shape, value / 2, buffer.dtype))


@PROGRAM.change(values=2)
def load_checkpoint(program: JaxProgram, value: int) -> None:
    """Load a checkpoint: three quarters of every value, as JAX (0) or numpy arrays (1)."""

    def load(array: Any) -> Any:
        loaded = np.asarray(scaled(0.75)(array))
        return loaded if value else jnp.asarray(loaded)

    program.map_parameters(load)


@PROGRAM.change(values=4)
def seed(program: JaxProgram, value: int) -> None:
    """Seed the keys that calls get, Python's random and numpy."""
    program.key_seed = value
    random.seed(value)
    np.random.seed(value)


@PROGRAM.change(values=len(flags.CHOICES))
def flag(program: JaxProgram, value: int) -> None:
    """Set one of JAX's flags to one of its values."""
    name, setting = flags.CHOICES[value]
    if not (program.arm is Arm.REFERENCE and name == "jax_enable_x64"):
        flags.set_flag(name, setting)


@PROGRAM.change(values=2)
def failing_call(program: JaxProgram, value: int) -> None:
    """Call without inputs (0), or with a key of a wrong shape (1), and catch what that raises.

    Only the retained arm fails through jit: the reset arm's past is eager.
    """
    compiled = program.arm is Arm.RETAINED and program.settings.jit
    usual = Call(sizes=(0,) * len(program._architecture.schema.dimensions))
    inputs = program.make_inputs(usual)
    model, floats, state, key, others, *static = program.arguments(usual, inputs)
    function = program.functions(inputs).subject
    if value:
        key = np.zeros(3, np.uint32)
    else:
        others = {}
    if compiled:
        function = program.jitted("none", function, len(static))
    else:
        model = copied(program.model)
    with suppress(Exception), nullcontext() if compiled else eagerly():
        function(model, floats, state, key, others, *static)
