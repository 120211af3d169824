"""The toy compiler with faults in native code: deaths that no Python handler is there to soften.

The key insight: `os.kill` to oneself is a death that Python arranges, between two bytecodes. What
generated C++ does is worse - it never comes back to the interpreter, holds the lock over it, has no
stack left to run a handler on - so these faults are compiled by the C++ compiler, once for all
tests, and called with the lock held.

* `overflow` recurses until it touches the guard page behind the stack;
* `spin` loops for ever;
* `broken` fails an assertion;
* `thrown` lets a C++ exception out;
* `swell` takes `SWELL_MB` and gives them back: with a higher limit it would live.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

from rondo.subjects.target import Construct
from tests.toy_framework import Armed, ToyFramework, arm

LIBRARY = "RONDO_TEST_NATIVE_TOY"
"""Names the compiled faults in the environment of whoever loads the adapter."""
SWELL_MB = 600
SOURCE = r"""
#undef NDEBUG
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <unistd.h>

extern "C" int overflow(int depth) {
    volatile char frame[4096];
    frame[0] = (char)depth;
    return overflow(depth + 1) + frame[0];
}

extern "C" int spin(int) {
    for (volatile unsigned turns = 0;; turns = turns + 1) {
    }
}

extern "C" int broken(int size) {
    assert(size == 1 && "the kernel was made for one row");
    return size;
}

extern "C" int thrown(int) { throw std::runtime_error("no such kernel"); }

extern "C" int swell(int megabytes) {
    char *taken[1 << 12];
    for (int i = 0; i < megabytes; i++) {
        taken[i] = static_cast<char *>(std::malloc(1 << 20));
        std::memset(taken[i], 1, 1 << 20);
        usleep(1000);
    }
    for (int i = 0; i < megabytes; i++) std::free(taken[i]);
    return 0;
}
"""


def build(folder: Path) -> Path:
    """Compile the faults into a library below `folder`."""
    source, library = folder / "faults.cpp", folder / "faults.so"
    source.write_text(SOURCE)
    # Not optimised: a recursion must not become a loop, nor a loop without effect vanish.
    command = ["c++", "-O0", "-shared", "-fPIC", "-o", library, source]
    subprocess.run(command, check=True, capture_output=True)
    return library


class Native(Armed):
    """Does harm in native code, which keeps the interpreter's lock all the while."""

    argument = 0

    def harm(self) -> None:
        library = ctypes.PyDLL(os.environ[LIBRARY])
        getattr(library, type(self).__name__.lower())(self.argument)


class Overflow(Native):
    pass


class Spin(Native):
    pass


class Broken(Native):
    pass


class Thrown(Native):
    pass


class Swell(Native):
    argument = SWELL_MB


PARTS: dict[str, type[Native]] = {
    part.__name__.lower(): part for part in (Overflow, Spin, Broken, Thrown, Swell)
}


def _construct(name: str, part: type[Native]) -> Construct:
    construct = Construct(name, part, kind="toy", doc=f"{name} in native code")
    construct.change(values=1)(arm)
    return construct


CONSTRUCTS = {name: _construct(name, part) for name, part in PARTS.items()}


class NativeFramework(ToyFramework):
    """The toy compiler over these faults."""

    kinds = PARTS
    constructs = CONSTRUCTS
