"""Global state that only subjects on a GPU have: modes that change numbers, and a random state.

Eager and compiled code call the same libraries, so most of these settings would make no difference
between the arms; but each of them makes results vary by more than the tolerances grant, or from run
to run. They are pinned to what is documented to be exact and repeatable, and shown like any mode.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from rondo.frameworks.torch.ambient import DeviceState, Mode, autocast_mode

EXACT = {
    # https://docs.pytorch.org/docs/stable/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices
    "cuda_matmul_tf32": False,
    "cudnn_tf32": False,
    # https://docs.pytorch.org/docs/stable/notes/numerical_accuracy.html: sums of products in half.
    "cuda_fp16_reduction": (False, True),
    "cuda_bf16_reduction": (False, True),
    # https://docs.pytorch.org/docs/stable/notes/randomness.html: which algorithm wins a benchmark
    # is chance. The switch for deterministic algorithms everywhere stays off, as it is for users:
    # it makes programs raise, and what atomic additions vary by is within the tolerances.
    "cudnn_benchmark": False,
    "cudnn_deterministic": True,
}
"""Mode -> the value that it has while sequences run."""


def _reduction(name: str) -> Mode:
    """Return the mode of reduced precision in sums of half products: (allowed, by split K)."""
    read = getattr(torch._C, f"_get_cublas_allow_{name}_reduced_precision_reduction")
    set_ = getattr(torch._C, f"_set_cublas_allow_{name}_reduced_precision_reduction")

    def write(value: bool | tuple[bool, bool]) -> None:
        if isinstance(read(), tuple):
            set_(*(value if isinstance(value, tuple) else (value, True)))
        else:  # one flag, before split K had one of its own
            set_(value[0] if isinstance(value, tuple) else value)

    return Mode(f"cuda_{name}_reduction", read, write)


MODES = (
    autocast_mode("cuda"),
    # The older of two interfaces throughout: torch raises where both are used.
    Mode("cuda_matmul_tf32", torch._C._get_cublas_allow_tf32, torch._C._set_cublas_allow_tf32),
    Mode("cudnn_tf32", torch._C._get_cudnn_allow_tf32, torch._C._set_cudnn_allow_tf32),
    _reduction("fp16"),
    _reduction("bf16"),
    Mode("cudnn_benchmark", torch._C._get_cudnn_benchmark, torch._C._set_cudnn_benchmark),
    Mode(
        "cudnn_deterministic",
        torch._C._get_cudnn_deterministic,
        torch._C._set_cudnn_deterministic,
    ),
    Mode("cudnn_sdpa", torch._C._get_cudnn_sdp_enabled, torch._C._set_sdp_use_cudnn),
)

STATE = DeviceState("cuda", MODES, torch.cuda.get_rng_state, torch.cuda.set_rng_state)


@contextmanager
def pinned(modes: Sequence[Mode]) -> Iterator[None]:
    """Give those of `modes` that change numbers their exact values in the block."""
    before = [(mode, mode.read()) for mode in modes if mode.name in EXACT]
    for mode, _ in before:
        mode.write(EXACT[mode.name])
    try:
        yield
    finally:
        for mode, value in before:
            if mode.read() != value:
                mode.write(value)
