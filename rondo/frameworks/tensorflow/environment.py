"""What a maintainer asks about the environment of a report."""

from __future__ import annotations

import platform
import sys

import keras
import numpy as np
import tensorflow as tf

from rondo.frameworks.tensorflow._start import ENVIRONMENT


def describe_environment() -> dict[str, str]:
    """Return versions, build flags and the machine's kind, as TensorFlow's issue template asks."""
    build = tf.sysconfig.get_build_info()
    return {
        "tensorflow": tf.__version__,
        "git": tf.version.GIT_VERSION,
        "compiler": tf.version.COMPILER_VERSION,
        "cuda build": str(build.get("is_cuda_build", False)),
        "keras": keras.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "settings": " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items()),
    }
