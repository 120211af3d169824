"""A back end with a seeded fault: it remembers compiled graphs by the names of their nodes."""

from __future__ import annotations

import torch
from torch._dynamo import register_backend

GRAPHS: dict[tuple[str, ...], torch.fx.GraphModule] = {}


@register_backend
def acme(graph: torch.fx.GraphModule, example_inputs: list[torch.Tensor]):
    """Serve a graph that was compiled before, if there is one with the same nodes.

    The key leaves out the arguments of the nodes, so that `dropout(x, training=True)` and
    `dropout(x, training=False)` are one entry.
    """
    key = tuple(node.name for node in graph.graph.nodes)
    return GRAPHS.setdefault(key, graph).forward


def reset() -> None:
    """What torch.compiler.reset() calls."""
    GRAPHS.clear()


acme.reset = reset
