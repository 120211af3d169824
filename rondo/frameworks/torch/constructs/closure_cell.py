"""closure_cell: a held function that reads variables of its enclosing scope, reassigned there."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from rondo.subjects.target import Construct


def tunable() -> tuple[Callable[[Tensor], Tensor], Callable[[float], None]]:
    """Return a function over a closed-over amount, and one that reassigns the amount."""
    amount = 0.5

    def apply(hidden: Tensor) -> Tensor:
        return hidden * 0.5 + amount

    def assign(other: float) -> None:
        nonlocal amount
        amount = other

    return apply, assign


class ClosureCell(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.apply_closure, self.assign = tunable()

    def forward(self, hidden: Tensor) -> Tensor:
        return self.apply_closure(hidden)


CONSTRUCT = Construct("closure_cell", ClosureCell, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def assign_amount(module: ClosureCell, value: int) -> None:
    """Reassign the closed-over variable from a function that shares it."""
    module.assign((1.0, -0.5, 0, 0.5)[value])


@CONSTRUCT.change(values=2)
def write_cell(module: ClosureCell, value: int) -> None:
    """Write the cell of the closure itself."""
    (cell,) = module.apply_closure.__closure__ or ()
    cell.cell_contents = (0.75, 0.5)[value]


@CONSTRUCT.change()
def renew(module: ClosureCell, value: int) -> None:
    """Hold another closure of the same code."""
    module.apply_closure, module.assign = tunable()
