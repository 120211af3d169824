"""module_flag: a bool and an int on the module, one branched on and one used as an exponent."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class ModuleFlag(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.shifted = True
        self.power = 2

    def forward(self, hidden: Tensor) -> Tensor:
        raised = hidden.tanh() ** self.power
        return raised + 1 if self.shifted else raised


CONSTRUCT = Construct("module_flag", ModuleFlag, kind="module guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_shifted(module: ModuleFlag, value: int) -> None:
    """Set the flag: by a bool, or by an int of the same truth."""
    module.shifted = (False, True, 0, 1)[value]  # type: ignore[assignment]


@CONSTRUCT.change(values=4)
def set_power(module: ModuleFlag, value: int) -> None:
    """Give the exponent another value: equal to the old one as a float, or a bool equal to 1."""
    module.power = (3, 2.0, True, 2)[value]  # type: ignore[assignment]
