"""gcn: graph convolution that normalises the adjacency at its first call and keeps the result."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema
from rondo.subjects.target import Architecture

NODES = Dimension("nodes", (5, 3, 1, 8))


def normalise(adjacency: Tensor, dtype: torch.dtype) -> Tensor:
    """Return D^-1/2 (A + I) D^-1/2 (Kipf and Welling, 2017) for each graph of the batch."""
    loops = torch.eye(adjacency.shape[-1], dtype=torch.bool, device=adjacency.device)
    linked = (adjacency | adjacency.transpose(1, 2) | loops).to(dtype)
    scale = linked.sum(-1).rsqrt()
    return scale[:, :, None] * linked * scale[:, None, :]


class GraphConvolution(nn.Module):
    """Like the cached layers of graph libraries: later calls of that shape reuse the first graph.

    The caller promises that the graph stays as it is. Nothing checks that, so a compiled program
    must return the stale graph just as faithfully as an eager one does.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.cached = True
        self.normalised: Tensor | None = None

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        normalised = self.normalised
        if not self.cached or normalised is None or normalised.shape != adjacency.shape:
            normalised = normalise(adjacency, x.dtype)
            if self.cached:
                self.normalised = normalised
        x = self.linear(x)
        # A copy, because inference mode may have left a tensor that autograd must not keep.
        return torch.bmm(normalised.to(x.dtype, copy=True), x)


class GCN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = GraphConvolution(4, 8)
        self.conv2 = GraphConvolution(8, 6)
        self.dropout = nn.Dropout(0.25)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        x = x.to(self.conv1.linear.weight.dtype)
        x = self.dropout(functional.relu(self.conv1(x, adjacency)))
        return self.conv2(x, adjacency)


ARCHITECTURE = Architecture(
    "gcn",
    GCN,
    schema=Schema(
        dimensions=(BATCHES, NODES),
        inputs=(
            InputSpec("x", (BATCHES.name, NODES.name, 4)),
            InputSpec("adjacency", (BATCHES.name, NODES.name, NODES.name), kind="bool"),
        ),
    ),
    features=6,
)


@ARCHITECTURE.observe
def observe(module: GCN) -> dict[str, object]:
    """Report the graphs that the layers keep."""
    layers = {"conv1": module.conv1, "conv2": module.conv2}
    return {
        name: layer.normalised for name, layer in layers.items() if layer.normalised is not None
    }


@ARCHITECTURE.change()
def forget_graph(module: GCN, value: int) -> None:
    """Let both layers normalise the next graph that they see."""
    module.conv1.normalised = module.conv2.normalised = None


@ARCHITECTURE.change(values=2)
def set_cached(module: GCN, value: int) -> None:
    """Let the first layer normalise every graph, or keep one again."""
    module.conv1.cached = (False, True)[value]


@ARCHITECTURE.change()
def cut_graph(module: GCN, value: int) -> None:
    """Remove the kept edges to the first node, in place."""
    if module.conv2.normalised is not None:
        # In inference mode, which may write to its own tensors as well as to ordinary ones.
        with torch.inference_mode():
            module.conv2.normalised[:, 0] = 0.0
