"""class_dict: a list and a dict that belong to a class, edited in place and replaced there."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Register:
    """A class that keeps its state on itself."""

    amounts = [0.25, -0.5]
    table = {"gain": 0.5}


class ClassDict(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        # In-place edits outlive a module: begin each life alike.
        Register.amounts = [0.25, -0.5]
        Register.table = {"gain": 0.5}

    def forward(self, hidden: Tensor) -> Tensor:
        for amount in Register.amounts:
            hidden = hidden.sin() + amount
        return hidden * Register.table["gain"] + len(Register.table) / 8


CONSTRUCT = Construct("class_dict", ClassDict, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=2)
def edit_amounts(module: ClassDict, value: int) -> None:
    """Edit the class's list in place."""
    Register.amounts[0] = (1.0, 0.25)[value]


@CONSTRUCT.change(values=2)
def edit_table(module: ClassDict, value: int) -> None:
    """Edit the class's dict in place."""
    Register.table["gain"] = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def replace_table(module: ClassDict, value: int) -> None:
    """Put another dict on the class: longer, or like the first."""
    Register.table = ({"gain": 0.25, "spare": 1.0}, {"gain": 0.5})[value]
