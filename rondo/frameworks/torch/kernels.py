"""A store of compiled kernels: the C++ compiler runs once per kernel text, ever.

Inductor keeps its shared objects in the folder whose emptiness the reset arm depends on, so every
reset would pay g++ again (2 to 6 s). The store sits below that, at the compiler's command line: the
key is the command without its paths, plus the text of the sources, plus the compiler's version. A
hit copies the object to where g++ would have put it. Nothing of the caches under test is touched:
FX graph and AOTAutograd entries come and go with their folder as before.

The precompiled header, which takes ten seconds, is kept in the store as well. Torch names it by all
that goes into it and keeps it under TMPDIR, of which every campaign has one of its own.
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

SOURCES = (".cpp", ".cc", ".c")
LARGEST_STORE = 1 << 30
"""Bytes; beyond it the objects that were used longest ago go."""
HEADER_SUFFIX = ".gch"
HEADERS = "headers"
"""The folder of precompiled headers in the store. One takes 150 MB."""


def default_store() -> Path:
    """Return the store of this user: RONDO_KERNEL_CACHE, else under the user's cache folder."""
    named = os.environ.get("RONDO_KERNEL_CACHE")
    if named:
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(base) / "rondo" / "kernels"


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
        if output is not None and output.endswith(HEADER_SUFFIX):
            self._run_whole(cmd_line, cwd, output)
            return
        if output is None or not sources or not all(source.exists() for source in sources):
            self.run(cmd_line, cwd)
            return
        stored = self.folder / f"{key_of(command, sources)}{Path(output).suffix}"
        target = Path(cwd, output)
        if self._fetch(stored, target):
            return
        self.run(cmd_line, cwd)
        self._keep(target, stored)

    def _run_whole(self, cmd_line: str, cwd: str, output: str) -> None:
        """Run a command so that its output appears whole or not at all.

        Torch takes a precompiled header that exists for a sound one, and the compiler silently
        does without one that is cut off: a worker that is killed meanwhile would cost everybody
        after it ten times the time.
        """
        draft = f"{output}.{os.getpid()}"
        self.run(cmd_line.replace(f" {output}", f" {draft}"), cwd)
        os.replace(Path(cwd, draft), Path(cwd, output))

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
        prune(self.folder, limit)


def prune(folder: Path, limit: int) -> None:
    """Remove the files that were touched longest ago until `folder` is below `limit` bytes."""
    with suppress(OSError):
        files = [(entry.stat(), entry) for entry in folder.iterdir() if entry.is_file()]
        total = sum(stat.st_size for stat, _ in files)
        for stat, entry in sorted(files, key=lambda pair: pair[0].st_mtime):
            if total <= limit:
                break
            entry.unlink(missing_ok=True)
            total -= stat.st_size


def share_headers(folder: Path) -> None:
    """Have Inductor keep its precompiled headers in `folder`, where it can.

    The compiler's command line names it unquoted, so a folder with spaces will not do. A torch
    that lacks the constant keeps its headers where it always did: only slower.
    """
    from torch._inductor import codecache

    if not hasattr(codecache, "_HEADER_DIR") or any(map(str.isspace, str(folder))):
        return
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            prune(folder, LARGEST_STORE)
            codecache._HEADER_DIR = str(folder)
            codecache._HEADER_LOCK_DIR = str(folder / "locks")


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
    state = blake2b(compiler_version(command[0]).encode(), digest_size=16)
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
    store = KernelStore(default_store(), run)
    store.prune()
    share_headers(store.folder / HEADERS)
    cpp_builder.run_compile_cmd = store
    with suppress(Exception):
        cpu_vec_isa.pick_vec_isa()
        codecache.torch_key()
