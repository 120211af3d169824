"""compiler: changes to how the subject is compiled and to what the compiler has retained.

Those that *carry* configure later calls (so the reset arm makes them too); the others act on
retained state and are made in the retained arm alone.
"""

from __future__ import annotations

import gc

import torch

from rondo.frameworks.torch.program import TorchProgram
from rondo.sequences import vocabulary
from rondo.subjects.target import Target

COMPILER = Target(vocabulary.COMPILER, kind="compiler", doc="how to compile, and what was retained")


@COMPILER.change(values=3, carries=True)
def dynamic(program: TorchProgram, value: int) -> None:
    """Wrap again with dynamic=None (0), True (1) or False (2)."""
    program.settings.dynamic = (None, True, False)[value]
    program.rewrap()


@COMPILER.change(carries=True)
def wrap_again(program: TorchProgram, value: int) -> None:
    """Wrap the same module in a second torch.compile wrapper and use that from now on."""
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def mark_next_inputs(program: TorchProgram, value: int) -> None:
    """Mark the first dimension of the next call's inputs: maybe dynamic (0) or static (1)."""
    mark = (torch._dynamo.maybe_mark_dynamic, torch._dynamo.mark_static)[value]
    program.settings.marks.append(lambda tensor: mark(tensor, 0) if tensor.dim() else None)


@COMPILER.change(values=3, carries=True)
def recompile_limit(program: TorchProgram, value: int) -> None:
    """Set how often one function may be compiled: 1, 2 or the usual 8."""
    torch._dynamo.config.recompile_limit = (1, 2, 8)[value]


@COMPILER.change()
def reset_memory(program: TorchProgram, value: int) -> None:
    """Call torch.compiler.reset(): compiled code goes, disk caches stay."""
    torch.compiler.reset()


@COMPILER.change()
def clear_fake_cache(program: TorchProgram, value: int) -> None:
    """Clear the dispatch cache of FakeTensorMode."""
    torch._subclasses.fake_tensor.FakeTensorMode.cache_clear()


@COMPILER.change()
def collect_garbage(program: TorchProgram, value: int) -> None:
    """Collect garbage, so that weakly held entries go."""
    gc.collect()


@COMPILER.change(values=3)
def stance(program: TorchProgram, value: int) -> None:
    """Set the stance to eager_on_recompile (0), force_eager (1) or back to default (2)."""
    torch.compiler.set_stance(("eager_on_recompile", "force_eager", "default")[value])
