"""Making this process ready to fork: what a first trace imports and converts; nothing that runs.

The first operation starts TensorFlow's thread pools, and a forked child does not have its parent's
threads: it would wait for them for ever. So nothing here makes a tensor. Importing takes 3 s and
starts no thread; a first operation in the child takes 60 ms.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from types import FunctionType, ModuleType

import tensorflow as tf
from tensorflow.python.autograph.core.converter import ConversionOptions, ProgramContext
from tensorflow.python.autograph.impl import api

from rondo.frameworks.tensorflow.functions import has_context
from rondo.subjects.target import Construct

MODULES = (
    "keras.src.backend.tensorflow.trainer",
    "keras.src.trainers.data_adapters.array_data_adapter",
    "keras.src.utils.summary_utils",
    "tensorflow.python.autograph.converters.control_flow",
    "tensorflow.python.autograph.impl.api",
    "tensorflow.python.eager.polymorphic_function.compiler_ir",
    "tensorflow.python.eager.polymorphic_function.saved_model_utils",
    "tensorflow.python.ops.while_v2",
    "tensorflow.python.ops.cond_v2",
)
"""What first traces were seen to import. One that a version lacks is imported by nobody."""


def import_compiler() -> None:
    """Import what a first trace would import."""
    for name in MODULES:
        with suppress(ImportError):
            importlib.import_module(name)


def convert_functions(constructs: Iterable[tuple[Construct, ModuleType]]) -> None:
    """Have AutoGraph convert what the forwards of constructs call, as their first traces would.

    Rewriting source makes no tensor, and takes half of a short sequence's time. What AutoGraph
    cannot convert it leaves alone while tracing too.
    """
    context = ProgramContext(options=ConversionOptions(recursive=True, user_requested=False))
    for construct, module in constructs:
        changes = {action.apply for action in construct.actions} | {construct.observer}
        for function in functions_of(module):
            if function not in changes:
                with suppress(Exception):
                    api._convert_actual(function, context)


def functions_of(module: ModuleType) -> Iterator[FunctionType]:
    """Yield the functions that a module's file defines, those of its classes included."""
    own = [v for v in vars(module).values() if getattr(v, "__module__", "") == module.__name__]
    for value in own:
        members = vars(value).values() if isinstance(value, type) else (value,)
        for member in members:
            function = getattr(member, "python_function", member)
            if isinstance(function, FunctionType) and function.__name__ != "__init__":
                yield function


def set_threads() -> None:
    """Give operations one thread: sums in one order, and workers that leave each other a core.

    Only before the first operation; after it TensorFlow refuses.
    """
    if not has_context():
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(2)
