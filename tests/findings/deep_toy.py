"""A toy compiler with a second cache: code comes from a store that dropping code does not empty."""

from __future__ import annotations

from tests.toy_framework import Code, ToyFramework, ToyProgram


class DeepFramework(ToyFramework):
    """What `stale_scale` was compiled with is stored by batch size alone, until a reset."""

    def __init__(self) -> None:
        super().__init__()
        self.store: dict[int, float] = {}

    def reset(self) -> None:
        super().reset()
        self.store.clear()

    def compile(self, program: ToyProgram) -> Code:
        part = program.parts.get("stale_scale")
        if part is None:
            return super().compile(program)
        own = part.factor
        part.factor = self.store.setdefault(program.batch, own)
        try:
            return super().compile(program)
        finally:
            part.factor = own
