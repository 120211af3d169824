"""What a maintainer asks about the environment of a report."""

from __future__ import annotations

import os
import platform
import sys

import jax
import jaxlib
import numpy as np


def describe_environment() -> dict[str, str]:
    """Return what `jax.print_environment_info` shows, as names and values."""
    return {
        "jax": jax.__version__,
        "jaxlib": jaxlib.__version__,
        "numpy": np.__version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "devices": ", ".join(str(device.device_kind) for device in jax.devices()),
        "XLA_FLAGS": os.environ.get("XLA_FLAGS", ""),
    }
