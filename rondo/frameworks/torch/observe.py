"""From torch objects to observation leaves, without touching what is observed.

The key insight: a detached copy in float64 holds every float16, bfloat16 and float32 value exactly,
so one numpy type serves all comparisons and the dtype is kept beside it.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from types import FrameType

import numpy as np
import torch
from torch import Tensor, nn

from rondo.frameworks.torch.ambient import random_digests, read_ambient
from rondo.frameworks.torch.provenance import Provenance
from rondo.oracle.observation import Leaf

_provenance: list[Provenance] = []


@contextmanager
def annotated_by(provenance: Provenance | None) -> Iterator[None]:
    """Have leaves of tensors carry the history that `provenance` knows, in the block."""
    if provenance is None:
        yield
        return
    _provenance.append(provenance)
    try:
        yield
    finally:
        _provenance.pop()


def fact(value: object) -> Leaf:
    """Return a leaf that is compared by its text."""
    return Leaf("fact", text=str(value))


def tensor_leaf(tensor: Tensor, meta: Mapping[str, str] | None = None) -> Leaf:
    """Return the leaf of one tensor with its values, dtype and what else a user can read of it."""
    facts = {
        "type": type(tensor).__name__,
        "requires_grad": str(tensor.requires_grad),
        "layout": str(tensor.layout),
        "device": str(tensor.device),
        **(meta or {}),
    }
    if tensor.layout == torch.strided and tensor.device.type != "meta":
        facts["strides"] = stride_class(tensor)
        facts["inference"] = str(tensor.is_inference())
        values = _values(tensor)
    elif tensor.layout in SPARSE and tensor.device.type != "meta":
        facts["coalesced"] = str(tensor.layout != torch.sparse_coo or tensor.is_coalesced())
        values = _values(tensor.detach().to_dense())
    else:
        values = None
    leaf = Leaf(
        "tensor",
        dtype=str(tensor.dtype).removeprefix("torch."),
        values=values,
        meta=tuple(sorted(facts.items())),
        text="" if values is not None else f"{tensor.layout} tensor {tuple(tensor.shape)}",
    )
    return _provenance[-1].annotate(leaf, tensor) if _provenance else leaf


SPARSE = (
    torch.sparse_coo,
    torch.sparse_csr,
    torch.sparse_csc,
    torch.sparse_bsr,
    torch.sparse_bsc,
)


def _values(tensor: Tensor) -> np.ndarray:
    plain = tensor.detach()
    if type(plain) is not Tensor:
        plain = plain.as_subclass(Tensor) if not _is_wrapper(plain) else plain
    if plain.is_floating_point():
        plain = plain.to(torch.float64)
    elif plain.is_complex():
        plain = plain.to(torch.complex128)
    elif plain.dtype is not torch.bool:
        plain = plain.to(torch.int64)
    if _is_wrapper(plain):
        return np.array(plain.tolist())
    copied: np.ndarray = plain.cpu().resolve_conj().resolve_neg().numpy().copy()
    return copied


def _is_wrapper(tensor: Tensor) -> bool:
    return torch.utils._python_dispatch.is_traceable_wrapper_subclass(tensor)


def stride_class(tensor: Tensor) -> str:
    """Return how a tensor lies in memory: `dense` with its axis order, or `overlapping`, `gaps`.

    Axes of size 0 and 1 have no observable stride and are left out.
    """
    axes = [
        (stride, size, axis)
        for axis, (stride, size) in enumerate(zip(tensor.stride(), tensor.shape, strict=True))
        if size > 1
    ]
    if tensor.numel() < 2 or not axes:
        return "dense"
    if any(stride == 0 for stride, _, _ in axes):
        return "expanded"
    ordered = sorted(axes, key=lambda entry: (-entry[0], entry[2]))
    order = [axis for _, _, axis in ordered]
    expected = 1
    for stride, size, _ in reversed(ordered):
        if stride != expected:
            return "gaps" if stride > expected else "overlapping"
        expected *= size
    return "dense" if order == sorted(order) else f"dense{order}"


class Aliases:
    """Names the storages of known tensors, so that a tensor can tell whose memory it shares."""

    def __init__(self) -> None:
        self._owners: dict[int, list[str]] = {}

    def add(self, name: str, tensors: Iterable[Tensor]) -> None:
        """Note that `tensors` are known as `name`."""
        for tensor in tensors:
            key = _storage(tensor)
            if key:
                self._owners.setdefault(key, []).append(name)

    def of(self, tensor: Tensor) -> str:
        """Return the names that share memory with `tensor`, comma separated."""
        return ",".join(dict.fromkeys(self._owners.get(_storage(tensor), ())))


def _storage(tensor: Tensor) -> int:
    if tensor.layout != torch.strided or _is_wrapper(tensor) or tensor.device.type == "meta":
        return 0
    return tensor.untyped_storage().data_ptr()


def value_leaves(path: str, value: object, aliases: Aliases | None = None) -> dict[str, Leaf]:
    """Return the leaves of a nested value (tensors, lists, dicts, plain facts) under `path`."""
    if isinstance(value, Tensor):
        meta = {"aliases": aliases.of(value)} if aliases is not None else None
        return {path: tensor_leaf(value, meta)}
    if isinstance(value, dict):
        leaves = {f"{path}.keys": fact([str(key) for key in value])}
        for key, item in value.items():
            leaves |= value_leaves(f"{path}.{key}", item, aliases)
        return leaves
    if isinstance(value, (list, tuple)):
        leaves = {f"{path}.len": fact(len(value))}
        for index, item in enumerate(value):
            leaves |= value_leaves(f"{path}[{index}]", item, aliases)
        return leaves
    if isinstance(value, float):
        return {path: Leaf("tensor", dtype="python float", values=np.array(value))}
    return {path: fact(f"{type(value).__name__} {value}")}


def module_leaves(module: nn.Module) -> dict[str, Leaf]:
    """Return the leaves of all parameters, buffers and gradients of `module`."""
    leaves: dict[str, Leaf] = {}
    for name, parameter in module.named_parameters():
        leaves[f"param.{name}"] = tensor_leaf(parameter)
        if parameter.grad is not None:
            leaves[f"grad.{name}"] = tensor_leaf(parameter.grad)
    for name, buffer in module.named_buffers():
        leaves[f"buffer.{name}"] = tensor_leaf(buffer)
    return leaves


def ambient_leaves() -> dict[str, Leaf]:
    """Return the leaves of global modes and random states."""
    leaves = {f"ambient.{name}": fact(value) for name, value in read_ambient().items()}
    leaves |= {f"rng.{name}": fact(value) for name, value in random_digests().items()}
    return leaves


OTHERS = ("torch", "numpy", "logging", "warnings")
"""Packages that print and warn on their own account, when eager or when compiled only."""

FROM_BELOW = ("Triggered internally at", "To copy construct from a tensor")
"""What marks warnings of torch's C++ code, which compiled code has other occasions to give."""

