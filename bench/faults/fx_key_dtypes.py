"""fx_key_dtypes: the FX graph cache takes an entry for float32 inputs for one for float64 inputs.

Mechanism: kernels are written for the dtypes of their inputs, so the key holds each input's
metadata.
Broken: float64 counts as float32 where an entry for float32 is there. (Not the other way round: a
kernel for float64 would read beyond a float32 tensor.) AOTAutograd's key, in front of it, is as it
was.
Established by a call in float32; exposed by the same call in float64, compiled anew and served
that entry.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable

from rondo.sequences.writer import Writer

EXPECTED = {"verdict": "stateful", "effect": "dtype", "layer": "fx-graph-cache"}
BACKEND = "inductor"


def write(on: Callable[..., Writer]) -> Writer:
    """Two calls with inputs of two dtypes; caches on disk."""
    return (
        on("identity", "float_attribute", cache="disk")
        .change("float_attribute", "set_factor", 0)
        .call()
        .call(dtype="float64")
    )


def install() -> None:
    """Break it. Raises when the installed torch lacks what is patched."""
    import torch
    from torch._inductor import codecache

    hash_graph = codecache.compiled_fx_graph_hash
    describe = codecache.extract_tensor_metadata_for_cache_key

    def describe_as_single(tensor: object) -> object:
        facts = describe(tensor)
        return (
            dataclasses.replace(facts, dtype=torch.float32)
            if facts.dtype == torch.float64
            else facts
        )

    def hash_as_single(*rest: object, **named: object) -> object:
        codecache.extract_tensor_metadata_for_cache_key = describe_as_single
        try:
            key, lines = hash_graph(*rest, **named)
        finally:
            codecache.extract_tensor_metadata_for_cache_key = describe
        if os.path.exists(codecache.FxGraphCache._get_tmp_dir_for_key(key)):
            return key, lines
        return hash_graph(*rest, **named)

    codecache.compiled_fx_graph_hash = hash_as_single


if __name__.startswith("rondo_preload"):
    install()
