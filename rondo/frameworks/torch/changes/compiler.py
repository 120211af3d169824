"""compiler: changes to how the subject is compiled and to what the compiler has retained.

Those that *carry* configure later calls (so the reset arm makes them too); the others act on
retained state and are made in the retained arm alone.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

import torch
import torch._functorch.config
import torch._inductor.config
from torch import Tensor
from torch._C._dynamo.eval_frame import reset_code as reset_code_object
from torch._dynamo import convert_frame, pgo
from torch._functorch._aot_autograd.autograd_cache import AOTAutogradCache
from torch._inductor.codecache import FxGraphCache
from torch._inductor.utils import clear_on_fresh_cache
from torch.compiler._cache import CacheArtifactManager

from rondo.frameworks.torch.program import CompileSettings, TorchProgram
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


MARK_BOUNDS = (2, 64)
"""The range that a bounded mark promises; sizes 0 and 1 are specialised whatever is promised."""


def mark_within_bounds(tensor: Tensor, dimension: int) -> None:
    """Mark as dynamic within bounds, unless the size at hand breaks the promise at once."""
    low, high = MARK_BOUNDS
    if low <= tensor.shape[dimension] <= high:
        torch._dynamo.mark_dynamic(tensor, dimension, min=low, max=high)


MARKS: tuple[Callable[[Tensor, int], None], ...] = (
    torch._dynamo.maybe_mark_dynamic,
    torch._dynamo.mark_static,
    torch._dynamo.mark_dynamic,
    mark_within_bounds,
    torch._dynamo.decorators.mark_unbacked,
)


@COMPILER.change(values=len(MARKS), carries=True)
def mark_next_inputs(program: TorchProgram, value: int) -> None:
    """Mark dimension 0 of the next inputs: maybe dynamic, static, dynamic, bounded or unbacked."""
    mark = MARKS[value]
    program.settings.marks.append(lambda tensor: mark(tensor, 0) if tensor.dim() else None)


@COMPILER.change(values=3, carries=True)
def recompile_limit(program: TorchProgram, value: int) -> None:
    """Set how often one function may be compiled: 1, 2 or the usual 8."""
    torch._dynamo.config.recompile_limit = (1, 2, 8)[value]


@COMPILER.change(drops=True)
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


STANCES = ("eager_on_recompile", "force_eager", "default", "fail_on_recompile")


@COMPILER.change(values=len(STANCES))
def stance(program: TorchProgram, value: int) -> None:
    """Set the stance: eager_on_recompile, force_eager, default (2) or fail_on_recompile (3)."""
    torch.compiler.set_stance(STANCES[value])


OTHER_BACKEND = {"eager": "aot_eager", "aot_eager": "eager", "inductor": "aot_eager"}
"""Another back end that costs no more than a tier or two: never Inductor unless it was chosen. For
a user's own it is `eager`."""


@dataclass(slots=True)
class VariedSettings(CompileSettings):
    """Settings that remember the sequence's own back end, and configuration for compiled calls.

    Configuration holds during a compiled call only and not until further notice: so it ends with
    the arm whatever a call raises, and an eager call never runs under it.
    """

    own_backend: str = ""
    configuration: dict[str, object] = field(default_factory=dict)

    def compile(self, module: torch.nn.Module) -> Callable[..., object]:
        """Wrap `module`, and have each call see the configuration as it stands by then."""
        compiled = CompileSettings.compile(self, module)

        def configured(*arguments: object) -> object:
            with ExitStack() as stack:
                for name, value in self.configuration.items():
                    if name in _UNCONFIGURED:
                        continue
                    part, _, entry = name.partition(".")
                    stack.enter_context(CONFIGURATIONS[part].patch({entry: value}))
                return compiled(*arguments)

        return configured


def varied(program: TorchProgram) -> VariedSettings:
    """Return the program's settings as settings that can be varied, and have it use these."""
    settings = program.settings
    if not isinstance(settings, VariedSettings):
        same = {each.name: getattr(settings, each.name) for each in fields(CompileSettings)}
        settings = VariedSettings(**same, own_backend=settings.backend)
        program.settings = settings
    return settings


