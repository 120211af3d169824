"""A toy compiler whose reset forgets to drop something."""

from __future__ import annotations

from tests.toy_framework import Entry, ToyFramework, ToyProgram

worn: list[int] = []


class LeakyFramework(ToyFramework):
    """Once code was served from the cache, all that is compiled later is wrong: reset or not."""

    def serve(self, program: ToyProgram):  # type: ignore[no-untyped-def]
        code = super().serve(program)
        if "hit" in self.labels:
            worn.append(1)
        return code

    def compile(self, program: ToyProgram):  # type: ignore[no-untyped-def]
        code = super().compile(program)
        if worn:
            guards = self.cache[-1].guards
            self.cache[-1] = Entry(program, guards, lambda values: [9.0] * len(values))
            return self.cache[-1].code
        return code


class RaisingFramework(ToyFramework):
    """The same, but what it compiles later raises."""

    def serve(self, program: ToyProgram):  # type: ignore[no-untyped-def]
        code = super().serve(program)
        if "hit" in self.labels:
            worn.append(1)
        elif worn:
            raise ZeroDivisionError("worn out")
        return code
