"""container_alias: two attributes that may hold one list or one dict, written through both."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.subjects.target import Construct


class ContainerAlias(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.ones: list[float] = []
        self.twos: list[float] = []
        self.table = {"amount": 0.5}
        self.other = {"amount": 0.5}

    def forward(self, hidden: Tensor) -> Tensor:
        self.ones.append(1.0)
        self.twos.append(2.0)
        self.table["amount"] = 0.25
        self.other["amount"] = self.table["amount"] + 0.5
        shift = len(self.ones) / 8 + self.twos[0] / 4
        # Both end as they began: a list that grew would be guarded by its length.
        self.ones.clear()
        self.twos.clear()
        return hidden + shift + self.table["amount"]


CONSTRUCT = Construct("container_alias", ContainerAlias, kind="alias guard")


@CONSTRUCT.change(values=2)
def share_lists(module: ContainerAlias, value: int) -> None:
    """Let both names hold one list, or two."""
    module.ones = []
    module.twos = module.ones if value == 0 else []


@CONSTRUCT.change(values=2)
def share_tables(module: ContainerAlias, value: int) -> None:
    """Let both names hold one dict, or two."""
    module.other = module.table if value == 0 else {"amount": 0.5}


@CONSTRUCT.observe
def contents(module: ContainerAlias) -> dict[str, object]:
    """Report all four containers."""
    return {
        "ones": list(module.ones),
        "twos": list(module.twos),
        "table": dict(module.table),
        "other": dict(module.other),
    }
