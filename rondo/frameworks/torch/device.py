"""Where subjects live: on the CPU, or on a GPU that is asked after each step whether it is well.

The key insight: a GPU works behind the program's back. An error of one kernel is raised by whatever
call happens to look next, in another step or another arm, and some errors are raised by every call
from then on until the process ends. So each step is waited for, which gives an error to the step
that made it, and a device that complains twice is given up together with its process.

Nothing here starts CUDA before a sequence runs: the server that forks workers must never have.
"""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

from rondo.frameworks.base import CPU, raise_lost
from rondo.frameworks.shared.labels import first_line
from rondo.frameworks.torch import cuda_state
from rondo.frameworks.torch.ambient import DeviceState, watching

CUDA = "cuda"
DEVICES = (CPU, CUDA)
HOST_ONLY = frozenset({"raised_midway"})
"""Constructs that have a kernel of the CPU raise: on a GPU the same is an assertion that ends the
process, in the eager arm as in the others."""

FROM_DEVICE = re.compile(r"CUDA (driver )?error|Triton Error \[CUDA\]|(?i:cublas|cudnn)")
"""What errors that come from the device say: not in every torch have they a type of their own."""

PROBE = "import torch; print(torch.cuda.device_count())"
PROBE_SECONDS = 120.0

WORKSPACE = ("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
"""cuBLAS gives the same bits on every run only with a workspace of this kind, or `:16:8`:
https://docs.nvidia.com/cuda/cublas/#results-reproducibility. It is read when CUDA starts."""


class Device:
    """A place for subjects. `runtime` is `torch.cuda`, or what stands for it."""

    def __init__(
        self,
        name: str = CPU,
        *,
        limit_mb: int = 0,
        lost: Callable[[str], NoReturn] = raise_lost,
        runtime: Any = torch.cuda,
        state: DeviceState = cuda_state.STATE,
    ) -> None:
        self.name = name
        self.limit_mb = limit_mb
        self._lost = lost
        self._runtime = runtime
        self._state = state
        self._started_in = 0

    @property
    def remote(self) -> bool:
        """Whether it is another device than the CPU."""
        return self.name != CPU

    @contextmanager
    def session(self) -> Iterator[None]:
        """Have new tensors live here and pin what changes numbers; put all of it back afterwards.

        Memory that the sequence took is given back at the end: the caching allocator would keep it,
        and other workers share the device.
        """
        if not self.remote:
            yield
            return
        self._start()
        before = torch.get_default_device()
        torch.set_default_device(self.name)
        try:
            with watching(self._state), cuda_state.pinned(self._state.modes):
                yield
        finally:
            torch.set_default_device(None if before.type == CPU else before)
        self.settle()
        self._runtime.empty_cache()

    def _start(self) -> None:
        """Start the device's runtime in this process, once, and bound the memory it may take."""
        if self._started_in == os.getpid():
            return
        os.environ.setdefault(*WORKSPACE)
        self._runtime.init()
        if self.limit_mb:
            _, total = self._runtime.mem_get_info()
            share = min(1.0, (self.limit_mb << 20) / total)
            self._runtime.set_per_process_memory_fraction(share)
        self._started_in = os.getpid()

    def enter_thread(self) -> None:
        """Have new tensors live here in the present thread too: a new thread has the CPU's."""
        if self.remote:
            torch.set_default_device(self.name)

    def settle(self) -> None:
        """Wait until all that was asked of the device is done; an error of it is raised here."""
        if self.remote:
            self._runtime.synchronize()

    def examine(self, error: BaseException) -> None:
        """Look whether the device survived `error`, which a step raised; give up where it did not.

        An error is known to be of the lasting kind by its being raised once more, by a call that
        does nothing but wait. What is told is what was said first, which names the cause.
        """
        if not self.remote or not _is_from_device(error):
            return
        try:
            self._runtime.synchronize()
        except Exception:
            self._lost(first_line(error))


def _is_from_device(error: BaseException) -> bool:
    accelerator = getattr(torch, "AcceleratorError", ())
    return isinstance(error, accelerator) or FROM_DEVICE.search(str(error)) is not None


def absent(device: str) -> str:
    """Return why subjects cannot live on `device` on this machine, or an empty text.

    CUDA is not started in this process: NVML says how many devices there are, else the lack of a
    driver does, and where both leave it open another process is asked.
    """
    if device == CPU:
        return ""
    if torch.version.cuda is None and torch.version.hip is None:
        return f"torch sees no CUDA device: torch {torch.__version__} is built without CUDA"
    count = _count_without_starting()
    return "" if count > 0 else "torch sees no CUDA device"


def _count_without_starting() -> int:
    counted = getattr(torch.cuda, "_device_count_nvml", lambda: -1)()
    if torch.version.hip is None and counted >= 0:
        return int(counted)
    library = "libcuda.so.1" if torch.version.hip is None else "libamdhip64.so"
    if sys.platform == "linux":
        try:
            ctypes.CDLL(library)  # loading it starts nothing
        except OSError:
            return 0
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE], capture_output=True, text=True, timeout=PROBE_SECONDS
        )
        return int(done.stdout.strip() or 0)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        return 0


def unforkable() -> str:
    """Return why this process can no longer be copied, or an empty text."""
    if torch.cuda.is_initialized():
        return "CUDA was started before workers are forked: a model or module did so when imported"
    return ""
