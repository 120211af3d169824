"""From the compile events of each step to the behaviours of a sequence.

A behaviour is a readable label and its stable 64-bit hash. Besides the events themselves, what
happened to a call *after what* is a behaviour: a recompile that follows a hook is another thing
than one that follows a new size, and two calls in a row remember more than each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Sequence as Series
from dataclasses import replace

from rondo._native.behaviour import hash64
from rondo.frameworks.base import CallEvents
from rondo.oracle.result import Identity
from rondo.sequences.step import CALL_CHOICES, Call, Sequence
from rondo.sequences.vocabulary import Vocabulary


def outcome_of(events: CallEvents, *, returned: bool) -> str:
    """Return a call's outcome in one word or two: hit, compile, recompile, break ... and raised."""
    labels = events.labels
    if not events.compilations:
        word = "hit" if events.compiled else "eager"
    elif any(label.startswith("recompile") for label in labels):
        word = "recompile"
    else:
        word = "compile"
    if any(label.startswith("graph_break") for label in labels):
        word += "+break"
    return word if returned else f"{word}+raised"


def cause_of(sequence: Sequence, vocabulary: Vocabulary, position: int) -> str:
    """Return what stands between the call at `position` and the call before it.

    The nearest change as `target.action`, else the operands in which the two calls differ, else
    `repeat`, or `first` for the first call of all.
    """
    call = sequence.steps[position]
    assert isinstance(call, Call)
    for before in range(position - 1, -1, -1):
        step = sequence.steps[before]
        if isinstance(step, Call):
            names = (*CALL_CHOICES, "sizes")
            differing = [name for name in names if getattr(step, name) != getattr(call, name)]
            return f"call({','.join(differing)})" if differing else "repeat"
        target = vocabulary.targets_by_name[step.target]
        return f"{target.name}.{target.actions[step.action].name}"
    return "first"


def occasion_of(cause: str) -> str:
    """Return a cause as the search is told it: two operands or more that differ are `several`.

    Calls can differ in 8,191 sets of operands, each of which would be new once on every back end:
    a search that is rewarded for them looks for little else. What matters to a compiler among them
    is in its own events.
    """
    return "call(several)" if cause.startswith("call(") and "," in cause else cause


def as_sought(identity: Identity) -> Identity:
    """Return an alarm's identity as the search counts it: one bug, whichever operands differ.

    It would be paid for every set of them.
    """
    return replace(identity, exposing=occasion_of(identity.exposing))


def behaviours_of(
    sequence: Sequence,
    vocabulary: Vocabulary,
    events: Series[tuple[int, CallEvents, bool]],
    outcomes: Mapping[int, str],
) -> dict[int, str]:
    """Return hash -> label of all behaviours of one run.

    `events` holds, for each call, its position, its compile events and whether it returned,
    `outcomes` what became of each, by its position.
    """
    backend = vocabulary.backends[sequence.options.backend]
    labels: list[str] = []
    previous = "start"
    for position, event, _ in events:
        labels += [f"{backend}: {label}" for label in event.labels]
        outcome = outcomes[position]
        occasion = occasion_of(cause_of(sequence, vocabulary, position))
        labels.append(f"{backend}: after {occasion}: {outcome}")
        labels.append(f"{backend}: {previous} then {outcome}")
        previous = outcome
    return {hash64(label): label for label in labels}
