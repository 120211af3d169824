"""compiler: changes to how the subject is compiled and to what JAX has retained.

Those that *carry* configure later calls (so the reset arm makes them too); the others act on
retained state and are made in the retained arm alone.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache import compilation_cache

from rondo.frameworks.base import Layer
from rondo.frameworks.jax.flags import forget_thread_hook
from rondo.frameworks.jax.program import JaxProgram
from rondo.sequences import vocabulary
from rondo.sequences.step import Call
from rondo.subjects.target import Target

COMPILER = Target(vocabulary.COMPILER, kind="compiler", doc="how to compile, and what was retained")


@COMPILER.change(values=2, carries=True)
def donate(program: JaxProgram, value: int) -> None:
    """Jit again, with the buffers donated to every call (0) or kept (1)."""
    program.settings.donate = value == 0
    program.rewrap(same_functions=True)


OPTIONS: tuple[dict[str, Any], ...] = (
    {"keep_unused": True},
    {"inline": True},
    {"compiler_options": {"xla_backend_optimization_level": 0}},
    {},
)


@COMPILER.change(values=len(OPTIONS), carries=True)
def jit_options(program: JaxProgram, value: int) -> None:
    """Jit the same functions again: keep_unused, inline, XLA without optimisation, or as usual."""
    program.settings.options = dict(OPTIONS[value])
    program.rewrap(same_functions=True)


@COMPILER.change(values=2, carries=True)
def wrap_again(program: JaxProgram, value: int) -> None:
    """Call `jax.jit` again, on the same functions (0) or on new ones of the same code (1)."""
    program.rewrap(same_functions=value == 0)


@COMPILER.change(values=2)
def clear_own(program: JaxProgram, value: int) -> None:
    """Clear the functions' own caches: both levels (0), or the fast path alone (1)."""
    for function in program.retained_functions():
        if value == 0:
            function.clear_cache()
        else:
            function._clear_cache()


@COMPILER.change(drops=True)
def clear_caches(program: JaxProgram, value: int) -> None:
    """Call jax.clear_caches(): all that is kept in memory goes, the persistent cache stays."""
    jax.clear_caches()


@COMPILER.change()
def collect_garbage(program: JaxProgram, value: int) -> None:
    """Collect garbage, so that weakly held traces go."""
    gc.collect()


@COMPILER.change(values=3)
def ahead_of_time(program: JaxProgram, value: int) -> None:
    """Look at the program of a usual call: eval_shape (0), lower (1), or lower and compile (2)."""
    if program.repeats_side_effects:
        return
    usual = Call(sizes=(0,) * len(program._architecture.schema.dimensions))
    inputs = program.make_inputs(usual)
    arguments = program.arguments(usual, inputs)
    function = program.functions(inputs).named("none")
    jitted: Any = jax.jit(function, static_argnums=tuple(range(5, len(arguments))))
    if program.settings.jit:
        jitted = program.jitted("none", function, len(arguments) - 5)
    if value == 0:
        jitted.eval_shape(*arguments)
    else:
        lowered = jitted.lower(*arguments)
        if value == 2:
            lowered.compile()


@COMPILER.change()
def empty_persistent_cache(program: JaxProgram, value: int) -> None:
    """Remove what the persistent cache holds on disk, if it is on."""
    folder = jax.config.values["jax_compilation_cache_dir"]
    if folder:
        for entry in Path(str(folder)).iterdir():
            if entry.is_file():
                entry.unlink(missing_ok=True)
        compilation_cache.reset_cache()


@COMPILER.change()
def follow_debug_flags(program: JaxProgram, value: int) -> None:
    """Drop the thread's own hook for debug flags, so that results are checked as the flags say."""
    forget_thread_hook()


LAYERS = (
    Layer(
        "fast path",
        "the C++ entries of the jitted function: argument signature and jit key to executable",
        (("clear_own", 1),),
    ),
    Layer(
        "function's traces",
        "both levels of the jitted function: its entries, and its traces by types and settings",
        (("clear_own", 0),),
    ),
    Layer(
        "all traces",
        "traces, lowered programs and executables of all functions and of single operations",
        (("clear_caches", 0),),
    ),
    Layer(
        "thread's hook",
        "whether the debug flags' check of results is on in this thread",
        (("follow_debug_flags", 0),),
    ),
    Layer(
        "persistent cache",
        "executables on disk, by a hash of the program and the compile options",
        (("clear_caches", 0), ("empty_persistent_cache", 0)),
        disk=True,
    ),
)
"""What JAX retains between calls, innermost first."""
