"""Torch-global and Python-global state that calls can read or leak: seen, pictured and put back.

One table serves three uses: what an observation shows under `ambient.*`, what is restored after
every arm, and what a leak check compares. A device besides the CPU adds rows of its own, for as
long as subjects live there.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd import forward_ad

from rondo.frameworks.python_random import python_random_digest


@dataclass(frozen=True, slots=True)
class Mode:
    """One piece of global state: how to read it and how to put a value back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


@dataclass(frozen=True, slots=True)
class DeviceState:
    """What a device adds: modes, and a random state of its own under its name."""

    name: str
    modes: tuple[Mode, ...]
    read_random: Callable[[], Tensor]
    write_random: Callable[[Tensor], object]


_device: list[DeviceState] = []
"""The device that subjects live on besides the CPU, if there is one."""


@contextmanager
def watching(device: DeviceState) -> Iterator[None]:
    """Have what `device` adds seen, pictured and put back like all else, in the block."""
    _device.append(device)
    try:
        yield
    finally:
        _device.pop()


def autocast_mode(device: str) -> Mode:
    """Return whether autocast is on for `device`, and its dtype, as one mode."""

    def write(values: Any) -> None:
        enabled, dtype = values
        torch.set_autocast_enabled(device, enabled)
        torch.set_autocast_dtype(device, dtype)

    return Mode(
        f"autocast_{device}",
        lambda: (torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)),
        write,
    )


def _autocast_nesting() -> int:
    # There is no function that only reads it.
    torch.autocast_increment_nesting()
    return torch.autocast_decrement_nesting()


def _write_autocast_nesting(depth: int) -> None:
    while _autocast_nesting() > depth:
        torch.autocast_decrement_nesting()
    while _autocast_nesting() < depth:
        torch.autocast_increment_nesting()
    # Cast weights are dropped by whoever leaves the outermost context, which nobody did.
    torch.clear_autocast_cache()


_held_modes: list[torch._C._InferenceMode] = []
"""Entered and never left: inference mode has no setter, only this guard."""


def _write_inference(on: bool) -> None:
    guard = torch._C._InferenceMode(on)
    guard.__enter__()
    _held_modes.append(guard)


def _popped(read: Callable[[], int], pop: Callable[[], object]) -> Callable[[int], None]:
    """Return a writer of a stack's depth: what was left on it is taken off."""

    def write(depth: int) -> None:
        while read() > depth:
            pop()

    return write


def _pop_dispatch_mode() -> None:
    mode = torch._C._get_dispatch_stack_at(torch._C._len_torch_dispatch_stack() - 1)
    if getattr(mode, "old_dispatch_mode_flags", None):
        # Entered from Python: flags kept beside the stack, which Dynamo asks, go back as well.
        mode.__exit__(None, None, None)
    else:
        torch._C._pop_torch_dispatch_stack(getattr(mode, "_mode_key", None))


def _functorch_level() -> int:
    return torch._C._functorch.maybe_current_level() or 0


def _dual_level() -> int:
    return forward_ad._current_level + 1


def _has_saved_tensor_hooks() -> int:
    return int(torch._C._autograd._top_saved_tensors_default_hooks(True) is not None)


def _read_sdpa() -> tuple[bool, ...]:
    return (
        torch._C._get_math_sdp_enabled(),
        torch._C._get_flash_sdp_enabled(),
        torch._C._get_mem_efficient_sdp_enabled(),
    )


def _write_sdpa(enabled: tuple[bool, ...]) -> None:
    math, flash, mem_efficient = enabled
    torch._C._set_sdp_use_math(math)
    torch._C._set_sdp_use_flash(flash)
    torch._C._set_sdp_use_mem_efficient(mem_efficient)


def _read_deterministic() -> tuple[bool, bool]:
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


def _write_deterministic(values: tuple[bool, bool]) -> None:
    enabled, warn_only = values
    torch.use_deterministic_algorithms(enabled, warn_only=warn_only)


def _read_device() -> object:
    return torch.get_default_device()


def _write_device(device: Any) -> None:
    # Setting the default device pushes a function mode that slows every call: only when needed.
    if torch.get_default_device() != device:
        torch.set_default_device(None if str(device) == "cpu" else device)


