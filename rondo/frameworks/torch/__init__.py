"""The adapter to PyTorch: torch.compile and everything it keeps between calls."""

from __future__ import annotations

REQUIREMENT = "torch>=2.11"
