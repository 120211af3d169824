"""program: changes to the state of the program that any subject has.

Each does what user code does between calls: switch modes, update or replace parameters, load a
state dict, move dtypes, set global defaults. They act on the arm's own module or on torch-global
state that is put back after the arm.
"""

from __future__ import annotations

import random
from contextlib import suppress

import numpy as np
import torch
from torch import nn

from rondo.frameworks.base import Arm
from rondo.frameworks.torch.program import TorchProgram
from rondo.sequences import vocabulary
from rondo.sequences.step import Call
from rondo.subjects import user
from rondo.subjects.target import Target

PROGRAM = Target(
    vocabulary.PROGRAM, kind="program", doc="the module's parameters and modes, torch's globals"
)


@PROGRAM.change()
def train(program: TorchProgram, value: int) -> None:
    """Put the module into training mode."""
    program.module.train()


@PROGRAM.change()
def eval_(program: TorchProgram, value: int) -> None:
    """Put the module into evaluation mode."""
    program.module.eval()


@PROGRAM.change(values=2)
def train_part(program: TorchProgram, value: int) -> None:
    """Put only the body (0) or only the constructs (1) into evaluation mode."""
    (program.module.body, program.module.tail)[value].eval()


@PROGRAM.change(values=3)
def requires_grad(program: TorchProgram, value: int) -> None:
    """Freeze all parameters (0), unfreeze them (1), or freeze every other one (2)."""
    for index, parameter in enumerate(program.module.parameters()):
        parameter.requires_grad_(value == 1 or (value == 2 and index % 2 == 1))


@PROGRAM.change(values=2)
def zero_grad(program: TorchProgram, value: int) -> None:
    """Clear gradients: to None (0) or to zeros (1)."""
    program.module.zero_grad(set_to_none=value == 0)


@PROGRAM.change(values=2)
def sgd_step(program: TorchProgram, value: int) -> None:
    """Take one step of plain SGD, bounded so that long sequences stay tame."""
    with torch.no_grad():
        for parameter in program.module.parameters():
            if parameter.grad is not None:
                parameter.sub_(parameter.grad.clamp(-1, 1), alpha=(0.01, 0.1)[value])


@PROGRAM.change(values=3)
def scale_parameters(program: TorchProgram, value: int) -> None:
    """Multiply every parameter in place."""
    with torch.no_grad():
        for parameter in program.module.parameters():
            parameter.mul_((0.5, -1.0, 1.25)[value])


@PROGRAM.change(values=2)
def replace_parameters(program: TorchProgram, value: int) -> None:
    """Put new Parameter objects in place of the old ones, all (0) or the first only (1)."""
    for module in program.module.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None:
                continue
            fresh = nn.Parameter(parameter.detach().clone() * 0.75, parameter.requires_grad)
            module._parameters[name] = fresh
            if value == 1:
                return


@PROGRAM.change(values=2)
def assign_data(program: TorchProgram, value: int) -> None:
    """Assign `.data` of every matrix: scaled (0), or scaled and laid out transposed (1)."""
    for parameter in program.module.parameters():
        data = parameter.data * 0.75
        if value == 1 and data.dim() == 2:
            data = data.t().contiguous().t()
        parameter.data = data


@PROGRAM.change(values=3)
def load_state_dict(program: TorchProgram, value: int) -> None:
    """Load a scaled copy of the state dict: copied (0), assigned (1), assigned without grad (2)."""
    state = {
        name: tensor.detach().clone() * (0.75 if tensor.is_floating_point() else 1)
        for name, tensor in program.module.state_dict().items()
    }
    program.module.load_state_dict(state, assign=value > 0)
    if value == 2:
        program.module.requires_grad_(False)


@PROGRAM.change(values=2)
def to_dtype(program: TorchProgram, value: int) -> None:
    """Move the module to float64 (0) or back to float32 (1)."""
    program.module.to((torch.float64, torch.float32)[value])


@PROGRAM.change(values=2)
def clone_buffers(program: TorchProgram, value: int) -> None:
    """Put new buffer objects of equal (0) or zeroed (1) value in place of the old ones."""
    for module in program.module.modules():
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                copy = buffer.clone()
                module._buffers[name] = torch.zeros_like(copy) if value else copy


@PROGRAM.change(values=4)
def seed(program: TorchProgram, value: int) -> None:
    """Seed torch, Python and numpy."""
    torch.manual_seed(value)
    random.seed(value)
    np.random.seed(value)


@PROGRAM.change(values=2)
def default_dtype(program: TorchProgram, value: int) -> None:
    """Set the default dtype to float64 (0) or back to float32 (1)."""
    torch.set_default_dtype((torch.float64, torch.float32)[value])


@PROGRAM.change(values=2)
def grad_mode(program: TorchProgram, value: int) -> None:
    """Switch gradient recording off (0) or on (1) until further notice."""
    torch.set_grad_enabled(bool(value))


@PROGRAM.change(values=2)
def deterministic(program: TorchProgram, value: int) -> None:
    """Ask for deterministic algorithms (0) or not (1)."""
    torch.use_deterministic_algorithms(value == 0)


@PROGRAM.change(values=3)
def matmul_precision(program: TorchProgram, value: int) -> None:
    """Set the precision of float32 matrix products."""
    torch.set_float32_matmul_precision(("high", "medium", "highest")[value])


@PROGRAM.change(values=3)
def body_forward_hook(program: TorchProgram, value: int) -> None:
    """Hook the body's forward: scale its output (0), its input's copy (1), or remove hooks (2)."""
    body = program.module.body
    if value == 0:
        body.register_forward_hook(lambda module, args, output: output * 2)
    elif value == 1:
        body.register_forward_pre_hook(lambda module, args: (_halved(args[0]), *args[1:]))
    else:
        body._forward_hooks.clear()
        body._forward_pre_hooks.clear()


def _halved(value: object) -> object:
    return value * 0.5 if isinstance(value, torch.Tensor) and value.is_floating_point() else value


TAKES_ANY_RANK = frozenset({vocabulary.SMALLEST, "vgg", user.NAME})
"""Architectures that accept a wrong rank, change state before they refuse it, or are not ours."""


@PROGRAM.change(values=2)
def failing_call(program: TorchProgram, value: int) -> None:
    """Call with tensors of rank 0 (0) or with nothing (1), and catch what that raises.

    Only the retained arm fails through compiled code: the reset arm's past is eager. The call must
    raise before it changes state, since Dynamo traces a forward before it runs any of it: a model
    called with nothing does, and so do the shipped ones whose first layer refuses the rank.
    """
    arguments: list[object] = []
    if value == 0 and program._architecture.name not in TAKES_ANY_RANK:
        usual = Call(sizes=(0,) * len(program._architecture.schema.dimensions))
        arguments = [rank_zero(given) for given in program.inputs(usual).arguments.values()]
    with suppress(Exception):
        program.target(compiled=program.arm is Arm.RETAINED)(*arguments)


def rank_zero(value: object) -> object:
    """Return a scalar tensor in place of a tensor."""
    return value.new_zeros(()) if isinstance(value, torch.Tensor) else value
