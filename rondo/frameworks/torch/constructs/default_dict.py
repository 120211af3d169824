"""default_dict: a defaultdict, a Counter and an OrderedDict that the forward reads and fills."""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict

from torch import Tensor, nn

from rondo.subjects.target import Construct


class DefaultDict(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.amounts: defaultdict[int, float] = defaultdict(float)
        self.counts: Counter[str] = Counter()
        self.order: OrderedDict[str, float] = OrderedDict(first=0.5, second=0.25)

    def forward(self, hidden: Tensor) -> Tensor:
        hidden = hidden + self.amounts[hidden.shape[0]]
        self.counts["calls"] += 1
        for amount in self.order.values():
            hidden = hidden.sin() + amount
        return hidden + self.counts["calls"] / 8 + self.counts["missing"]


CONSTRUCT = Construct("default_dict", DefaultDict, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_amount(module: DefaultDict, value: int) -> None:
    """Set the amount of a batch of two."""
    module.amounts[2] = (1.0, -0.5, 0.0)[value]


@CONSTRUCT.change(values=2)
def set_factory(module: DefaultDict, value: int) -> None:
    """Let missing amounts be made in another way, and forget those that were made."""
    module.amounts.clear()
    module.amounts.default_factory = (lambda: 0.75, float)[value]


@CONSTRUCT.change(values=2)
def move(module: DefaultDict, value: int) -> None:
    """Move a key to one of the ends."""
    module.order.move_to_end("first", last=value == 0)


@CONSTRUCT.change(values=2)
def set_count(module: DefaultDict, value: int) -> None:
    """Set the count of calls, or clear the counter."""
    module.counts.clear()
    if value == 0:
        module.counts["calls"] = 5


@CONSTRUCT.observe
def contents(module: DefaultDict) -> dict[str, object]:
    """Report all three."""
    return {
        "amounts": {str(key): amount for key, amount in module.amounts.items()},
        "counts": dict(module.counts),
        "order": list(module.order),
    }
