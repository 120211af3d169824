"""The native part: line tracer, behaviour hash and map, libFuzzer counters.

Everything here is compiled, because everything here runs once per line, per compile event or per
execution. There is no interpreted substitute: a fuzzer that silently runs ten times slower, or
that traces with a Python function (which makes Dynamo compile the tracer, and so changes what is
under test), is worse than one that stops and says what to do. A missing extension therefore
raises `NativeMissingError`, at the import that needs it and nowhere earlier, so that commands which
need no native code keep working.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

EXTENSIONS = ("behaviour", "lines", "tracer", "counters")


class NativeMissingError(ImportError):
    """The compiled extension is missing: build it with ``pip install .`` (needs a C compiler)."""

    slug = "native-missing"


class TracerBusyError(RuntimeError):
    """Another tracer or debugger is active: run without it, or run Rondo without lines."""

    slug = "tracer-busy"


class LibFuzzerMissingError(RuntimeError):
    """No libFuzzer is loaded: import atheris's core before the counters are registered."""

    slug = "libfuzzer-missing"


class _ExplainMissing(MetaPathFinder):
    """Turns "No module named rondo._native.tracer" into a sentence that says how to build it.

    It stands last on `sys.meta_path`, so it is asked only after every real finder has failed.
    """

    _names = frozenset(f"{__name__}.{name}" for name in EXTENSIONS)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in self._names:
            return None
        raise NativeMissingError(
            f"{fullname} is not compiled for this interpreter (Python "
            f"{sys.version_info[0]}.{sys.version_info[1]}). Build it with 'pip install .', or in "
            "a checkout with 'python setup.py build_ext --inplace'; both need a C compiler and "
            "Cython. Rondo has no slow substitute for it, on purpose.",
            name=fullname,
        )


if not any(isinstance(finder, _ExplainMissing) for finder in sys.meta_path):
    sys.meta_path.append(_ExplainMissing())
