"""mask_function: attention whose mask is computed by a held function over positions."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from rondo.subjects.target import Construct

Mask = Callable[[Tensor, Tensor], Tensor]


def window(width: int) -> Mask:
    """Return a mask function that lets each position see `width` neighbours on either side."""
    return lambda query, key: (query - key).abs() <= width


def causal(query: Tensor, key: Tensor) -> Tensor:
    """Let each position see itself and what came before."""
    return query >= key


class MaskFunction(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.mask: Mask = causal

    def forward(self, hidden: Tensor) -> Tensor:
        rows = hidden.flatten(0, -2)
        position = torch.arange(rows.shape[0], device=rows.device)
        seen = torch.vmap(torch.vmap(self.mask, (None, 0)), (0, None))(position, position)
        stacked = rows[None, None]
        mixed = scaled_dot_product_attention(stacked, stacked, stacked, attn_mask=seen)
        return mixed.view(hidden.shape)


CONSTRUCT = Construct("mask_function", MaskFunction, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=4)
def set_mask(module: MaskFunction, value: int) -> None:
    """Hold another mask function: windows share their code and differ in a closed-over width."""
    module.mask = (window(0), window(1), window(2), causal)[value]
