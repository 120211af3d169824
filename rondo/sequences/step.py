"""Steps, subjects, options and the sequence that holds them: frozen records of names and indexes.

The key insight: a call is a row of small choices, each with a usual value that comes first. A step
shrinks by moving its choices to the front of their tables, and its bytes shrink with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from rondo.sequences.vocabulary import ArchitectureSpec, TargetSpec, Vocabulary, name_id

CALL_CHOICES: dict[str, tuple[str, ...]] = {
    "dtype": ("float32", "float64", "bfloat16", "float16"),
    "layout": ("contiguous", "transposed", "strided", "offset", "expanded"),
    "alias": ("none", "same", "overlap", "adjacent"),
    "values": ("normal", "zeros", "ones", "integers", "negative", "small", "large"),
    "value_seed": tuple(str(n) for n in range(8)),
    "grad": ("grad", "no_grad", "inference"),
    "autocast": ("off", "bfloat16", "float16"),
    "backward": ("none", "once", "twice", "create_graph"),
    "inputs_grad": ("no", "yes"),
    "thread": ("main", "other"),
    "number": ("1.0", "0.5", "0.25", "2.0", "3.5", "-1.0", "0.0", "9.0"),
    "integer": ("1", "0", "2", "3", "5", "-1", "7", "64"),
}
"""The operands of a call besides its dimensions, each with its choices, the usual one first."""

OPTION_CHOICES: dict[str, tuple[str, ...]] = {
    "dynamic": ("auto", "true", "false"),
    "fullgraph": ("no", "yes"),
    "cache": ("memory", "disk"),
}
"""Compile options that every framework knows; back end and mode come from the vocabulary.

`memory`: graph caches off, compiled kernels kept. `disk`: all caches on, an empty folder per run.
"""


@dataclass(frozen=True, slots=True)
class Call:
    """Invoke the subject. Operands are indexes into `CALL_CHOICES`; `sizes` into the dimensions."""

    dtype: int = 0
    layout: int = 0
    alias: int = 0
    values: int = 0
    value_seed: int = 0
    grad: int = 0
    autocast: int = 0
    backward: int = 0
    inputs_grad: int = 0
    thread: int = 0
    number: int = 0
    integer: int = 0
    sizes: tuple[int, ...] = ()

    def choice(self, operand: str) -> str:
        """Return the name of what this call chose for `operand`."""
        index: int = getattr(self, operand)
        return CALL_CHOICES[operand][index]


@dataclass(frozen=True, slots=True)
class Change:
    """Make the change number `action` to the target named `target`, with operand `value`."""

    target: str
    action: int = 0
    value: int = 0


Step: TypeAlias = Call | Change


@dataclass(frozen=True, slots=True)
class SubjectSpec:
    """What is tested: an architecture and constructs, built from `seed`."""

    architecture: str
    constructs: tuple[str, ...] = ()
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Options:
    """How the subject is compiled: indexes into the vocabulary's back ends, modes and options."""

    backend: int = 0
    mode: int = 0
    dynamic: int = 0
    fullgraph: int = 0
    cache: int = 0

    def choice(self, option: str) -> str:
        """Return the name of the choice made for an option of `OPTION_CHOICES`."""
        index: int = getattr(self, option)
        return OPTION_CHOICES[option][index]


@dataclass(frozen=True, slots=True)
class Sequence:
    """A test: a subject, compile options and steps. Always valid: build it through `normalise`."""

    subject: SubjectSpec
    options: Options
    steps: tuple[Step, ...]

    def with_steps(self, steps: tuple[Step, ...]) -> Sequence:
        """Return this sequence with other steps."""
        return replace(self, steps=steps)

    def calls(self) -> Iterator[tuple[int, Call]]:
        """Yield the calls with their positions."""
        for position, step in enumerate(self.steps):
            if isinstance(step, Call):
                yield position, step


def targets_of(subject: SubjectSpec, vocabulary: Vocabulary) -> tuple[TargetSpec, ...]:
    """Return every target that steps over `subject` may change: its own, then the ambient ones.

    Targets without a single change are left out.
    """
    own = (
        vocabulary.architectures_by_name[subject.architecture].target,
        *(vocabulary.targets_by_name[name] for name in subject.constructs),
    )
    return tuple(target for target in (*own, *vocabulary.ambient) if target.actions)


