"""list_content: a held list that the forward reads, appends to, and is edited in place outside."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class ListContent(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amounts = [0.25, -0.5]
        self.history: list[int] = []

    def forward(self, hidden: Tensor) -> Tensor:
        self.history.append(hidden.shape[0])
        for amount in self.amounts:
            hidden = hidden.sin() + amount
        return hidden + len(self.history) / 8


CONSTRUCT = Construct("list_content", ListContent, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_amount(module: ListContent, value: int) -> None:
    """Set the first amount in place."""
    module.amounts[0] = (1.0, 0.25, 1)[value]


@CONSTRUCT.change(values=2)
def resize(module: ListContent, value: int) -> None:
    """Add an amount, or cut back to two."""
    if value == 0 and len(module.amounts) < 5:
        module.amounts.append(0.75)
    else:
        del module.amounts[2:]


@CONSTRUCT.change()
def reverse(module: ListContent, value: int) -> None:
    """Reverse the amounts in place."""
    module.amounts.reverse()


@CONSTRUCT.change()
def clear_history(module: ListContent, value: int) -> None:
    """Clear what the forward has appended."""
    module.history.clear()


@CONSTRUCT.change(values=2)
def replace(module: ListContent, value: int) -> None:
    """Hold another list: of other amounts, or one like the first."""
    module.amounts = [[-0.25, 0.5, 1.0], [0.25, -0.5]][value]


@CONSTRUCT.observe
def contents(module: ListContent) -> dict[str, object]:
    """Report both lists."""
    return {"amounts": list(module.amounts), "history": list(module.history)}
