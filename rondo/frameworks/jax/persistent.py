"""The persistent compilation cache: off, or on with a folder that every reset replaces."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import jax
from jax.experimental.compilation_cache import compilation_cache

SETTINGS = {
    "jax_persistent_cache_min_compile_time_secs": 0.0,
    "jax_persistent_cache_min_entry_size_bytes": -1,
}
"""Keep every program: by default only those that took a second are."""


class PersistentCache:
    """Where JAX keeps executables on disk for the sequence at hand."""

    def __init__(self) -> None:
        self._disk = False
        self._folder: Path | None = None
        self._before: dict[str, object] = {}

    def choose(self, *, disk: bool) -> None:
        """Use the persistent cache from the next `renew` on, or leave it off."""
        self._disk = disk
        if disk:
            self._before = {name: jax.config.values[name] for name in SETTINGS}
            for name, value in SETTINGS.items():
                jax.config.update(name, value)

    def renew(self) -> None:
        """Forget the old folder and start with an empty one."""
        if not self._disk:
            return
        self._drop()
        self._folder = Path(tempfile.mkdtemp(prefix="rondo-jax-"))
        compilation_cache.reset_cache()
        jax.config.update("jax_compilation_cache_dir", str(self._folder))

    def _drop(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def leave(self) -> None:
        """Switch the persistent cache off again."""
        if not self._disk:
            return
        jax.config.update("jax_compilation_cache_dir", None)
        compilation_cache.reset_cache()
        for name, value in self._before.items():
            jax.config.update(name, value)
        self._drop()
        self._disk = False
