"""What a maintainer asks about the environment of a report."""

from __future__ import annotations

import platform
import sys

import numpy as np
import paddle

from rondo.frameworks.paddle._start import ENVIRONMENT


def describe_environment() -> dict[str, str]:
    """Return versions, build facts and the machine's kind, as Paddle's issue template asks."""
    version = paddle.version
    return {
        "paddle": paddle.__version__,
        "commit": str(getattr(version, "commit", "unknown")),
        "cuda build": str(paddle.is_compiled_with_cuda()),
        "cinn build": str(paddle.is_compiled_with_cinn()),
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "settings": " ".join(f"{name}={value}" for name, value in ENVIRONMENT.items()),
    }
