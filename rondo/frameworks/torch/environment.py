"""What a maintainer asks about the environment of a report."""

from __future__ import annotations

import platform
import sys

import torch


def describe_environment() -> dict[str, str]:
    """Return versions and the machine's kind as `torch.utils.collect_env` would name them.

    Read from Python alone: that module starts a dozen programs, which takes seconds.
    """
    return {
        "torch": torch.__version__,
        "git": torch.version.git_version or "",
        "debug build": str(torch.version.debug),
        "cuda": str(torch.version.cuda),
        "hip": str(torch.version.hip),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cpu capability": torch.backends.cpu.get_cpu_capability(),
        "threads": str(torch.get_num_threads()),
        "gpu": torch.cuda.get_device_name(0) if torch.cuda.is_initialized() else "not used",
    }
