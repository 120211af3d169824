"""What is behind each tensor of the reference: families of operators, and what indices came from.

The key insight: the float64 reference is run eagerly and judged by nobody, so a dispatch mode may
watch it without changing anything that is judged. Each operator's outputs inherit what is known of
its inputs, by storage: views and in-place operators need no rules of their own, and the mode sees
backward's operators too, so gradients have a history like outputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode, is_traceable_wrapper_subclass
from torch.utils._pytree import tree_leaves

from rondo.oracle.observation import Leaf, Ranking
from rondo.oracle.tolerance import (
    ARITHMETIC,
    COMPOSITE,
    EXACT,
    RANDOM,
    SELECTION,
    families_by_operator,
)

NOTHING: frozenset[str] = frozenset()
UNSEEN: frozenset[str] = frozenset({COMPOSITE})
NOT_ROUNDING = frozenset({EXACT, SELECTION, RANDOM})

CHOOSERS: Mapping[str, tuple[int, int]] = {
    "argmax": (0, 1),
    "argmin": (0, 1),
    "argsort": (0, 1),
    "kthvalue": (1, 2),
    "max": (1, 1),
    "median": (1, 1),
    "min": (1, 1),
    "mode": (1, 1),
    "sort": (1, 1),
    "topk": (1, 2),
}
"""Operators whose outputs are indices: which output that is, and where their dimension stands."""

SAME_DRAWS = frozenset({"bernoulli_", "multinomial", "native_dropout", "randint", "randperm"})
"""Random operators that draw the same in every dtype: their masks and integers, seen by running
them. Their other outputs are one multiplication."""

DRAWN_IN_FLOAT32 = frozenset(
    {"bernoulli", "exponential_", "normal_", "rand_like", "randn_like", "uniform_"}
)
"""Random operators that draw other numbers in float64 than in float32, of which half types draw
roundings: the reference draws in float32 too, and casts."""

LITERALS = frozenset({"lift", "lift_fresh", "lift_fresh_copy"})
"""Operators that take in what `torch.tensor` has made of Python's numbers, and numpy's arrays. A
single number is taken for Python's."""

RUNNING_STATISTICS = frozenset(
    {
        "native_batch_norm",
        "_native_batch_norm_legit",
        "_batch_norm_with_update",
        "cudnn_batch_norm",
        "miopen_batch_norm",
    }
)
"""Operators that write their arguments 3 and 4; the schemas of some do not say so."""

COMPOSED = torch._C.DispatchKey.CompositeImplicitAutograd
"""The dispatch key of operators that are made of others."""

LAST_BY_DEFAULT = frozenset({"argsort", "kthvalue", "mode", "sort", "topk"})


class Provenance(TorchDispatchMode):
    """Watches operators and remembers the history of every storage that is alive.

    `dtype` is the dtype in which the other arms compute what is float64 here.
    """

    def __init__(self, dtype: str) -> None:
        super().__init__()
        self.dtype = dtype
        self._families: dict[int, frozenset[str]] = {}
        self._rankings: dict[int, tuple[Tensor, Ranking]] = {}

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[object, ...] = (),
        kwargs: dict[str, object] | None = None,
    ) -> Any:
        """Run `func` and note what its outputs inherit."""
        kwargs = kwargs or {}
        if _is_whole_composite(func):
            with self:
                return func._op_dk(COMPOSED, *args, **kwargs)
        result = _run(func, args, kwargs)
        if func.overloadpacket.__name__ in LITERALS and result.dim() == 0:
            self.give([result])
            return result
        if func.is_view:
            return result
        known = [self._known(tensor) for tensor in _plain_tensors((args, kwargs))]
        inherited = NOTHING.union(*known)
        family = family_of(func)
        families = inherited if family == EXACT else inherited | {family}
        if family not in NOT_ROUNDING and inherited - NOT_ROUNDING:
            families |= {COMPOSITE}
        for tensor in _plain_tensors([result, _written(func, args, kwargs)]):
            if _key(tensor):
                self._families[_key(tensor)] = families
                self._rankings.pop(_key(tensor), None)
        self._note_ranking(func, args, kwargs, result)
        return result

    def _note_ranking(
        self,
        func: Any,
        args: tuple[object, ...],
        kwargs: dict[str, object],
        result: object,
    ) -> None:
        name = func.overloadpacket.__name__
        if name not in CHOOSERS or not args or not isinstance(args[0], Tensor):
            return
        position, place = CHOOSERS[name]
        outputs = result if isinstance(result, (tuple, list)) else (result,)
        if len(outputs) <= position or outputs[position].dtype is not torch.int64:
            return
        dimension = kwargs.get("dim", args[place] if len(args) > place else None)
        ranking = _ranking(name, args[0], dimension, outputs[position], self.dtype)
        if ranking is not None:
            # The tensor is held, so that its storage's key is nobody else's meanwhile.
            self._rankings[_key(outputs[position])] = (outputs[position], ranking)

    def annotate(self, leaf: Leaf, tensor: Tensor) -> Leaf:
        """Return `leaf` with what is known of `tensor`."""
        key = _key(tensor)
        if not key:
            return leaf
        held, ranking = self._rankings.get(key, (None, None))
        if held is None or held.shape != tensor.shape or held.stride() != tensor.stride():
            ranking = None
        return replace(leaf, families=self._known(tensor), ranking=ranking)

    def give(self, tensors: Iterable[object]) -> None:
        """Treat `tensors` as given: no arm computes them, so they are the same bits in all."""
        for tensor in _plain_tensors(list(tensors)):
            if _key(tensor):
                self._families[_key(tensor)] = NOTHING

    def _known(self, tensor: Tensor) -> frozenset[str]:
        """Return what is behind a tensor; any computation, where nobody saw it made.

        That is what numpy and foreign code make: a compiler may compute it in its own way.
        """
        inner = _plain_tensors(tensor)
        return NOTHING.union(*(self._families.get(_key(each), UNSEEN) for each in inner))


