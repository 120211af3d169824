"""dynamic_float_baked: a float that automatic dynamic knows to vary is folded all the same,
without a guard.

Mechanism: the second value of a float argument makes automatic dynamic wrap it as a symbol, which
needs no guard on its value.
Broken: the value is folded as for the first one, but the guard is left out as for a symbol.
Established by calls with two values of a float; exposed by a third value.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "automatic-dynamic"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """Three calls with three values of a float argument."""
    return on("identity", "number_input").call(number="0.5").call(number="2.0").call(number="3.5")


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo.guards import GuardBuilder
    from torch._dynamo.pgo import FrameStateSizeEntry, auto_dynamic, process_automatic_dynamic
    from torch._dynamo.variables.builder import VariableBuilder
    from torch._dynamo.variables.constant import ConstantVariable

    wrap = VariableBuilder.wrap_symfloat
    match = GuardBuilder.EQUALS_MATCH

    def wrap_or_fold(self: object, value: float) -> object:
        seen = process_automatic_dynamic(
            self.tx,
            self.source.name,
            FrameStateSizeEntry.make_scalar(value),
            is_unspecialized_nn_module=self.source.guard_source.is_unspecialized_nn_module(),
        )
        if seen.scalar is not auto_dynamic:
            return wrap(self, value)
        self.install_guards(GuardBuilder.TYPE_MATCH)
        vars(self.tx.output).setdefault("varying_numbers", set()).add(self.source)
        return ConstantVariable.create(value=value, source=self.source)

    def match_unless_varying(self: object, guard: object, *rest: object, **named: object) -> None:
        varying = vars(self.check_fn_manager.output_graph).get("varying_numbers", ())
        if guard.originating_source not in varying:
            match(self, guard, *rest, **named)

    VariableBuilder.wrap_symfloat = wrap_or_fold
    GuardBuilder.EQUALS_MATCH = match_unless_varying


if __name__.startswith("rondo_preload"):
    install()
