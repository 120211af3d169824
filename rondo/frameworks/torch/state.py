"""Compiler state in this process: configuration for a sequence, and the real reset.

A real reset drops, in this order and each for a reason seen by measurement:

1. Dynamo's code caches, guards, automatic-dynamic memory, cudagraphs (`torch._dynamo.reset`);
2. the dispatch cache of FakeTensorMode, which that call leaves alone;
3. every in-memory cache that Inductor registers for a fresh cache, FX graphs and modules included;
4. the artifacts that `torch.compiler.save_cache_artifacts` would save: recorded when an entry is
   written, they would bring entries of before the reset back (seen: two after a reset);
5. the disk caches, by moving to a new empty folder with caching left on: a shared folder would hide
   faults in cache keys, and caching switched off compiles other code;
6. counters and compilation metrics, so that observations start from zero.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from pathlib import Path

import torch
import torch._dynamo
import torch._functorch.config
import torch._inductor.config
import torch._inductor.utils
from torch._dynamo import guards as dynamo_guards
from torch._dynamo import utils as dynamo_utils
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.compiler._cache import CacheArtifactManager

CACHE_VARIABLE = "TORCHINDUCTOR_CACHE_DIR"


def neutralise_guard_profile() -> None:
    """Skip Dynamo's guard micro-benchmark: 27 ms a frame for one log figure, nothing else."""
    if hasattr(dynamo_guards, "profile_guard_manager"):
        dynamo_guards.profile_guard_manager = lambda *args, **kwargs: 0.0


def private_folder() -> Path:
    """Return a new folder that goes with this process; forked children leave it alone.

    In a worker it lies in the worker's own folder, which goes even when the worker is killed.
    """
    folder = tempfile.mkdtemp(prefix="rondo-cache-", dir=os.environ.get("RONDO_WORKER_FOLDER"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return Path(folder)


class CacheFolders:
    """The disk caches of this process: one kept for kernels, one replaced at every reset."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._fresh: Path | None = None

    def use(self, *, disk: bool) -> None:
        """Point the compiler at the kept folder, or with `disk` at a new and empty one."""
        self.drop()
        if disk:
            self._fresh = Path(tempfile.mkdtemp(prefix="fresh-", dir=self._root))
            folder = self._fresh
        else:
            folder = self._root / "kernels"
            folder.mkdir(exist_ok=True)
        os.environ[CACHE_VARIABLE] = str(folder)
        os.environ["TRITON_CACHE_DIR"] = str(folder / "triton")

    def drop(self) -> None:
        """Remove the fresh folder, if there is one."""
        if self._fresh is not None:
            shutil.rmtree(self._fresh, ignore_errors=True)
            self._fresh = None


def reset_compiler(folders: CacheFolders, *, disk: bool) -> None:
    """Drop all compiler state of this process; see the module docstring for what and why."""
    torch._dynamo.reset()
    torch.compiler.set_stance("default")
    FakeTensorMode.cache_clear()
    torch._inductor.utils.clear_caches()
    CacheArtifactManager.clear()
    folders.use(disk=disk)
    dynamo_utils.counters.clear()
    dynamo_utils.clear_compilation_metrics()


@contextmanager
def configured(*, disk: bool, remote: bool = False) -> Iterator[None]:
    """Configure torch for one sequence and put every touched setting back afterwards.

    Inductor draws random numbers as eager does (`fallback_random`), compiles in this process, and
    keeps its graph caches only with `disk`. On a device that is `remote` it chooses among kernels
    whose numbers differ without timing them: equal sequences would not compile alike.
    """
    with ExitStack() as stack:
        if remote and hasattr(torch._inductor.config, "deterministic"):
            stack.enter_context(torch._inductor.config.patch(deterministic=True))
        stack.enter_context(
            torch._inductor.config.patch(
                fallback_random=True,
                compile_threads=1,
                fx_graph_cache=disk,
                fx_graph_remote_cache=False,
            )
        )
        stack.enter_context(torch._functorch.config.patch(enable_autograd_cache=disk))
        stack.enter_context(
            torch._dynamo.config.patch(
                automatic_dynamic_local_pgo=disk,
                recompile_limit=8,
                # Documented: otherwise numpy's random functions draw from torch's generator.
                use_numpy_random_stream=True,
            )
        )
        yield


def carried_settings() -> Callable[[], None]:
    """Return what gives another thread the settings of this one, to be called first over there.

    torch keeps each setting in a context variable, and a new thread has none of them: what it
    compiles would follow the defaults and draw other random numbers than eager.
    """
    held = [
        (entry.user_override, entry.user_override.get())
        for module in (torch._dynamo.config, torch._functorch.config, torch._inductor.config)
        for entry in module._config.values()
        if isinstance(entry.user_override, ContextVar)
    ]

    def take_over() -> None:
        for variable, value in held:
            if value is not variable.get():
                variable.set(value)

    return take_over
