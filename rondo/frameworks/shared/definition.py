"""Declaring a shared architecture: a function from a layer vocabulary to a module class.

The class is made inside a function because its base is the framework's own module class: Keras
tracks what it sees in attributes, Paddle registers parameters there, JAX registers a pytree. It is
made once per framework, and `realise` turns the definition into the framework's `Architecture`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

from rondo.frameworks.shared.layers import Layers
from rondo.sequences.vocabulary import BATCH, Schema
from rondo.subjects.registry import discover
from rondo.subjects.target import Architecture, Target

PACKAGE = "rondo.frameworks.shared.architectures"


class Definition(Target):
    """An architecture before it has a framework: `define(nn)` returns its module class."""

    def __init__(
        self,
        name: str,
        define: Callable[[Any], Callable[[], Any]],
        *,
        schema: Schema,
        features: int,
        doc: str = "",
    ) -> None:
        super().__init__(name, kind="architecture", doc=doc, guarded=True)
        self.define = define
        self.schema = schema
        self.features = features

    def realise(self, layers: Layers, *, sizes: int | None = None) -> Architecture:
        """Return this architecture over a framework's layers, with the same changes.

        With `sizes` a dimension takes its first so many, and the batch one more: for a compiler
        that makes a program per shape, each further size costs time and shows nothing new.
        """
        architecture = Architecture(
            self.name,
            self.define(layers),
            schema=self.schema if sizes is None else narrowed(self.schema, sizes),
            features=self.features,
            doc=self.doc,
            guarded=self.guarded,
        )
        architecture.actions = self.actions
        architecture.observer = self.observer
        return architecture


def narrowed(schema: Schema, sizes: int) -> Schema:
    """Return `schema` with fewer sizes for each dimension, the usual one first."""
    dimensions = tuple(
        replace(each, sizes=each.sizes[: sizes + (each.name == BATCH)])
        for each in schema.dimensions
    )
    return replace(schema, dimensions=dimensions)


def realise_all(
    layers: Any, *, sizes: int | None = None
) -> dict[str, tuple[Architecture, ModuleType]]:
    """Return every shared architecture over `layers` by name, with the module that defines it."""
    found = discover(PACKAGE, "ARCHITECTURE", Definition)
    return {
        name: (definition.realise(layers, sizes=sizes), module)
        for name, (definition, module) in found.items()
    }
