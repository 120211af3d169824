"""fx_key_numbers: the key of the FX graph cache does not hold the numbers of a graph.

Mechanism: a graph is pickled for its key with its generated code, constants included.
Broken: ints and floats among the arguments of a node count as equal. AOTAutograd's key, in front
of it, is as it was.
Established by a call that folds a number; exposed by the same call with another number, compiled
anew.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "fx-graph-cache"}
BACKEND = "inductor"


def write(on: Callable[..., Writer]) -> Writer:
    """An exponent changes between two calls; caches on disk."""
    return (
        on("identity", "module_flag", cache="disk")
        .call()
        .change("module_flag", "set_power", 0)
        .call()
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._inductor import codecache
    from torch.fx import GraphModule

    hash_graph = codecache.compiled_fx_graph_hash

    def hash_without_numbers(gm: object, *rest: object, **named: object) -> object:
        if not isinstance(gm, GraphModule):
            return hash_graph(gm, *rest, **named)
        alike = copy.deepcopy(gm)
        for node in alike.graph.nodes:
            node.args = tuple(0 if type(each) in (int, float) else each for each in node.args)
        alike.recompile()
        return hash_graph(alike, *rest, **named)

    codecache.compiled_fx_graph_hash = hash_without_numbers


if __name__.startswith("rondo_preload"):
    install()
