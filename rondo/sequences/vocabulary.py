"""What a sequence may speak of: the pure-data catalogue that a framework adapter publishes.

The key insight: the driver, the codec and the mutators never see a framework. They see a
`Vocabulary`: names, numbers of choices, shapes made of named dimensions. Ids on the wire are
16-bit hashes of names, so that a new construct is one new file and no id ever moves.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Literal

InputKind = Literal["float", "index", "bool", "number", "integer", "list"]

BATCH = "batch"
"""The one dimension that every architecture has; inputs of constructs may name it."""

SMALLEST = "identity"
"""The architecture that does nothing, where a framework has it: cheap to search, last to stay."""

PROGRAM = "program"
COMPILER = "compiler"
"""The ambient targets: program state that any subject has, and the compiler's own state."""


def name_id(name: str) -> int:
    """Return the stable 16-bit id of `name` (first two bytes of its BLAKE2b digest)."""
    return int.from_bytes(blake2b(name.encode(), digest_size=2).digest(), "little")


@dataclass(frozen=True, slots=True)
class Dimension:
    """A named dimension of the inputs and the sizes a call may give it, the usual one first."""

    name: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class InputSpec:
    """One input of a subject.

    `shape` holds dimension names and fixed sizes. Kinds: `float` (a floating tensor of the call's
    dtype), `index` (int64 in [0, high)), `bool` (a mask), `number` (a Python float), `integer`
    (a Python int), `list` (a fresh, empty Python list). An `optional` input may be None.
    """

    name: str
    shape: tuple[str | int, ...] = ()
    kind: InputKind = "float"
    high: int = 2
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Schema:
    """The inputs of an architecture over its named dimensions; the first one is `batch`."""

    dimensions: tuple[Dimension, ...]
    inputs: tuple[InputSpec, ...]


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One change a step can make to a target; its operand is an integer in [0, values).

    `carries` matters for compiler targets only: the action configures how later calls are compiled
    (so the reset arm needs it too) instead of acting on what the compiler has retained. `drops` is
    for those as well: compiled code goes from memory, and what is on disk stays.
    """

    name: str
    doc: str
    values: int = 1
    carries: bool = False
    drops: bool = False


@dataclass(frozen=True, slots=True)
class TargetSpec:
    """Something that changes can be made to: an architecture, a construct, `program`, `compiler`.

    `guarded` is a promise: the compiler under test guards on everything that the changes touch, so
    that no sequence of them may raise an alarm on the cheapest back end.
    """

    name: str
    doc: str
    kind: str
    actions: tuple[ActionSpec, ...] = ()
    inputs: tuple[InputSpec, ...] = ()
    guarded: bool = False

    @property
    def id(self) -> int:
        """The 16-bit id of this target on the wire."""
        return name_id(self.name)


@dataclass(frozen=True, slots=True)
class ArchitectureSpec:
    """An architecture: a target that also has an input schema."""

    target: TargetSpec
    schema: Schema

    @property
    def name(self) -> str:
        """The architecture's name."""
        return self.target.name


@dataclass(frozen=True)
class Vocabulary:
    """All that sequences for one framework can say.

    `ambient` holds the targets that exist whatever the subject is: `program` and `compiler`.
    `backends` runs from the cheapest to the dearest; `disk` names those that can keep compiled code
    on disk. Raises ValueError when two names share an id.
    """

    framework: str
    architectures: tuple[ArchitectureSpec, ...]
    constructs: tuple[TargetSpec, ...]
    ambient: tuple[TargetSpec, ...]
    backends: tuple[str, ...]
    modes: tuple[str, ...] = ("default",)
    disk: tuple[str, ...] = ()
    limits: dict[str, int] = field(default_factory=lambda: {"constructs": 4, "steps": 48})

    def __post_init__(self) -> None:
        seen: dict[int, str] = {}
        for target in self.all_targets():
            other = seen.setdefault(target.id, target.name)
            if other != target.name:
                raise ValueError(f"the names {other!r} and {target.name!r} share one 16-bit id")

    def all_targets(self) -> tuple[TargetSpec, ...]:
        """Every target there is, architectures first."""
        return (*(a.target for a in self.architectures), *self.constructs, *self.ambient)

    @cached_property
    def targets_by_name(self) -> dict[str, TargetSpec]:
        """Targets by name."""
        return {target.name: target for target in self.all_targets()}

    @cached_property
    def architectures_by_name(self) -> dict[str, ArchitectureSpec]:
        """Architectures by name."""
        return {architecture.name: architecture for architecture in self.architectures}

    @cached_property
    def names_by_id(self) -> dict[int, str]:
        """Target names by wire id."""
        return {target.id: target.name for target in self.all_targets()}

    def restricted(
        self,
        *,
        constructs: frozenset[str] | None = None,
        architectures: frozenset[str] | None = None,
    ) -> Vocabulary:
        """Return the vocabulary that holds only the named constructs and architectures."""
        return Vocabulary(
            framework=self.framework,
            architectures=tuple(
                a for a in self.architectures if architectures is None or a.name in architectures
            ),
            constructs=tuple(
                c for c in self.constructs if constructs is None or c.name in constructs
            ),
            ambient=self.ambient,
            backends=self.backends,
            modes=self.modes,
            disk=self.disk,
            limits=self.limits,
        )
