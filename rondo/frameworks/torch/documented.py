"""What torch.compile refuses by design: real differences, told apart from faults.

A rule is matched on cause, never on a subject's name: on what was raised and the option or
step that asks for it, or, where a setting lifts a limitation, on the difference going away under
that setting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import torch
import torch._dynamo
import torch._functorch.config
from torch.utils.hooks import RemovableHandle

from rondo.frameworks.base import Ablation, always
from rondo.frameworks.torch.changes.compiler import (
    COMPILER,
    CONFIGURED,
    FREEZING,
    MARKS,
    STANCES,
    mark_within_bounds,
    unconfigured,
)
from rondo.frameworks.torch.program import OVERWRITTEN, outputs_copied
from rondo.oracle.observation import Observation
from rondo.sequences.step import Change, Sequence


def _has_step(sequence: Sequence, action: str, value: int) -> bool:
    number = [each.spec.name for each in COMPILER.actions].index(action)
    return Change(COMPILER.name, number, value) in sequence.steps


def _fullgraph(sequence: Sequence) -> bool:
    return sequence.options.choice("fullgraph") == "yes"


def _never(sequence: Sequence) -> bool:
    return False


def _cached_bounds(sequence: Sequence) -> bool:
    """Whether a violated mark may be that of a cache entry, made for another program."""
    bounded = _has_step(sequence, "mark_next_inputs", MARKS.index(mark_within_bounds))
    return bounded and sequence.options.choice("cache") == "disk"


def _fails_on_recompile(sequence: Sequence) -> bool:
    return _has_step(sequence, "stance", STANCES.index("fail_on_recompile"))


@dataclass(frozen=True, slots=True)
class Rule:
    """A documented refusal: the exception's type, a part of its message, where it is written.

    Where something retained is `suspected` of raising it, only the reset arm, with its empty
    caches, tells the refusal from a fault.
    """

    kind: str
    exceptions: frozenset[str]
    message: str
    link: str
    asked_for: Callable[[Sequence], bool] = always
    suspected: Callable[[Sequence], bool] = _never

    def covers(self, sequence: Sequence, observation: Observation, *, fresh: bool) -> bool:
        """Whether `observation` is this refusal; `fresh` if it is a reset arm's."""
        return (
            observation.exception in self.exceptions
            and self.message in observation.message
            and self.asked_for(sequence)
            and (fresh or not self.suspected(sequence))
        )


RULES = (
    Rule(
        kind="fullgraph=True raises instead of breaking the graph or falling back",
        exceptions=frozenset({"Unsupported", "FailOnRecompileLimitHit", "UserError"}),
        message="",
        link="https://docs.pytorch.org/docs/stable/generated/torch.compile.html",
        asked_for=_fullgraph,
    ),
    Rule(
        kind="donated buffers: a backward compiled for one use cannot retain its graph",
        exceptions=frozenset({"RuntimeError"}),
        message="non-empty donated buffers",
        link="https://github.com/pytorch/pytorch/pull/130580",
    ),
    Rule(
        kind="AOTAutograd: a compiled backward cannot be differentiated again",
        exceptions=frozenset({"RuntimeError"}),
        message="does not currently support double backward",
        link="https://github.com/pytorch/pytorch/issues/91469",
    ),
    Rule(
        kind="mark_dynamic raises where the program does not let the size vary",
        exceptions=frozenset({"ConstraintViolationError"}),
        message="Constraints violated",
        link="https://docs.pytorch.org/docs/stable/torch.compiler_dynamic_shapes.html",
        suspected=_cached_bounds,
    ),
    Rule(
        kind="stance fail_on_recompile raises instead of compiling again",
        exceptions=frozenset({"RuntimeError"}),
        message="fail_on_recompile",
        link="https://docs.pytorch.org/docs/stable/generated/torch.compiler.set_stance.html",
        asked_for=_fails_on_recompile,
    ),
    Rule(
        kind="CUDA graphs: the outputs of a run may be read until the next run, and no longer",
        # Read while a call is traced or compiled, it is wrapped.
        exceptions=frozenset(
            {
                "RuntimeError",
                "InternalTorchDynamoError",
                "BackendCompilerFailed",
                "TorchRuntimeError",
            }
        ),
        message=OVERWRITTEN,
        link="https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html",
    ),
)


def _freezes(sequence: Sequence) -> bool:
    """Whether a step of `sequence` switches freezing on: what the ablation leaves out."""
    return _has_step(sequence, "configure", [name for name, _ in CONFIGURED].index(FREEZING))


_hooked = [True]


@contextmanager
def hooks_counted() -> Iterator[None]:
    """Note for `hooks_met` whether the program registers hooks: around its eager arm.

    torch numbers all hooks, those of tensors and those that AOTAutograd registers as it traces too.
    """
    before = RemovableHandle.next_id
    try:
        yield
    finally:
        _hooked[0] = RemovableHandle.next_id > before


def hooks_met(sequence: Sequence) -> bool:
    """Whether the last eager arm registered a hook.

    A guard on hooks can tell two calls apart only where there were some.
    """
    return _hooked[0]


def _hooks_guarded() -> AbstractContextManager[object]:
    patched: AbstractContextManager[object] = torch._dynamo.config.patch(
        skip_nnmodule_hook_guards=False
    )
    return patched


def _backward_after_autocast(sequence: Sequence) -> bool:
    """Whether a call's forward runs under autocast and its backward, as always here, outside."""
    return any(call.autocast and call.backward for _, call in sequence.calls())


def _backward_outside() -> AbstractContextManager[object]:
    patched: AbstractContextManager[object] = torch._functorch.config.patch(
        backward_pass_autocast="off"
    )
    return patched


ABLATIONS = (
    Ablation(
        "hooks added to or removed from a module after it was compiled are not guarded unless"
        " torch._dynamo.config.skip_nnmodule_hook_guards is False"
        " (https://docs.pytorch.org/docs/stable/torch.compiler_nn_module.html)",
        _hooks_guarded,
        concerns=hooks_met,
    ),
    Ablation(
        "freezing takes parameters as they are when it compiles: later updates go unseen"
        " (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/_inductor/config.py, freezing)",
        lambda: unconfigured(FREEZING),
        concerns=_freezes,
    ),
    Ablation(
        "a compiled backward computes under the autocast that was around the forward, also where"
        " that was off inside, unless torch._functorch.config.backward_pass_autocast is 'off'"
        " (https://docs.pytorch.org/docs/stable/user_guide/torch_compiler/torch.compiler_backward.html)",
        _backward_outside,
        concerns=_backward_after_autocast,
        anew=True,
    ),
)
"""Limitations that a setting lifts: a difference that goes away under it is documented."""


ON_DEVICES = (
    Ablation(
        "CUDA graphs: a later run overwrites outputs that are not copied first"
        " (https://docs.pytorch.org/docs/stable/torch.compiler_cudagraph_trees.html)",
        outputs_copied,
    ),
)
"""Limitations that only subjects on a GPU meet: elsewhere each costs a run and explains nothing."""


def documented_rule(sequence: Sequence, observation: Observation, *, fresh: bool = False) -> str:
    """Return the kind and link of the rule that covers `observation`, or an empty text."""
    for rule in RULES:
        if rule.covers(sequence, observation, fresh=fresh):
            return f"{rule.kind} ({rule.link})"
    return ""
