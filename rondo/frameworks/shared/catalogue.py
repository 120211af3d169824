"""What an adapter found: its architectures and constructs, its two ambient targets, their files.

An adapter says once where its layers, constructs and changes are; the vocabulary of sequences, the
targets that steps change and the files whose namespaces an arm puts back all follow from that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

from rondo.frameworks.shared.definition import realise_all
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.registry import discover
from rondo.subjects.target import Architecture, Construct, Target


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The targets that steps may change, by name, and the files that declare them."""

    architectures: Mapping[str, Architecture]
    constructs: Mapping[str, Construct]
    program: Target
    compiler: Target
    files: Mapping[str, ModuleType]

    def only(self, architecture: Architecture, file: ModuleType) -> Catalogue:
        """Return the catalogue of a user's own model: no other architecture, and no constructs."""
        return replace(
            self,
            architectures={architecture.name: architecture},
            constructs={},
            files={architecture.name: file},
        )

    def vocabulary(self, framework: str, backends: tuple[str, ...], **more: Any) -> Vocabulary:
        """Return all that sequences can say about these targets."""
        return Vocabulary(
            framework=framework,
            architectures=tuple(each.architecture_spec() for each in self.architectures.values()),
            constructs=tuple(each.spec() for each in self.constructs.values()),
            ambient=(self.program.spec(), self.compiler.spec()),
            backends=backends,
            **more,
        )

    def files_of(self, sequence: Sequence) -> list[ModuleType]:
        """Return the files of a sequence's architecture and constructs."""
        subject = sequence.subject
        return [self.files[name] for name in (subject.architecture, *subject.constructs)]


def discover_catalogue(
    layers: Any, constructs: str, *, program: Target, compiler: Target, sizes: int | None = None
) -> Catalogue:
    """Return the shared architectures over `layers` and the constructs of a package."""
    bodies = realise_all(layers, sizes=sizes)
    found = discover(constructs, "CONSTRUCT", Construct)
    return Catalogue(
        {name: target for name, (target, _) in bodies.items()},
        {name: target for name, (target, _) in found.items()},
        program,
        compiler,
        {name: file for name, (_, file) in {**bodies, **found}.items()},
    )
