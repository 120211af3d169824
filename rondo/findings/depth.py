"""How deep a bug lies: what was dropped before the call that exposes it, and whether that compiled.

The key insight: when the sequence has the compiler drop what it retains and the next call is
compiled anew and is wrong all the same, the bug lies below what was dropped. Without that drop the
very same steps may show another, shallower bug - code that is served although it is stale - with
the same values at the same place. So a drop must not be taken away where a call that compiled
becomes one that is served.
"""

from __future__ import annotations

from rondo.oracle.result import Alarm, Result
from rondo.sequences.step import Call, Sequence
from rondo.sequences.vocabulary import COMPILER, Vocabulary


def drops_before(sequence: Sequence, position: int, vocabulary: Vocabulary) -> frozenset[str]:
    """Return the changes of retained state between the call at `position` and the one before it."""
    drops = set()
    for step in reversed(sequence.steps[:position]):
        if isinstance(step, Call):
            break
        action = vocabulary.targets_by_name[step.target].actions[step.action]
        if step.target == COMPILER and not action.carries:
            drops.add(action.name)
    return frozenset(drops)


def compiled_anew(result: Result, alarm: Alarm) -> bool | None:
    """Whether the exposing call was compiled, and not served from what was kept.

    None where nothing is known of it, since its process died.
    """
    outcome = result.outcomes.get(alarm.step)
    return None if outcome is None else outcome.startswith(("compile", "recompile"))
