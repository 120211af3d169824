"""Compile events that only a GPU has: Triton kernels, and recordings of CUDA graphs.

Read from what torch keeps, like all labels. On a CPU neither is there, and nothing is asked: the
module of CUDA graphs is looked at only where torch itself has imported it and made a manager.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rondo.frameworks.shared.labels import bucket

TREES = "torch._inductor.cudagraph_trees"
KERNEL = re.compile(r"triton_([a-z]+)_fused_(\w*?)_?\d+$")
"""The names that Inductor gives its kernels: `triton_poi_fused_add_mul_0`, `triton_red_...`,
`triton_per_...` for pointwise ones, reductions and persistent reductions."""


def kernel_labels(metric: Any) -> Iterator[str]:
    """Yield what kinds of Triton kernels a compilation made, and how many operators they fuse."""
    try:
        named = json.loads(getattr(metric, "triton_kernel_compile_times_us", None) or "[]")
    except ValueError:
        return
    names = {part for entry in named for part in _texts(entry)}
    found = sorted(match.groups() for name in names if (match := KERNEL.match(name)))
    for kind, operators in found:
        yield f"triton {kind} ops={bucket(len(operators.split('_')))}"
    if names:
        yield f"triton kernels {bucket(len(names))}"


def _texts(entry: Any) -> list[str]:
    parts = entry if isinstance(entry, list) else [entry]
    return [part for part in parts if isinstance(part, str)]


@dataclass(frozen=True, slots=True)
class Recordings:
    """How far the CUDA graphs of this process are, all devices together."""

    warmed: int = 0
    recorded: int = 0
    depth: int = 0
    """The most recordings in a row on the path that is run at present."""
    again: int = 0
    """Recordings made because inputs were not where they had been."""
    missed: int = 0
    """Runs for which no recording fitted."""
    states: tuple[str, ...] = ()

    def labels(self, before: Recordings) -> Iterator[str]:
        """Yield what has changed since `before`."""
        for name in ("warmed", "recorded", "again", "missed"):
            now = getattr(self, name)
            if now > getattr(before, name):
                yield f"cudagraph {name} {bucket(now)}"
        if self.states:
            yield f"cudagraph path {bucket(self.depth)} {' '.join(self.states)}"


def recordings() -> Recordings:
    """Return how far CUDA graphs are; where a torch keeps less, less is told."""
    trees = sys.modules.get(TREES)
    containers = getattr(getattr(trees, "local", None), "tree_manager_containers", None) or {}
    managers = [getattr(each, "tree_manager", None) for each in containers.values()]
    present = [manager for manager in managers if manager is not None]
    nodes = [getattr(each, "current_node", None) for each in present]
    paths = [getattr(node, "_path_from_root", ()) for node in nodes]
    states = {each.path_state.name.lower() for each in present if hasattr(each, "path_state")}
    return Recordings(
        warmed=sum(len(getattr(each, "warmed_up_functions", ())) for each in present),
        recorded=sum(len(list(_nodes(getattr(each, "roots", None)))) for each in present),
        depth=max((len(list(path)) for path in paths), default=0),
        again=sum(_rerecorded(each) for each in present),
        missed=sum(getattr(each, "debug_fail_counter", 0) for each in present),
        states=tuple(sorted(states)),
    )


def _nodes(roots: Any) -> Iterator[Any]:
    """Yield every recording in the trees below `roots`, a map of functions to recordings."""
    waiting = [node for nodes in (roots or {}).values() for node in nodes]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for nodes in node.children.values() for child in nodes]


def _rerecorded(manager: Any) -> int:
    counts = getattr(manager, "num_rerecord", {})
    return sum(count for functions in counts.values() for count in functions.values())
