"""How TensorFlow is started: before anything else of this package may import it.

It reads its environment once, when imported, and greets on standard error.
"""

from __future__ import annotations

import importlib
import os

from rondo.frameworks.shared.xla import round_as_written
from rondo.frameworks.tensorflow.xla_log import LOGGED, XlaLog

ENVIRONMENT = {
    **LOGGED,
    "KERAS_BACKEND": "tensorflow",
    "CUDA_VISIBLE_DEVICES": "-1",
    # oneDNN rounds differently from one shape to the next; without it a kernel is one kernel.
    "TF_ENABLE_ONEDNN_OPTS": "0",
}

LOG = XlaLog()
"""The log of this process, which a forked child goes on with."""

os.environ.update(ENVIRONMENT)
round_as_written()
with LOG.caught():
    importlib.import_module("keras")
LOG.take()
