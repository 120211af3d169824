"""program: changes to the state of the program that any subject has.

Each does what user code does between calls: switch to evaluation, update, replace or freeze
parameters, register hooks, seed, or set one of Paddle's global modes. What is global is put back
after the arm.
"""

from __future__ import annotations

from typing import Any

import paddle

from rondo.frameworks.paddle.ambient import seed_everything
from rondo.frameworks.paddle.observe import parameters_of
from rondo.frameworks.paddle.program import PaddleProgram
from rondo.sequences import vocabulary
from rondo.subjects.target import Target

PROGRAM = Target(
    vocabulary.PROGRAM, kind="program", doc="the subject's parameters and hooks, Paddle's globals"
)


def replaced(parameter: Any, factor: float) -> Any:
    """Return a new parameter like `parameter`, scaled."""
    values = (parameter.detach() * factor).numpy()
    fresh = paddle.create_parameter(
        parameter.shape,
        parameter.dtype,
        default_initializer=paddle.nn.initializer.Assign(values),
    )
    fresh.stop_gradient = parameter.stop_gradient
    return fresh


@PROGRAM.change()
def train(program: PaddleProgram, value: int) -> None:
    """Put all layers in training mode."""
    program.module.train()


@PROGRAM.change()
def eval_(program: PaddleProgram, value: int) -> None:
    """Put all layers in evaluation mode."""
    program.module.eval()


@PROGRAM.change(values=2)
def sgd_step(program: PaddleProgram, value: int) -> None:
    """Take one step of plain SGD, bounded so that long sequences stay tame."""
    with paddle.no_grad():
        for parameter in parameters_of(program.module).values():
            if parameter.grad is not None:
                step = paddle.clip(parameter.grad, -1.0, 1.0) * (0.01, 0.1)[value]
                paddle.assign(parameter - step, parameter)


@PROGRAM.change(values=3)
def scale_parameters(program: PaddleProgram, value: int) -> None:
    """Multiply every parameter in place."""
    with paddle.no_grad():
        for parameter in parameters_of(program.module).values():
            paddle.assign(parameter * (0.5, -1.0, 1.25)[value], parameter)


@PROGRAM.change(values=2)
def load_values(program: PaddleProgram, value: int) -> None:
    """Load a copy of the state: scaled (0), or as it is (1)."""
    state = program.module.state_dict()
    program.module.set_state_dict(
        {name: tensor.detach().clone() * (0.75, 1.0)[value] for name, tensor in state.items()}
    )


@PROGRAM.change(values=2)
def replace_parameters(program: PaddleProgram, value: int) -> None:
    """Put new parameters in place of the body's own, all (0) or the first only (1)."""
    for layer in program.module.body.sublayers(include_self=True):
        for name, parameter in list(layer._parameters.items()):
            if parameter is not None:
                setattr(layer, name, replaced(parameter, 0.75))
                if value == 1:
                    return


@PROGRAM.change(values=3)
def freeze(program: PaddleProgram, value: int) -> None:
    """Freeze the parameters of the body, all (0) or the first only (1), or thaw them all (2)."""
    parameters = list(program.module.body.parameters())
    for parameter in parameters[:1] if value == 1 else parameters:
        parameter.stop_gradient = value != 2


def scale_input(layer: Any, inputs: Any) -> Any:
    """A forward pre-hook: halve the first input if it is a float."""
    first, *rest = inputs
    return (first * 0.5 if first.is_floating_point() else first, *rest)


def shift_output(layer: Any, inputs: Any, outputs: Any) -> Any:
    """A forward post-hook: add one to the output."""
    return outputs + 1.0


@PROGRAM.change(values=2)
def add_hook(program: PaddleProgram, value: int) -> None:
    """Register a pre-hook (0) or a post-hook (1) on the body."""
    body = program.module.body
    handle = (
        body.register_forward_pre_hook(scale_input)
        if value == 0
        else body.register_forward_post_hook(shift_output)
    )
    program.hooks.append(handle)


@PROGRAM.change()
def remove_hooks(program: PaddleProgram, value: int) -> None:
    """Remove the hooks that `add_hook` registered."""
    while program.hooks:
        program.hooks.pop().remove()


@PROGRAM.change(values=4)
def seed(program: PaddleProgram, value: int) -> None:
    """Seed Python, numpy and Paddle."""
    seed_everything(value)


@PROGRAM.change(values=2)
def default_dtype(program: PaddleProgram, value: int) -> None:
    """Set Paddle's default dtype to float64 (0) or back to float32 (1)."""
    paddle.set_default_dtype(("float64", "float32")[value])


@PROGRAM.change(values=2)
def grad_mode(program: PaddleProgram, value: int) -> None:
    """Switch the recording of gradients off (0) or on (1) for all calls to come."""
    paddle.framework.core._set_has_grad(bool(value))


@PROGRAM.change(values=2)
def enable_to_static(program: PaddleProgram, value: int) -> None:
    """Have compiled functions run as plain Python (0), or compiled again (1)."""
    paddle.jit.enable_to_static(bool(value))
