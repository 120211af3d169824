"""A store of executables: XLA runs once per program text, ever.

`jax.clear_caches()` makes even `a + b` compile again, so the eager arm - one call per operation -
would spend 20 ms of XLA on every operation after every reset. The store sits below all that JAX
keeps, at the call into XLA: the key is the module's whole text with the compile options, and a
hit returns the executable that XLA made of exactly this. What is under test - traces, keys, jaxprs,
lowering, the persistent cache - is dropped and made anew as without it. Programs that call back
into Python hold addresses, so they are compiled every time. What one process compiled others load
from a folder (3 ms instead of 20 for one operation): workers come and go, and every finding is
confirmed in fresh ones.
"""

from __future__ import annotations

import os
import tempfile
from collections import OrderedDict
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import jaxlib
from jax._src import compiler

from rondo.frameworks.shared.store import processor, prune, store_folder

LARGEST_STORE = 4096
"""Executables; beyond it those that were used longest ago go."""

LARGEST_FOLDER = 1 << 29
"""Bytes; beyond it the files that were used longest ago go."""

CALLBACK = "callback"


@cache
def machine() -> str:
    """Return what an executable depends on besides its program: XLA's version and the processor."""
    return f"{jaxlib.__version__} {processor()} {os.environ.get('XLA_FLAGS', '')}"


class ExecutableStore:
    """Wraps `backend_compile_and_load(backend, module, devices, options, host_callbacks)`."""

    def __init__(
        self, compile_: Any, *, largest: int = LARGEST_STORE, folder: Path | None = None
    ) -> None:
        self._compile = compile_
        self._largest = largest
        self._folder = folder
        self._kept: OrderedDict[bytes, Any] = OrderedDict()

    def __call__(
        self, backend: Any, module: Any, devices: Any, options: Any, host_callbacks: Any
    ) -> Any:
        """Return the executable of `module`, compiled now or before."""
        text = module.operation.get_asm()
        if host_callbacks or CALLBACK in text:
            return self._compile(backend, module, devices, options, host_callbacks)
        # The address keeps clients apart: an executable belongs to the one that loaded it.
        program = _digest(text, options.SerializeAsString(), machine())
        key = program + str(id(backend)).encode()
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        executable = self._load(program, backend, devices, options)
        if executable is None:
            executable = self._compile(backend, module, devices, options, host_callbacks)
            self._save(program, executable)
        self._kept[key] = executable
        if len(self._kept) > self._largest:
            self._kept.popitem(last=False)
        return executable

    def _load(self, program: bytes, backend: Any, devices: Any, options: Any) -> Any:
        """Return the executable that some process saved, or None. A file that XLA refuses goes."""
        if self._folder is None:
            return None
        path = self._folder / program.hex()
        try:
            data = path.read_bytes()
        except OSError:
            return None
        try:
            executable = backend.deserialize_executable(data, devices, options)
        except Exception:
            path.unlink(missing_ok=True)
            return None
        with suppress(OSError):
            os.utime(path)
        return executable

    def _save(self, program: bytes, executable: Any) -> None:
        """Save an executable for other processes; where that fails there is one file less."""
        if self._folder is None:
            return
        with suppress(Exception):
            data = executable.serialize()
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as file:
                file.write(data)
            os.replace(file.name, self._folder / program.hex())


def _digest(text: str, options: bytes, rest: str) -> bytes:
    state = blake2b(text.encode(), digest_size=16)
    state.update(options)
    state.update(rest.encode())
    return state.digest()


def prepared_folder() -> Path | None:
    """Return the folder of executables, made and pruned, or None where it cannot be written."""
    folder = store_folder("jax", within="jax")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        prune(folder.iterdir(), LARGEST_FOLDER)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None


def install_store() -> ExecutableStore:
    """Put a store in front of XLA, once per process, and return it."""
    installed = compiler.backend_compile_and_load
    if isinstance(installed, ExecutableStore):
        return installed
    store = ExecutableStore(installed, folder=prepared_folder())
    compiler.backend_compile_and_load = store
    return store
