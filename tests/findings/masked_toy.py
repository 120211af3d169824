"""A toy compiler with a masked bug: what it compiles first is wrong once a factor is not 1."""

from __future__ import annotations

from tests.toy_framework import Code, ToyFramework, ToyProgram, Values


class MaskedFramework(ToyFramework):
    """Code compiled after other code of the same program is right; the same code alone is not."""

    def compile(self, program: ToyProgram) -> Code:
        first = not any(entry.program is program for entry in self.cache)
        changed = any(part.factor != 1.0 for part in program.parts.values())
        code = super().compile(program)
        if not (first and changed):
            return code

        def wrong(values: Values) -> Values:
            return [value + 1 for value in code(values)]

        self.cache[-1].code = wrong
        return wrong
