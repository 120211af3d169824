"""All that `to_static` keeps in this process, and how each part is dropped.

Paddle has no public call that drops it, and making a new compiled function is no reset: bytecode
capture keeps what it made by *code object*, for every wrapper around it. So this module names each
place, from the outside in:

| part | what it holds |
|---|---|
| bytecode | translated code objects and their guards; code to go on with after a graph break |
| graphs | what compiled a captured graph, and the names of graphs |
| shapes | what was inferred about operations and built-in layers by their arguments |
| programs | the programs of whole-graph capture, in each compiled function that lives |
| conversions | functions rewritten by whole-graph capture, with the globals of that time |

Programs that ran are kept by nobody else: interpreters and scopes belong to the program's layer.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from types import CodeType, FunctionType
from typing import Any

from paddle.framework import core
from paddle.jit.dy2static import parameter_recorder, program_translator
from paddle.jit.sot import infer_meta
from paddle.jit.sot.opcode_translator.executor.executor_cache import (
    OpcodeExecutorCache,
)
from paddle.jit.sot.opcode_translator.executor.pycode_generator import (
    ResumeFunctionCreator,
)
from paddle.jit.sot.symbolic.compile_cache import CompileSIRCache
from paddle.jit.sot.symbolic.statement_ir import StatementIRFactory
from paddle.jit.sot.utils.utils import SIRToCodeMap, StepInfoManager

INSTALLED = ("___", "__compiled_fn", "__resume_fn")
"""How names begin that bytecode capture puts among the globals of what it translates."""

_functions: weakref.WeakSet[Any] = weakref.WeakSet()
_namespaces: dict[int, dict[str, Any]] = {}


def follow_functions() -> None:
    """Note every compiled function that is made from now on, weakly. Idempotent."""
    original = program_translator.StaticFunction.__init__
    if hasattr(original, "followed"):
        return

    @functools.wraps(original)
    def noting(self: Any, *arguments: Any, **options: Any) -> None:
        original(self, *arguments, **options)
        _functions.add(self)

    noting.followed = True  # type: ignore[attr-defined]
    program_translator.StaticFunction.__init__ = noting


def note_namespace(namespace: dict[str, Any]) -> None:
    """Note the globals of code that is being translated, to take out what is put in there."""
    _namespaces[id(namespace)] = namespace


def drop_bytecode() -> None:
    """Drop translated code: guards, and the code that goes on after graph breaks."""
    cache = OpcodeExecutorCache()
    cache.clear()
    cache.consecutive_cache_hit_count.clear()
    ResumeFunctionCreator.CODE_CACHE.clear()
    steps = StepInfoManager()
    steps.step_record.clear()
    steps.current_code = None
    steps.current_step_info = None
    for namespace in _namespaces.values():
        for name in [name for name in namespace if name.startswith(INSTALLED)]:
            del namespace[name]
    _namespaces.clear()


def drop_graphs() -> None:
    """Drop what compiled captured graphs; translated code that holds one keeps it."""
    CompileSIRCache().clear()
    graphs = StatementIRFactory()
    graphs.clear()
    SIRToCodeMap()._map.clear()


def drop_shapes() -> None:
    """Drop what was inferred about operations and built-in layers."""
    infer_meta.InferMetaCache().clear()
    infer_meta.LayerInferMetaCache().clear()
    infer_meta.VariableCreator().__init__()


def drop_programs() -> None:
    """Drop the programs of every compiled function, methods included."""
    for function in list(_functions):
        function._program_cache.clear()
        function._descriptor_cache.clear()
    # What a trace that raised was still recording.
    recorder = parameter_recorder._global_parameter_recorder
    recorder.params_dict.clear()
    recorder.tensor2value.clear()
    parameter_recorder._global_inplace_map.params_dict.clear()


def drop_conversions() -> None:
    """Drop rewritten functions: each holds a copy of the globals as they were then."""
    conversions = program_translator._FUNCTION_CACHE
    conversions._converted_static_func_caches.clear()
    conversions._code_to_ast_caches.clear()


def reset() -> None:
    """Drop all of it, and count graphs from the start as a fresh process does."""
    drop_bytecode()
    drop_graphs()
    drop_shapes()
    drop_programs()
    drop_conversions()
    StatementIRFactory().name_generator.counter = 0


def never_skip(functions: Iterable[Callable[..., object]]) -> None:
    """Have bytecode capture look at these functions however often they came without a graph.

    After some such calls it marks a code object and leaves it alone from then on, for the life of
    the process and with no way back: what one sequence did would decide what the next one tests.
    """
    codes: dict[int, CodeType] = {
        id(each.__code__): each.__code__ for each in functions if isinstance(each, FunctionType)
    }
    core.sot_setup_codes_with_graph(tuple(codes.values()))


def translations() -> dict[CodeType, list[Any]]:
    """Return the translated code of each code object, with its guard, oldest first."""
    return {code: entries for code, (entries, _) in OpcodeExecutorCache().cache.items()}
