"""A user's own model as a subject, in five lines:

    import rondo, torch

    def factory():
        return rondo.subject(MyModel, torch.randn(4, 16), torch.zeros(4, 7, dtype=torch.int64))

    rondo fuzz --subject my_package.my_module:factory corpus/

The key insight: example inputs already say almost all that a schema needs - kinds, ranks, ranges -
and what they cannot say, which sizes vary together, has a usual answer: the first axis is the
batch.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

from rondo.errors import SubjectError
from rondo.sequences.vocabulary import BATCH, Dimension, InputKind, InputSpec, Schema

NAME = "user"
"""The architecture's name under which a user's model stands in sequences."""

Shape = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class UserSubject:
    """A model to build anew for every arm, the schema of its inputs, the back ends it is compiled
    with (none: the framework's own).
    """

    build: Callable[[], Any]
    schema: Schema
    origin: ModuleType | None = field(default=None, compare=False)
    backends: tuple[str, ...] = ()


def subject(
    build: Callable[[], Any],
    *example_inputs: Any,
    shapes: Sequence[Shape | None] | None = None,
    sizes: Mapping[str, Sequence[int]] | None = None,
    backends: Sequence[str] = (),
) -> UserSubject:
    """Describe a model and its inputs.

    `build` is called without arguments once per arm, after torch was seeded: it must return a fresh
    module or function each time. `example_inputs` are what it is called with: tensors, floats and
    ints. `shapes` names dimensions per input, as in `[("batch", "length", 64), None]`; without it
    the first axis of every tensor is `batch` where those sizes agree. `sizes` lists what a
    dimension may be; without it one takes its example size, one more, 1, and twice the size.
    `backends` names what to compile with, the cheapest first, back ends of your own included: the
    module that holds the factory must register them. One that keeps state of its own should have a
    `reset`, which `torch.compiler.reset` calls.

    Raises SubjectError when the examples contradict the names, or are of an unknown kind.
    """
    if not callable(build):
        raise SubjectError("its first argument must be callable and build the model")
    _check_build(build)
    named = list(shapes) if shapes is not None else _infer(example_inputs)
    if len(named) != len(example_inputs):
        raise SubjectError(f"{len(named)} shapes for {len(example_inputs)} example inputs")
    found: dict[str, int] = {}
    inputs = [
        _spec(f"input{position}", example, shape, found)
        for position, (example, shape) in enumerate(zip(example_inputs, named, strict=True))
    ]
    found.setdefault(BATCH, 1)
    given = sizes or {}
    dimensions = tuple(
        Dimension(name, tuple(given.get(name) or _usual_sizes(size)))
        for name, size in sorted(found.items(), key=lambda item: item[0] != BATCH)
    )
    return UserSubject(build, Schema(dimensions, tuple(inputs)), backends=tuple(backends))


def _check_build(build: Callable[..., Any]) -> None:
    """Raise SubjectError where each arm's call of `build` could only fail."""
    if not isinstance(build, type) and callable(getattr(build, "forward", None)):
        raise SubjectError(
            f"its first argument is a {type(build).__name__} already; give what builds one anew:"
            " its class, or a function"
        )
    try:
        signature = inspect.signature(build)
    except (TypeError, ValueError):
        return
    try:
        signature.bind()
    except TypeError as error:
        raise SubjectError(f"its first argument is called without arguments: {error}") from None


def _usual_sizes(size: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys((size, size + 1, 1, 2 * size)))


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "shape") and hasattr(value, "dtype")


def _infer(examples: Sequence[Any]) -> list[Shape | None]:
    """Name the first axis of every tensor `batch`, if those that have one agree on its size."""
    tensors = [example for example in examples if _is_tensor(example) and len(example.shape)]
    if len({example.shape[0] for example in tensors}) > 1:
        return [None] * len(examples)
    return [
        (BATCH, *example.shape[1:]) if any(example is tensor for tensor in tensors) else None
        for example in examples
    ]


def _spec(name: str, example: Any, shape: Shape | None, found: dict[str, int]) -> InputSpec:
    """Return the input's spec; note the size of each named dimension in `found`."""
    if isinstance(example, bool) or not (_is_tensor(example) or isinstance(example, int | float)):
        raise SubjectError(f"{name} is a {type(example).__name__}; use tensors, floats and ints")
    if not _is_tensor(example):
        return InputSpec(name, kind="number" if isinstance(example, float) else "integer")
    actual = tuple(int(size) for size in example.shape)
    wanted: tuple[str | int, ...] = actual if shape is None else tuple(shape)
    if len(wanted) != len(actual):
        raise SubjectError(f"{name} has {len(actual)} axes, its shape names {len(wanted)}")
    for axis, (word, size) in enumerate(zip(wanted, actual, strict=True)):
        if isinstance(word, str):
            if found.setdefault(word, size) != size:
                raise SubjectError(f"dimension {word!r} is {found[word]} and {size} (in {name})")
        elif word != size:
            raise SubjectError(f"axis {axis} of {name} is {size}, its shape says {word}")
    kind, high = _kind_of(example)
    return InputSpec(name, wanted, kind, high)


def _kind_of(example: Any) -> tuple[InputKind, int]:
    dtype = str(example.dtype)
    if "float" in dtype:
        return "float", 2
    if "bool" in dtype:
        return "bool", 2
    if "int" in dtype and "uint" not in dtype:
        return "index", max(2, int(example.max()) + 1 if len(example.reshape(-1)) else 2)
    raise SubjectError(f"inputs of {dtype} cannot be generated; use float, int64 or bool tensors")


def load_subject(path: str) -> UserSubject:
    """Return what the factory at `package.module:factory` describes.

    The current folder is importable, as it is for `python -m`. Raises SubjectError with one line.
    """
    module_name, separator, attribute = path.partition(":")
    if not separator or not module_name or not attribute:
        raise SubjectError(f"{path!r} is not of the form package.module:factory")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        module = importlib.import_module(module_name)
        factory = getattr(module, attribute)
    except Exception as error:
        raise SubjectError(f"{path}: {type(error).__name__}: {error}") from None
    if isinstance(factory, UserSubject):
        described = factory
    else:
        try:
            described = factory()
        except SubjectError as error:
            raise SubjectError(f"{path}: {error}") from None
        except Exception as error:
            raise SubjectError(f"{path} raised {type(error).__name__}: {error}") from None
    if not isinstance(described, UserSubject):
        kind = type(described).__name__
        raise SubjectError(f"{path} returned a {kind}; it must return rondo.subject(...)")
    return replace(described, origin=described.origin or module)
