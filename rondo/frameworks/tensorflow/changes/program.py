"""program: changes to the state of the program that any subject has.

Each does what user code does between calls: switch to evaluation, update or replace variables,
seed, or set one of TensorFlow's and Keras's global settings. None of those settings is part of the
key under which tf.function keeps a trace. What is global is put back after the arm.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from rondo.frameworks.tensorflow.ambient import seed_everything, set_check_numerics
from rondo.frameworks.tensorflow.observe import variables_of
from rondo.frameworks.tensorflow.program import TensorFlowProgram
from rondo.sequences import vocabulary
from rondo.subjects.target import Target

PROGRAM = Target(
    vocabulary.PROGRAM,
    kind="program",
    doc="the subject's variables, TensorFlow's and Keras's globals",
)


def _float_variables(program: TensorFlowProgram) -> list[tuple[str, Any]]:
    return [
        (name, variable)
        for name, variable in variables_of(program.module).items()
        if tf.as_dtype(variable.dtype).is_floating
    ]


@PROGRAM.change()
def train(program: TensorFlowProgram, value: int) -> None:
    """Call with training=True from now on."""
    program.training = True


@PROGRAM.change()
def eval_(program: TensorFlowProgram, value: int) -> None:
    """Call with training=False from now on."""
    program.training = False


@PROGRAM.change(values=2)
def sgd_step(program: TensorFlowProgram, value: int) -> None:
    """Take one step of plain SGD, bounded so that long sequences stay tame."""
    variables = variables_of(program.module)
    for name, gradient in program.gradients.items():
        if name in variables:
            dense = tf.clip_by_value(tf.convert_to_tensor(gradient), -1.0, 1.0)
            variables[name].assign_sub(dense * (0.01, 0.1)[value])


@PROGRAM.change(values=3)
def scale_variables(program: TensorFlowProgram, value: int) -> None:
    """Multiply every trainable variable in place."""
    for _, variable in _float_variables(program):
        if variable.trainable:
            variable.assign(variable * (0.5, -1.0, 1.25)[value])


@PROGRAM.change(values=2)
def load_values(program: TensorFlowProgram, value: int) -> None:
    """Assign every variable the values of a numpy copy: scaled (0), or as they are (1)."""
    for _, variable in _float_variables(program):
        variable.assign(tf.convert_to_tensor(variable).numpy() * (0.75, 1.0)[value])


@PROGRAM.change(values=2)
def replace_variables(program: TensorFlowProgram, value: int) -> None:
    """Put new variables in place of the body's own, all (0) or the first only (1)."""
    body = program.module.body
    modules = (body, *body.submodules) if isinstance(body, tf.Module) else ()
    for module in modules:
        for name, variable in list(vars(module).items()):
            if isinstance(variable, tf.Variable) and variable.dtype.is_floating:
                fresh = tf.Variable(variable * 0.75, trainable=variable.trainable)
                setattr(module, name, fresh)
                if value == 1:
                    return


@PROGRAM.change(values=4)
def seed(program: TensorFlowProgram, value: int) -> None:
    """Seed Python, numpy, TensorFlow and Keras (`keras.utils.set_random_seed`)."""
    seed_everything(value)


@PROGRAM.change(values=2)
def floatx(program: TensorFlowProgram, value: int) -> None:
    """Set Keras's default float to float64 (0) or back to float32 (1)."""
    keras.config.set_floatx(("float64", "float32")[value])


@PROGRAM.change(values=3)
def dtype_policy(program: TensorFlowProgram, value: int) -> None:
    """Set Keras's global dtype policy: mixed_bfloat16 (0), float64 (1) or float32 (2)."""
    keras.config.set_dtype_policy(("mixed_bfloat16", "float64", "float32")[value])


@PROGRAM.change(values=3)
def epsilon(program: TensorFlowProgram, value: int) -> None:
    """Set Keras's fuzz factor: 0.5 (0), 0.01 (1) or the usual 1e-7 (2)."""
    keras.config.set_epsilon((0.5, 0.01, 1e-7)[value])


@PROGRAM.change(values=2)
def image_data_format(program: TensorFlowProgram, value: int) -> None:
    """Set Keras's order of image axes: channels first (0) or last (1)."""
    keras.config.set_image_data_format(("channels_first", "channels_last")[value])


@PROGRAM.change(values=2)
def check_numerics(program: TensorFlowProgram, value: int) -> None:
    """Have every operation raise on NaN and infinity (0), or not (1)."""
    set_check_numerics(value == 0)


@PROGRAM.change(values=2)
def run_functions_eagerly(program: TensorFlowProgram, value: int) -> None:
    """Have every tf.function run eagerly (0), or compiled again (1)."""
    tf.config.run_functions_eagerly(value == 0)


@PROGRAM.change(values=2)
def tensor_float_32(program: TensorFlowProgram, value: int) -> None:
    """Forbid (0) or allow (1) TensorFloat-32; a CPU has none, so nothing may change."""
    tf.config.experimental.enable_tensor_float_32_execution(bool(value))


@PROGRAM.change()
def clear_session(program: TensorFlowProgram, value: int) -> None:
    """Call `keras.backend.clear_session()`, and draw once, which makes a new generator."""
    keras.backend.clear_session(free_memory=False)
    keras.random.randint((), 0, 2)
