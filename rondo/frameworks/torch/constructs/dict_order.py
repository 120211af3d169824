"""dict_order: a dict that the forward walks through, its order and content changed."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct

INITIAL = (("scale", 0.5), ("shift", 0.25), ("tilt", -0.75))


class DictOrder(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amounts = dict(INITIAL)

    def forward(self, hidden: Tensor) -> Tensor:
        for name, amount in self.amounts.items():
            hidden = hidden * amount if name == "scale" else hidden.tanh() + amount
        return hidden + len(self.amounts) / 8


CONSTRUCT = Construct("dict_order", DictOrder, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def move_to_end(module: DictOrder, value: int) -> None:
    """Move one key to the end, in place."""
    name, amount = INITIAL[value]
    module.amounts[name] = module.amounts.pop(name, amount)


@CONSTRUCT.change(values=3)
def drop(module: DictOrder, value: int) -> None:
    """Drop a key, in place."""
    module.amounts.pop(INITIAL[value][0], None)


@CONSTRUCT.change(values=4)
def set_amount(module: DictOrder, value: int) -> None:
    """Set the value of a key, old or new, in place."""
    name, amount = (("scale", -1.0), ("extra", 0.5), ("shift", 0.25), ("scale", 0.5))[value]
    module.amounts[name] = amount


@CONSTRUCT.change(values=2)
def replace(module: DictOrder, value: int) -> None:
    """Hold another dict: in reversed or in the first order."""
    module.amounts = dict(INITIAL[:: (-1, 1)[value]])
