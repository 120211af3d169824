"""A store of executables: XLA runs once per program text in a process.

`jax.clear_caches()` makes even `a + b` compile again, so the eager arm - one call per operation -
would spend 20 ms of XLA on every operation after every reset. The store sits below all that JAX
keeps, at the call into XLA: the key is the module's whole text with the compile options, and a
hit returns the executable that XLA made of exactly this. What is under test - traces, keys, jaxprs,
lowering, the persistent cache - is dropped and made anew as without it. Programs that call back
into Python hold addresses, so they are compiled every time.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Any

from jax._src import compiler

LARGEST_STORE = 4096
"""Executables; beyond it those that were used longest ago go."""

CALLBACK = "callback"


class ExecutableStore:
    """Wraps `backend_compile_and_load(backend, module, devices, options, host_callbacks)`."""

    def __init__(self, compile_: Any, *, largest: int = LARGEST_STORE) -> None:
        self.hits = 0
        self.misses = 0
        self._compile = compile_
        self._largest = largest
        self._kept: OrderedDict[bytes, Any] = OrderedDict()

    def __call__(
        self, backend: Any, module: Any, devices: Any, options: Any, host_callbacks: Any
    ) -> Any:
        """Return the executable of `module`, compiled now or before."""
        text = module.operation.get_asm()
        if host_callbacks or CALLBACK in text:
            return self._compile(backend, module, devices, options, host_callbacks)
        # The address keeps clients apart: an executable belongs to the one that loaded it.
        key = _digest(text, options.SerializeAsString(), f"{id(backend)} {devices!r}")
        if key in self._kept:
            self.hits += 1
            self._kept.move_to_end(key)
            return self._kept[key]
        self.misses += 1
        executable = self._compile(backend, module, devices, options, host_callbacks)
        self._kept[key] = executable
        if len(self._kept) > self._largest:
            self._kept.popitem(last=False)
        return executable


def _digest(text: str, options: bytes, rest: str) -> bytes:
    state = blake2b(text.encode(), digest_size=16)
    state.update(options)
    state.update(rest.encode())
    return state.digest()


def install_store() -> ExecutableStore:
    """Put a store in front of XLA, once per process, and return it."""
    installed = compiler.backend_compile_and_load
    if isinstance(installed, ExecutableStore):
        return installed
    store = ExecutableStore(installed)
    compiler.backend_compile_and_load = store
    return store
