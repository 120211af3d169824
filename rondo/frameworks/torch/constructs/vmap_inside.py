"""vmap_inside: vmap over a function of the module, with changing in-dims, chunks and constants."""

from __future__ import annotations

from torch import Tensor, nn, vmap

from rondo.subjects.target import Construct


class VmapInside(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.factor = 0.5
        self.dimension = 0
        self.nested = False

    def row(self, vector: Tensor) -> Tensor:
        return vector.sin() * self.factor + vector.sum().tanh()

    def forward(self, hidden: Tensor) -> Tensor:
        flat = hidden.flatten(0, -2)
        mapped = vmap(self.row, in_dims=self.dimension, out_dims=self.dimension)(flat)
        if self.nested:
            mapped = mapped + vmap(vmap(lambda one: one.cos()))(flat)
        return mapped.view(hidden.shape)


CONSTRUCT = Construct("vmap_inside", VmapInside, kind="ambient mode", guarded=True)


@CONSTRUCT.change(values=2)
def set_factor(module: VmapInside, value: int) -> None:
    """Set the constant that the mapped function reads."""
    module.factor = (-1.0, 0.5)[value]


@CONSTRUCT.change(values=2)
def set_dimension(module: VmapInside, value: int) -> None:
    """Map over another dimension."""
    module.dimension = (1, 0)[value]


@CONSTRUCT.change(values=2)
def set_nested(module: VmapInside, value: int) -> None:
    """Add a second level of mapping, or leave it out."""
    module.nested = value == 0
