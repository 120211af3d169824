"""Starting a target: environment, imports and registration in the one order that works.

1. `TMPDIR` and the janitor, before anything has files or threads.
2. The environment that the campaign's server has: one OpenMP thread, no compile workers.
3. Our mutators' modules, visible to what is loaded later; then atheris's core, which looks for them
   once; then our counters, which need the core (see `rondo._native.counters`).
4. The framework, warmed up: what a first compile imports is not the first input's doing.

torch is never instrumented: bytecode that Dynamo may trace must stay as it was written.
"""

from __future__ import annotations

import logging
import os
import runpy
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rondo.errors import RondoError
from rondo.libfuzzer.budget import Budget, budget_for
from rondo.libfuzzer.flags import HELP, Options, parse
from rondo.libfuzzer.janitor import temporary_folder

if TYPE_CHECKING:
    from rondo.libfuzzer.target import FuzzTarget

ENVIRONMENT = {"OMP_NUM_THREADS": "1", "TORCHINDUCTOR_COMPILE_THREADS": "1"}


class AtherisMissingError(RondoError):
    """atheris is not installed for this interpreter."""

    slug = "missing-atheris"


def fuzz(
    arguments: Sequence[str], *, framework: str, backend: str, known: Sequence[Path] = ()
) -> None:
    """Run a target for one back end under libFuzzer. Never returns: libFuzzer ends the process.

    `known` are folders of reproducers that are not reported again, in addition to --known.
    """
    serve_as_interpreter(list(arguments))
    if "--help" in arguments:
        print(HELP)
        sys.exit(0)
    try:
        options, passed_on = parse(list(arguments), known=tuple(known))
        os.environ.update(ENVIRONMENT)
        temporary_folder()
        _load_atheris(options)
        budget = budget_for(passed_on, options.max_total_time)
        target = _target(options, framework, options.backend or backend, budget)
    except RondoError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(error.exit_code)

    import atheris

    hooks = {}
    if options.mutator != "libfuzzer":
        hooks = {"custom_mutator": target.mutate, "custom_crossover": target.crossover}
    # Our counters are registered with the libFuzzer inside atheris: that one must run, also where
    # a sanitizer's library brings another.
    atheris.Setup(
        passed_on,
        target.run_one,
        enable_python_coverage=False,
        internal_libfuzzer=True,
        **hooks,
    )
    atheris.Fuzz()


def serve_as_interpreter(arguments: list[str]) -> None:
    """Run `-m MODULE ...` and end, in a packed target that is asked to.

    Fresh processes are started as `sys.executable -m rondo.campaign.server`, and in a target that
    PyInstaller has packed, `sys.executable` is the target itself.
    """
    if not getattr(sys, "frozen", False) or arguments[1:2] != ["-m"]:
        return
    sys.argv = arguments[2:]
    runpy.run_module(arguments[2], run_name="__main__", alter_sys=True)
    sys.exit(0)


def _load_atheris(options: Options) -> None:
    """Import atheris so that its core finds our mutators, and give it our counters."""
    flags = sys.getdlopenflags()
    try:
        sys.setdlopenflags(flags | os.RTLD_GLOBAL)
        if options.mutator != "libfuzzer":
            import atheris.custom_crossover
            import atheris.custom_mutator
        sys.setdlopenflags(flags)
        import atheris.core_with_libfuzzer  # noqa: F401
    except ImportError as error:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise AtherisMissingError(
            f"no atheris for Python {version} ({error}); run: pip install atheris"
        ) from None
    finally:
        sys.setdlopenflags(flags)
    from rondo._native import counters

    counters.register()


def _target(options: Options, framework: str, backend: str, budget: Budget) -> FuzzTarget:
    """Load the framework, run the preloads and put the target together. Raises RondoError."""
    from rondo.campaign.loading import load
    from rondo.campaign.preload import run_preloads
    from rondo.libfuzzer.alarms import Alarms
    from rondo.libfuzzer.target import FuzzTarget

    # What a compiler logs is for whoever uses it; among libFuzzer's lines it hides the news.
    logging.disable(logging.WARNING)
    adapter = load(framework)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        adapter.warm()
    run_preloads(options.preload)
    alarms = Alarms(options, framework, adapter.vocabulary())
    return FuzzTarget(adapter, backend, options, alarms, budget)
