"""Making this process ready to fork: everything a first trace imports, and nothing that runs.

The first operation starts TensorFlow's thread pools, and a forked child does not have its parent's
threads: it would wait for them for ever. So nothing here makes a tensor. Importing takes 3 s and
starts no thread; a first operation in the child takes 60 ms.
"""

from __future__ import annotations

import importlib
from contextlib import suppress

import tensorflow as tf

from rondo.frameworks.tensorflow.functions import has_context

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


def set_threads() -> None:
    """Give operations one thread: sums in one order, and workers that leave each other a core.

    Only before the first operation; after it TensorFlow refuses.
    """
    if not has_context():
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(2)
