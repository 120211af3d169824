"""coarse_pytree: a node whose auxiliary data compare equal while the forward tells them apart."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from rondo.frameworks.jax.kinds import EQUALITY
from rondo.frameworks.jax.module import Module
from rondo.subjects.target import Construct


class Label:
    """Auxiliary data that ignores its factor when it is compared."""

    def __init__(self, factor: object) -> None:
        self.factor = factor

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Label)

    def __hash__(self) -> int:
        return 1


class Node:
    """A pytree node of one array and its label."""

    def __init__(self, array: Any, label: Label) -> None:
        self.array = array
        self.label = label


jax.tree_util.register_pytree_node(
    Node, lambda node: ((node.array,), node.label), lambda label, children: Node(children[0], label)
)


class CoarsePytree(Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.nodes = [Node(jnp.asarray(np.float32(1.0)), Label(1.0))]

    def forward(self, hidden: Any) -> Any:
        (node,) = self.nodes
        return hidden * node.array * node.label.factor


CONSTRUCT = Construct("coarse_pytree", CoarsePytree, kind=EQUALITY)


@CONSTRUCT.change(values=3)
def set_label(module: CoarsePytree, value: int) -> None:
    """Give the node a label of another factor that compares equal."""
    module.nodes[0].label = Label((2.0, 0.5, 1.0)[value])
