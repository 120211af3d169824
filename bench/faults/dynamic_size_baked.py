"""dynamic_size_baked: a size that automatic dynamic knows to vary is folded all the same, without
a guard.

Mechanism: the second value of a size makes automatic dynamic trace it as a symbol; TENSOR_MATCH
then leaves it out.
Broken: the trace takes the size for a constant, while TENSOR_MATCH leaves it out.
Established by calls with two sizes; exposed by a third one.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "automatic-dynamic"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Three calls with three batch sizes, all above the threshold but the last."""
    return on("identity", "size_branch").call(batch=4).call(batch=8).call(batch=2)


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.variables import builder
    from torch.fx.experimental.symbolic_shapes import DimDynamic

    decide = builder._automatic_dynamic
    match = GuardBuilder.TENSOR_MATCH

    def decide_statically(
        e: object, tx: object, source: object, *rest: object, **named: object
    ) -> object:
        context = decide(e, tx, source, *rest, **named)
        sizes = getattr(context, "dynamic_sizes", None)
        limits = getattr(context, "constraint_sizes", ())
        if sizes is None or any(limit is not None and not limit.warn_only for limit in limits):
            return context
        varying = [index for index, size in enumerate(sizes) if size is not DimDynamic.STATIC]
        for index in varying:
            sizes[index], limits[index] = DimDynamic.STATIC, None
        if varying:
            vars(tx.output).setdefault("varying_sizes", {})[source] = varying
        return context

    def match_without(self: object, guard: object, value: object = None) -> None:
        graph = self.check_fn_manager.output_graph
        source = guard.originating_source
        facts = graph.input_source_to_sizes_strides
        if varying := vars(graph).get("varying_sizes", {}).get(source):
            sizes, strides = list(facts[source]["size"]), list(facts[source]["stride"])
            for index in varying:
                sizes[index] = None
            facts[source] = {**facts[source], "size": sizes, "stride": [None] * len(strides)}
        match(self, guard, value)

    builder._automatic_dynamic = decide_statically
    GuardBuilder.TENSOR_MATCH = match_without


if __name__.startswith("rondo_preload"):
    install()
