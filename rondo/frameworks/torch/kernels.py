"""A store of compiled kernels: the C++ compiler runs once per kernel text, ever.

Inductor keeps its shared objects in the folder whose emptiness the reset arm depends on, so every
reset would pay g++ again (2 to 6 s). The store sits below that, at the compiler's command line: the
key is the command without its paths, plus the text of the sources, plus the versions of compiler
and processor. A hit copies the object to where g++ would have put it. Nothing of the caches under
test is touched: FX graph and AOTAutograd entries come and go with their folder as before. The
precompiled header that all kernels include is kept below the store as well (`headers`).
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path

from rondo.frameworks.shared.store import processor, prune, store_folder
from rondo.frameworks.torch import headers

SOURCES = (".cpp", ".cc", ".c")
LARGEST_STORE = 1 << 30
"""Bytes; beyond it the objects that were used longest ago go."""
HEADERS = "headers"
"""The folder of precompiled headers in the store."""


@cache
def compiler_version(compiler: str) -> str:
    """Return what `compiler --version` says, or its name if it says nothing."""
    try:
        done = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return compiler
    return done.stdout


class KernelStore:
    """Wraps `run(command, cwd)`, which runs a compiler's command line."""

    def __init__(self, folder: Path, run: Callable[[str, str], None]) -> None:
        self.folder = folder
        self.run = run

    def __call__(self, cmd_line: str, cwd: str) -> None:
        """Run the command, or copy what an equal command produced before."""
        command = shlex.split(cmd_line)
        output = output_of(command)
        sources = [Path(cwd, token) for token in command if token.endswith(SOURCES)]
        if output is not None and output.endswith(headers.SUFFIXES):
            headers.precompile(self.run, cmd_line, cwd, output)
            return
        headers.note_use(command)
        if output is None or not sources or not all(source.exists() for source in sources):
            self.run(cmd_line, cwd)
            return
        stored = self.folder / f"{key_of(command, sources)}{Path(output).suffix}"
        target = Path(cwd, output)
        if self._fetch(stored, target):
            return
        self.run(cmd_line, cwd)
        self._keep(target, stored)

    def _fetch(self, stored: Path, target: Path) -> bool:
        try:
            shutil.copyfile(stored, target)
            os.chmod(target, 0o755)
            os.utime(stored)
        except OSError:
            return False
        return True

    def _keep(self, target: Path, stored: Path) -> None:
        """Store a result; a store that cannot be written only costs time."""
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            handle, temporary = tempfile.mkstemp(prefix=".", dir=self.folder)
            os.close(handle)
            shutil.copyfile(target, temporary)
            os.replace(temporary, stored)

    def prune(self, limit: int = LARGEST_STORE) -> None:
        """Remove the objects that were used longest ago until the store is below `limit` bytes."""
        with suppress(OSError):
            prune((entry for entry in self.folder.iterdir() if entry.is_file()), limit)


def output_of(command: list[str]) -> str | None:
    """Return what `-o` names, or None."""
    for flag, value in pairwise(command):
        if flag == "-o":
            return value
    return None


def key_of(command: list[str], sources: list[Path]) -> str:
    """Return the key of a command: its flags with the names of sources and output left out.

    A precompiled header is named by its content, wherever it lies.
    """
    output = output_of(command)
    made_by = f"{compiler_version(command[0])} {processor()}"  # a usual flag is -march=native
    state = blake2b(made_by.encode(), digest_size=16)
    for flag, token in pairwise(["", *command]):
        if token != output and not token.endswith(SOURCES):
            told = os.path.basename(token) if flag == "-include" else token
            state.update(told.encode() + b"\0")
    for source in sources:
        state.update(source.read_bytes() + b"\0")
    return state.hexdigest()


def install_store() -> None:
    """Put the store in front of Inductor's C++ compiler, and find out now what vectors it has.

    The probe compiles a few lines and loads them in a process of its own; a forked worker inherits
    the answer, and the hash of torch's sources that is in the keys of its caches. A torch that
    lacks the function keeps compiling every time: only slower.
    """
    from torch._inductor import codecache, cpp_builder, cpu_vec_isa

    run = getattr(cpp_builder, "run_compile_cmd", None)
    if run is None or isinstance(run, KernelStore):
        return
    store = KernelStore(store_folder("kernels"), run)
    store.prune()
    headers.share_headers(store.folder / HEADERS)
    cpp_builder.run_compile_cmd = store
    with suppress(Exception):
        cpu_vec_isa.pick_vec_isa()
        codecache.torch_key()