def _plain_tensors(value: object) -> list[Tensor]:
    """Return the tensors in `value`, and for a wrapper subclass those that it wraps.

    The mode sees an operator on the wrapper and none of those that it turns into.
    """
    found: list[Tensor] = []
    for each in tree_leaves(value):
        if isinstance(each, Tensor) and is_traceable_wrapper_subclass(each):
            names, _ = each.__tensor_flatten__()
            found += _plain_tensors([getattr(each, name) for name in names])
        elif isinstance(each, Tensor):
            found.append(each)
    return found


def _written(func: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> list[object]:
    """Return the arguments that an operator writes: not all of them are among its results."""
    silent = (3, 4) if func.overloadpacket.__name__ in RUNNING_STATISTICS else ()
    found: list[object] = []
    for position, argument in enumerate(func._schema.arguments):
        alias = argument.alias_info
        if position in silent or (alias is not None and alias.is_write):
            given = args[position] if position < len(args) else kwargs.get(argument.name)
            found.append(given)
    return found


def _is_whole_composite(func: Any) -> bool:
    """Whether an operator arrives here that the dispatcher takes apart elsewhere.

    In inference mode the key that does it is left out, so the mode would see `batch_norm`, of whose
    running statistics no schema tells, and `reshape`, which may be a view or a copy.
    """
    if not torch.is_inference_mode_enabled():
        return False
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    # A device's own kernel goes before the composite one.
    return has_kernel(func.name(), COMPOSED) and not any(
        has_kernel(func.name(), device) for device in ("CPU", "CUDA")
    )


def family_of(func: Any) -> str:
    """Return the family of an operator; composite for one that the table does not name."""
    name = func.overloadpacket.__name__
    if name in SAME_DRAWS or name in DRAWN_IN_FLOAT32:
        return ARITHMETIC
    if torch.Tag.nondeterministic_seeded in func.tags:
        return RANDOM
    family = families_by_operator().get(name) or families_by_operator().get(name.rstrip("_"))
    return family or COMPOSITE


def _run(func: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> Any:
    """Run an operator; one that draws floats draws what a float32 arm would."""
    name = func.overloadpacket.__name__
    first = args[0] if args else None
    if name not in DRAWN_IN_FLOAT32 or not isinstance(first, Tensor) or not _is_double(first):
        return func(*args, **kwargs)
    if kwargs.get("dtype") is torch.float64:
        kwargs = {**kwargs, "dtype": torch.float32}
    drawn = func(first.to(torch.float32), *args[1:], **kwargs)
    return first.copy_(drawn) if name.endswith("_") else drawn.to(torch.float64)


def _is_double(tensor: Tensor) -> bool:
    return tensor.dtype is torch.float64


def _key(tensor: Tensor) -> int:
    """Return the identity of a tensor's storage, 0 for one that has none to speak of."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return 0


def _ranking(
    name: str, source: Tensor, dimension: object, indices: Tensor, dtype: str
) -> Ranking | None:
    """Return what `indices` were chosen from, or None where that is not told here."""
    if source.dim() == 0 or source.is_complex():
        return None
    values = source.detach().to(torch.float64)
    if dimension is None and name not in LAST_BY_DEFAULT:
        return Ranking(values.reshape(-1).cpu().numpy().copy(), None, dtype)
    axis = -1 if dimension is None else dimension
    if not isinstance(axis, int) or isinstance(axis, bool):
        return None
    candidates = values.movedim(axis, -1).cpu().numpy().copy()
    axis %= source.dim()
    kept = indices.dim() == source.dim()
    return Ranking(candidates, axis if kept else None, dtype)
