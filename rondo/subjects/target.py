"""Declaring an architecture or a construct: one file, one object, changes as decorated functions.

The key insight: a construct is code in the forward *together with* the changes that poke it, so
both live in one file and nothing else has to know about it. A whole construct reads

    class FloatAttribute(nn.Module):
        def __init__(self, features: int) -> None:
            super().__init__()
            self.factor = 1.0

        def forward(self, hidden: Tensor) -> Tensor:
            return hidden * self.factor

    CONSTRUCT = Construct("float_attribute", FloatAttribute, kind="py-object guard", guarded=True)

    @CONSTRUCT.change(values=3)
    def set_factor(module: FloatAttribute, value: int) -> None:
        '''Give the factor another value.'''
        module.factor = (0.5, 2.0, 1.0)[value]
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rondo.sequences.vocabulary import ActionSpec, ArchitectureSpec, InputSpec, Schema, TargetSpec

Apply = Callable[[Any, int], None]
Observe = Callable[[Any], dict[str, object]]


@dataclass(frozen=True, slots=True)
class Action:
    """A change and the function that makes it: `apply(object, value)`."""

    spec: ActionSpec
    apply: Apply


class Target:
    """Something that changes are made to. Changes keep the order in which they are declared."""

    def __init__(
        self,
        name: str,
        *,
        kind: str,
        doc: str = "",
        inputs: tuple[InputSpec, ...] = (),
        guarded: bool = False,
    ) -> None:
        self.name = name
        self.kind = kind
        self.doc = doc
        self.inputs = inputs
        self.guarded = guarded
        self.actions: list[Action] = []
        self.observer: Observe | None = None

    def change(
        self, *, values: int = 1, carries: bool = False, drops: bool = False
    ) -> Callable[[Apply], Apply]:
        """Register the decorated function as a change with `values` operand choices.

        The function's name is the change's name and its docstring's first line describes it. New
        changes go below the old ones: a change is its position on the wire.
        """

        def register(apply: Apply) -> Apply:
            doc = (apply.__doc__ or "").strip().split("\n")[0]
            spec = ActionSpec(apply.__name__.rstrip("_"), doc, values, carries, drops)
            self.actions.append(Action(spec, apply))
            return apply

        return register

    def observe(self, observer: Observe) -> Observe:
        """Register a function that reports what a user could see of this target's Python state.

        It is called after each step with the object and returns names and values: tensors, numbers,
        strings, or lists and dicts of them. It must not change anything.
        """
        self.observer = observer
        return observer

    def spec(self) -> TargetSpec:
        """Return the pure-data description of this target."""
        return TargetSpec(
            self.name,
            self.doc,
            self.kind,
            tuple(action.spec for action in self.actions),
            self.inputs,
            self.guarded,
        )


class Construct(Target):
    """A construct: `build(features)` returns a module that maps (hidden, *own inputs) to hidden.

    `hidden` is the floating tensor (batch, ..., features) that the architecture put out. The module
    returns a tensor of a shape like it, or a tuple of that tensor and further outputs.
    """

    def __init__(self, name: str, build: Callable[[int], Any], **options: Any) -> None:
        super().__init__(name, **options)
        self.build = build


class Architecture(Target):
    """An architecture: `build()` returns a module over the inputs that `schema` describes.

    The module puts out one floating tensor (batch, ..., features).
    """

    def __init__(
        self, name: str, build: Callable[[], Any], *, schema: Schema, features: int, **options: Any
    ) -> None:
        options.setdefault("kind", "architecture")
        options.setdefault("guarded", True)
        super().__init__(name, **options)
        self.build = build
        self.schema = schema
        self.features = features

    def architecture_spec(self) -> ArchitectureSpec:
        """Return the pure-data description of this architecture."""
        return ArchitectureSpec(self.spec(), self.schema)