def normalise_call(call: Call, architecture: ArchitectureSpec) -> Call:
    """Wrap every operand of `call` into its table and give it exactly the architecture's sizes."""
    wrapped = {name: getattr(call, name) % len(table) for name, table in CALL_CHOICES.items()}
    dimensions = architecture.schema.dimensions
    padded = call.sizes + (0,) * len(dimensions)
    sizes = tuple(
        size % len(dimension.sizes) for size, dimension in zip(padded, dimensions, strict=False)
    )
    return Call(**wrapped, sizes=sizes)


def normalise_change(change: Change, targets: tuple[TargetSpec, ...], wire_id: int) -> Change:
    """Wrap target, action and value. A target that the subject lacks becomes one that it has.

    `wire_id` is the id of the target as written; it decides which one an unknown target becomes,
    whatever else stands in the sequence.
    """
    known = {target.name: target for target in targets}
    target = known.get(change.target) or targets[wire_id % len(targets)]
    action = change.action % len(target.actions)
    return Change(target.name, action, change.value % target.actions[action].values)


def normalise(sequence: Sequence, vocabulary: Vocabulary) -> Sequence:
    """Return the valid sequence nearest to `sequence`: unknown names and indexes wrap.

    Idempotent. Raises KeyError only when the vocabulary itself is empty.
    """
    subject = sequence.subject
    architecture = vocabulary.architectures_by_name.get(subject.architecture)
    if architecture is None:
        number = name_id(subject.architecture) % len(vocabulary.architectures)
        architecture = vocabulary.architectures[number]
    known = {construct.name for construct in vocabulary.constructs}
    constructs = tuple(dict.fromkeys(name for name in subject.constructs if name in known))
    subject = SubjectSpec(
        architecture.name, constructs[: vocabulary.limits["constructs"]], subject.seed % 256
    )
    targets = targets_of(subject, vocabulary)
    steps = tuple(
        normalise_call(step, architecture)
        if isinstance(step, Call)
        else normalise_change(step, targets, name_id(step.target))
        for step in sequence.steps[: vocabulary.limits["steps"]]
    )
    return Sequence(subject, normalise_options(sequence.options, vocabulary), steps)


def normalise_options(options: Options, vocabulary: Vocabulary) -> Options:
    """Wrap every option into its table."""
    return Options(
        backend=options.backend % len(vocabulary.backends),
        mode=options.mode % len(vocabulary.modes),
        **{name: getattr(options, name) % len(table) for name, table in OPTION_CHOICES.items()},
    )


def describe_call(call: Call, architecture: ArchitectureSpec) -> str:
    """Return a call as people write it: sizes, then whatever is not the usual choice."""
    parts = [
        f"{dimension.name}={dimension.sizes[size]}"
        for dimension, size in zip(architecture.schema.dimensions, call.sizes, strict=True)
    ]
    parts += [f"{name}={call.choice(name)}" for name in CALL_CHOICES if getattr(call, name)]
    return f"call({', '.join(parts)})"


def describe_step(step: Step, sequence: Sequence, vocabulary: Vocabulary) -> str:
    """Return one readable line for `step`."""
    if isinstance(step, Call):
        return describe_call(step, vocabulary.architectures_by_name[sequence.subject.architecture])
    action = vocabulary.targets_by_name[step.target].actions[step.action]
    operand = str(step.value) if action.values > 1 else ""
    return f"{step.target}.{action.name}({operand})"


def describe(sequence: Sequence, vocabulary: Vocabulary) -> dict[str, object]:
    """Return the decoded form of a sequence: names only, for people and for reproducers."""
    options = sequence.options
    return {
        "framework": vocabulary.framework,
        "architecture": sequence.subject.architecture,
        "constructs": list(sequence.subject.constructs),
        "seed": sequence.subject.seed,
        "options": {
            "backend": vocabulary.backends[options.backend],
            "mode": vocabulary.modes[options.mode],
            **{name: options.choice(name) for name in OPTION_CHOICES},
        },
        "steps": [describe_step(step, sequence, vocabulary) for step in sequence.steps],
    }
