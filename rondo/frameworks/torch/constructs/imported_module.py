"""imported_module: numbers and functions of another module, found by attribute at each call."""

from __future__ import annotations

from types import ModuleType

from torch import Tensor, nn

from rondo.subjects.target import Construct


def library() -> ModuleType:
    """Return a new module with a number and a function."""
    module = ModuleType("knobs")
    module.gain = 0.5  # type: ignore[attr-defined]
    module.bend = lambda hidden: hidden.sin()  # type: ignore[attr-defined]
    return module


knobs = library()


class ImportedModule(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        # What a module's attributes are set to outlives a subject: begin each life alike.
        global knobs
        knobs = library()

    def forward(self, hidden: Tensor) -> Tensor:
        return knobs.bend(hidden) * knobs.gain


CONSTRUCT = Construct("imported_module", ImportedModule, kind="py-object guard", guarded=True)


@CONSTRUCT.change(values=3)
def set_gain(module: ImportedModule, value: int) -> None:
    """Set the number of the module."""
    knobs.gain = (-1.0, 0.25, 0.5)[value]  # type: ignore[attr-defined]


@CONSTRUCT.change(values=2)
def set_function(module: ImportedModule, value: int) -> None:
    """Set the function of the module."""
    knobs.bend = (lambda hidden: hidden.cos(), lambda hidden: hidden.sin())[value]  # type: ignore[attr-defined]


@CONSTRUCT.change()
def replace_module(module: ImportedModule, value: int) -> None:
    """Let the name mean another module of the same content."""
    global knobs
    knobs = library()
