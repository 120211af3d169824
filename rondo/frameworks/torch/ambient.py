"""Torch-global and Python-global state that calls can read or leak: seen, pictured and put back.

One table serves three uses: what an observation shows under `ambient.*`, what is restored after
every arm, and what a leak check compares.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
import torch

from rondo.frameworks.python_random import python_random_digest


@dataclass(frozen=True, slots=True)
class Mode:
    """One piece of global state: how to read it and how to put a value back."""

    name: str
    read: Callable[[], Any]
    write: Callable[[Any], object]


def _autocast_cpu(values: Any) -> None:
    enabled, dtype = values
    torch.set_autocast_enabled("cpu", enabled)
    torch.set_autocast_dtype("cpu", dtype)


def _read_device() -> object:
    return torch.get_default_device()


def _write_device(device: Any) -> None:
    # Setting the default device pushes a function mode that slows every call: only when needed.
    if torch.get_default_device() != device:
        torch.set_default_device(None if str(device) == "cpu" else device)


MODES = (
    Mode("grad_mode", torch.is_grad_enabled, torch.set_grad_enabled),
    Mode("inference_mode", torch.is_inference_mode_enabled, lambda _: None),
    Mode("default_dtype", torch.get_default_dtype, torch.set_default_dtype),
    Mode("default_device", _read_device, _write_device),
    Mode(
        "autocast_cpu",
        lambda: (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")),
        _autocast_cpu,
    ),
    Mode(
        "autocast_cache",
        torch.is_autocast_cache_enabled,
        torch.set_autocast_cache_enabled,
    ),
    Mode(
        "deterministic",
        torch.are_deterministic_algorithms_enabled,
        lambda on: torch.use_deterministic_algorithms(bool(on)),
    ),
    Mode(
        "matmul_precision",
        torch.get_float32_matmul_precision,
        torch.set_float32_matmul_precision,
    ),
    Mode("anomaly", torch.is_anomaly_enabled, lambda on: torch.set_anomaly_enabled(bool(on))),
    Mode("function_modes", lambda: torch._C._len_torch_function_stack(), lambda _: None),
    Mode("dispatch_modes", lambda: torch._C._len_torch_dispatch_stack(), lambda _: None),
    Mode(
        "functorch_level",
        lambda: torch._C._functorch.maybe_current_level() or 0,
        lambda _: None,
    ),
    Mode("threads", torch.get_num_threads, lambda _: None),
)


def read_ambient() -> dict[str, str]:
    """Return every mode as text, as an observation shows it."""
    return {mode.name: str(mode.read()) for mode in MODES}


def random_digests() -> dict[str, str]:
    """Return short digests of the three random states a user can see: torch, Python, numpy."""
    numpy_state: Any = np.random.get_state(legacy=True)
    _, keys, *rest = numpy_state
    return {
        "torch": _digest(torch.get_rng_state().numpy().tobytes()),
        "python": python_random_digest(),
        "numpy": _digest(keys.tobytes() + repr(rest).encode()),
    }


def _digest(data: bytes) -> str:
    return blake2b(data, digest_size=6).hexdigest()


class AmbientSnapshot:
    """A picture of all modes and random states, put back by `restore`."""

    def __init__(self) -> None:
        self._modes = [(mode, mode.read()) for mode in MODES]
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
        return changed


def seed_everything(seed: int) -> None:
    """Seed torch, Python's `random` and numpy's legacy generator."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def quiet_warnings() -> None:
    """Silence framework warnings in workers: they are neither observed nor readable there."""
    warnings.simplefilter("ignore")
