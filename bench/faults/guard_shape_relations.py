"""guard_shape_relations: guards between symbolic sizes are left out.

Mechanism: what a trace learns of a dynamic size (it is above 3, it equals another one) is guarded
(SHAPE_ENV).
Broken: the guards are made, and none of them is installed.
Established by calls with enough sizes to make one dynamic; exposed by a call on the other side of
a branch.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "value", "layer": "dynamo-guards"}
BACKEND = "eager"


def write(on: Callable[..., Writer]) -> Writer:
    """A batch becomes dynamic above a threshold, then falls below it."""
    return on("identity", "size_branch").call(batch=4).call(batch=8).call(batch=2)


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    from torch._dynamo import guards
    from torch._dynamo.guards import GuardBuilder

    make = GuardBuilder.SHAPE_ENV

    def install_nothing(*arguments: object) -> None:
        pass

    def make_uninstalled(self: object, guard: object) -> None:
        self.add_python_lambda_leaf_guard_to_root = lambda *args, **kwargs: None
        make(self, guard)
        del self.add_python_lambda_leaf_guard_to_root

    guards.install_symbolic_shape_guard  # noqa: B018  (raises where there is none)
    GuardBuilder.add_python_lambda_leaf_guard_to_root  # noqa: B018
    guards.install_symbolic_shape_guard = install_nothing
    GuardBuilder.SHAPE_ENV = make_uninstalled


if __name__.startswith("rondo_preload"):
    install()
