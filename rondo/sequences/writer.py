"""Writing sequences by name: what seeds, handed cases and people's own sequences are written with.

    Writer(vocabulary, "mlp").call(batch=3).program("eval").call(dtype="bfloat16").sequence()

The key insight: names are what stays readable in a diff, and a writer that refuses what is not
valid as written keeps a sequence from silently becoming another one.
"""

from __future__ import annotations

from rondo.sequences.step import (
    CALL_CHOICES,
    OPTION_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    Step,
    SubjectSpec,
    normalise,
)
from rondo.sequences.vocabulary import COMPILER, PROGRAM, Vocabulary


class Writer:
    """Writes steps by name over one subject."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        architecture: str,
        *constructs: str,
        backend: str | None = None,
        **options: str,
    ) -> None:
        self.vocabulary = vocabulary
        self.subject = SubjectSpec(architecture, constructs)
        self.dimensions = vocabulary.architectures_by_name[architecture].schema.dimensions
        chosen = {name: OPTION_CHOICES[name].index(value) for name, value in options.items()}
        backends = vocabulary.backends
        self.options = Options(backend=backends.index(backend) if backend else 0, **chosen)
        self.steps: list[Step] = []

    def call(self, times: int = 1, **operands: str | int) -> Writer:
        """Add calls; dimensions by size (batch=3), operands by choice (dtype="bfloat16")."""
        sizes = tuple(
            dimension.sizes.index(int(operands.pop(dimension.name, dimension.sizes[0])))
            for dimension in self.dimensions
        )
        chosen = {name: CALL_CHOICES[name].index(str(value)) for name, value in operands.items()}
        self.steps += [Call(**chosen, sizes=sizes)] * times
        return self

    def change(self, target: str, action: str, value: int = 0) -> Writer:
        """Add a change by its names."""
        actions = [each.name for each in self.vocabulary.targets_by_name[target].actions]
        self.steps.append(Change(target, actions.index(action), value))
        return self

    def program(self, action: str, value: int = 0) -> Writer:
        """Add a change of program state."""
        return self.change(PROGRAM, action, value)

    def compiler(self, action: str, value: int = 0) -> Writer:
        """Add a change of how to compile, or of what was retained."""
        return self.change(COMPILER, action, value)

    def sequence(self) -> Sequence:
        """Return what was written. Raises ValueError when it is not valid as written."""
        sequence = Sequence(self.subject, self.options, tuple(self.steps))
        if normalise(sequence, self.vocabulary) != sequence:
            raise ValueError(f"not a valid sequence: {sequence}")
        return sequence