FLOAT = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+(?=[eE][-+]?\d))(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b")
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")


def _is_program(frame: FrameType | None) -> bool:
    """Whether code of the program runs in `frame`; compiled code has its function's globals."""
    name = frame.f_globals.get("__name__", "") if frame is not None else ""
    return name.partition(".")[0] not in OTHERS


class _Printed(StringIO):
    """Takes what is printed, and keeps what the program printed: a compiler may talk as well."""

    def write(self, text: str) -> int:
        return super().write(text) if _is_program(sys._getframe(1)) else len(text)


class Heard:
    """What a program prints and warns of while a block runs, as leaves `printed` and `warnings`.

    Only what its own Python code says: a line that compiled code leaves out, or says twice, is a
    side effect that a user sees. Fractional numbers in it are told apart from the text, since a
    compiled kernel may round them otherwise: they are compared as numbers of `dtype`.
    """

    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self._printed = _Printed()
        self._warned: list[str] = []

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen in the block."""
        with warnings.catch_warnings(), redirect_stdout(self._printed):
            warnings.simplefilter("always")
            warnings.showwarning = self._hear
            yield

    def _hear(
        self, message: Warning | str, category: type[Warning], *where: object, **more: object
    ) -> None:
        """Note a warning that the program gave itself: who called `warnings.warn` is two frames up.

        numpy's RuntimeWarning comes from C and has no frame: traced numpy never gives it.
        """
        if issubclass(category, RuntimeWarning) or not _is_program(sys._getframe(2)):
            return
        if not any(mark in str(message) for mark in FROM_BELOW):
            self._warned.append(f"{category.__name__}: {message}")

    def leaves(self) -> dict[str, Leaf]:
        """Return leaves of what was heard; none for silence."""
        leaves = self._told("printed", self._printed.getvalue())
        return leaves | self._told("warnings", "\n".join(self._warned))

    def _told(self, path: str, text: str) -> dict[str, Leaf]:
        if not text:
            return {}
        text = ADDRESS.sub("0x", text)
        leaves = {path: fact(FLOAT.sub("#", text))}
        numbers = [float(number) for number in FLOAT.findall(text)]
        if numbers:
            leaves[f"{path}.numbers"] = Leaf("tensor", self.dtype, np.array(numbers))
        return leaves
