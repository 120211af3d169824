"""The adapter to PaddlePaddle: `paddle.jit.to_static` in both modes, and everything it keeps."""

from __future__ import annotations

REQUIREMENT = "paddlepaddle>=3.3"