MODES = (
    Mode("grad_mode", torch.is_grad_enabled, torch.set_grad_enabled),
    Mode("inference_mode", torch.is_inference_mode_enabled, _write_inference),
    Mode("default_dtype", torch.get_default_dtype, torch.set_default_dtype),
    Mode("default_device", _read_device, _write_device),
    autocast_mode("cpu"),
    Mode(
        "autocast_cache",
        torch.is_autocast_cache_enabled,
        torch.set_autocast_cache_enabled,
    ),
    Mode("autocast_nesting", _autocast_nesting, _write_autocast_nesting),
    Mode("deterministic", _read_deterministic, _write_deterministic),
    Mode(
        "matmul_precision",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    Mode("anomaly", torch.is_anomaly_enabled, lambda on: torch.set_anomaly_enabled(bool(on))),
    Mode("sdpa", _read_sdpa, _write_sdpa),
    Mode(
        "multithreading",
        torch.autograd.is_multithreading_enabled,
        torch._C._set_multithreading_enabled,
    ),
    Mode(
        "view_replay",
        torch.autograd.is_view_replay_enabled,
        torch._C._set_view_replay_enabled,
    ),
    Mode(
        "function_modes",
        torch._C._len_torch_function_stack,
        _popped(torch._C._len_torch_function_stack, torch._C._pop_torch_function_stack),
    ),
    Mode(
        "dispatch_modes",
        torch._C._len_torch_dispatch_stack,
        _popped(torch._C._len_torch_dispatch_stack, _pop_dispatch_mode),
    ),
    Mode(
        "functorch_level",
        _functorch_level,
        _popped(_functorch_level, torch._C._functorch.pop_dynamic_layer_stack),
    ),
    Mode("dual_level", _dual_level, _popped(_dual_level, forward_ad.exit_dual_level)),
    Mode(
        "saved_tensor_hooks",
        _has_saved_tensor_hooks,
        _popped(_has_saved_tensor_hooks, torch._C._autograd._pop_saved_tensors_default_hooks),
    ),
    Mode("threads", torch.get_num_threads, torch.set_num_threads),
)


def present_modes() -> tuple[Mode, ...]:
    """Return all modes, those of the device included."""
    return MODES + tuple(mode for device in _device for mode in device.modes)


def read_ambient() -> dict[str, str]:
    """Return every mode as text, as an observation shows it."""
    return {mode.name: str(mode.read()) for mode in present_modes()}


def random_digests() -> dict[str, str]:
    """Return short digests of the random states a user can see: torch, Python, numpy, a device."""
    numpy_state: Any = np.random.get_state(legacy=True)
    _, keys, *rest = numpy_state
    digests = {
        "torch": _digest(torch.get_rng_state().numpy().tobytes()),
        "python": python_random_digest(),
        "numpy": _digest(keys.tobytes() + repr(rest).encode()),
    }
    for device in _device:
        digests[device.name] = _digest(device.read_random().numpy().tobytes())
    return digests


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=6).hexdigest()


class AmbientSnapshot:
    """A picture of all modes and random states, put back by `restore`."""

    def __init__(self) -> None:
        self._modes = [(mode, mode.read()) for mode in present_modes()]
        self._devices = [(device, device.read_random()) for device in _device]
        self._torch = torch.get_rng_state()
        self._python = random.getstate()
        self._numpy = np.random.get_state()

    def restore(self) -> list[str]:
        """Put everything back and return the names of modes that had changed."""
        changed = []
        for mode, value in self._modes:
            if mode.read() != value:
                changed.append(mode.name)
                mode.write(value)
        torch.set_rng_state(self._torch)
        random.setstate(self._python)
        np.random.set_state(self._numpy)
        for device, state in self._devices:
            device.write_random(state)
        return changed


def seed_everything(seed: int) -> None:
    """Seed torch on all its devices, Python's `random` and numpy's legacy generator."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def quiet_warnings() -> None:
    """Silence framework warnings in workers: they are neither observed nor readable there."""
    warnings.simplefilter("ignore")
