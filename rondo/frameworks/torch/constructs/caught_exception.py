"""caught_exception: exceptions raised and handled by the forward, their cause changed."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class Refused(Exception):  # noqa: N818 - it is no error here
    """Raised for an amount that is too large."""


class CaughtException(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.table = {"shift": 0.5}
        self.limit = 1.0
        self.finished = 0

    def amount(self) -> float:
        amount = self.table["shift"]
        if amount > self.limit:
            raise Refused(amount)
        return amount

    def forward(self, hidden: Tensor) -> Tensor:
        try:
            hidden = hidden + self.amount()
        except KeyError:
            hidden = -hidden
        except Refused as refused:
            hidden = hidden * 0.5 + refused.args[0] / 8
        finally:
            self.finished += 1
        return hidden


CONSTRUCT = Construct("caught_exception", CaughtException, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_entry(module: CaughtException, value: int) -> None:
    """Set the entry, or delete it."""
    module.table.pop("shift", None)
    if value < 3:
        module.table["shift"] = (2.0, -0.5, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_limit(module: CaughtException, value: int) -> None:
    """Set the limit above which an amount is refused."""
    module.limit = (0.0, 1.0)[value]


@CONSTRUCT.observe
def finished(module: CaughtException) -> dict[str, object]:
    """Report how often the forward came to its end."""
    return {"finished": module.finished}