_UNCONFIGURED: set[str] = set()


@contextmanager
def unconfigured(name: str) -> Iterator[None]:
    """Have steps that configure the entry `name` change nothing: what an ablation runs under."""
    _UNCONFIGURED.add(name)
    try:
        yield
    finally:
        _UNCONFIGURED.discard(name)


CONFIGURATIONS: dict[str, Any] = {
    "dynamo": torch._dynamo.config,
    "functorch": torch._functorch.config,
    "inductor": torch._inductor.config,
}

FREEZING = "inductor.freezing"
CONFIGURED: tuple[tuple[str, object], ...] = (
    ("dynamo.assume_static_by_default", False),
    ("dynamo.automatic_dynamic_shapes", False),
    ("dynamo.specialize_float", True),
    ("dynamo.capture_scalar_outputs", True),
    ("dynamo.skip_nnmodule_hook_guards", False),
    ("functorch.donated_buffer", False),
    (FREEZING, True),
)
"""Configuration entries that change what is compiled and should change nothing that is computed."""


@COMPILER.change(values=2, carries=True)
def backend(program: TorchProgram, value: int) -> None:
    """Compile with another back end from now on (0), or with the sequence's own (1)."""
    settings = varied(program)
    own = settings.own_backend
    settings.backend = own if value else OTHER_BACKEND.get(own, "eager")
    program.rewrap()


@COMPILER.change(values=2, carries=True)
def mode(program: TorchProgram, value: int) -> None:
    """Wrap again with mode reduce-overhead (0) or default (1); only Inductor has modes."""
    program.settings.mode = ("reduce-overhead", "default")[value]
    program.rewrap()


@COMPILER.change(values=len(CONFIGURED) + 1, carries=True)
def configure(program: TorchProgram, value: int) -> None:
    """Flip one entry of torch's configuration for the calls to come; the last value: none."""
    settings = varied(program)
    if value == len(CONFIGURED):
        settings.configuration.clear()
    else:
        name, flipped = CONFIGURED[value]
        settings.configuration[name] = flipped
    program.rewrap()


@COMPILER.change(drops=True)
def reset_code(program: TorchProgram, value: int) -> None:
    """Drop the compiled code of every function; what was learned about sizes stays."""
    for reference in list(convert_frame.input_codes.seen):
        code = reference()
        if code is not None:
            reset_code_object(code)


@COMPILER.change()
def forget_sizes(program: TorchProgram, value: int) -> None:
    """Forget which sizes and numbers automatic-dynamic saw change; compiled code stays."""
    pgo.reset_code_state()


@COMPILER.change(values=2)
def drop_disk_cache(program: TorchProgram, value: int) -> None:
    """Drop one of the disk caches: FX graphs (0) or AOTAutograd's (1)."""
    (FxGraphCache, AOTAutogradCache)[value].clear()


class RecordedArtifacts:
    """What torch records for `save_cache_artifacts`: all since the process began, until told."""

    @staticmethod
    def cache_clear() -> None:
        """Forget what was recorded."""
        CacheArtifactManager.clear()


# Part of a real reset: else a sequence would save, and load, what an earlier sequence compiled.
clear_on_fresh_cache(RecordedArtifacts)


@COMPILER.change(drops=True)
def reload_artifacts(program: TorchProgram, value: int) -> None:
    """Save the cache artifacts, drop compiled code and disk caches, load the artifacts."""
    saved = torch.compiler.save_cache_artifacts()
    torch.compiler.reset()
    FxGraphCache.clear()
    AOTAutogradCache.clear()
    if saved is not None:
        torch.compiler.load_cache_artifacts(saved[0])


@COMPILER.change()
def mark_step_begin(program: TorchProgram, value: int) -> None:
    """Tell CUDA graphs that a new step begins: outputs of the last one may be overwritten."""
    torch.compiler.cudagraph_mark_step_begin()
