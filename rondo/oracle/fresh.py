"""The fourth arm: does a reset leave what a fresh process has? If not, something has *leaked*.

The key insight: the reset arm is trusted because it is meant to be as good as a new process, and a
new process is the one thing that cannot be faked. So now and then the reset arm of one call is run
alone in a process that has run nothing, from the same bytes, and compared with what it showed in a
process that has: equal kernels over equal numbers, so the comparison is the oracle's own. What
differs is state that survived the real reset - a mode, a registry, a cache that nobody knew of.

`run` below stands for a fresh process: bytes and settings in, result out. Whoever owns processes
provides it; nothing here starts one.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace

from rondo.oracle.behaviours import cause_of
from rondo.oracle.compare import Grade, compare, place_of
from rondo.oracle.judge import SHOWN_DIFFERENCES, leaf_text
from rondo.oracle.observation import EXCEPTION, Observation, unpack_observation
from rondo.oracle.result import Alarm, Difference, Identity, Result, Verdict
from rondo.oracle.run import Settings
from rondo.sequences.codec import decode
from rondo.sequences.vocabulary import Vocabulary

RunFresh = Callable[[bytes, Settings], Result]
"""Executes bytes with settings in a process that has run nothing before."""

SAMPLED_EVERY = 64
"""About one sequence in so many is measured against a fresh process."""

AFTER = Settings(always_reset=True, keep_reset=True)
"""How the other side is run: every reset arm, after the retained arm and the ones before it."""


def is_sampled(data: bytes, every: int = SAMPLED_EVERY) -> bool:
    """Whether a sequence is one of the sample: follows from its bytes, like all sampling."""
    return bool(every) and zlib.crc32(b"fresh" + data) % every == 0


def measure(data: bytes, run: RunFresh, vocabulary: Vocabulary) -> Result:
    """Return the result of `data`, with an alarm *leaked* if a reset arm differs from a fresh one.

    Each reset arm is measured in a process of its own, from the last one on, up to the first that
    differs: later ones have more behind them. A *leaked* alarm takes the place of other alarms at
    its step, whose reset arm is not to be trusted.
    """
    after = run(data, AFTER)
    for position in sorted(after.kept, reverse=True):
        alone = run(data, replace(AFTER, only_reset=position))
        alarm = leak_between(data, position, after, alone, vocabulary)
        if alarm is not None:
            others = tuple(each for each in after.alarms if each.step != position)
            steps = tuple(
                replace(step, verdict=Verdict.LEAKED.value) if number == position else step
                for number, step in enumerate(after.steps)
            )
            return replace(
                after, verdict=Verdict.LEAKED.value, alarms=(alarm, *others), steps=steps
            )
    return after


def leak_between(
    data: bytes, position: int, after: Result, alone: Result, vocabulary: Vocabulary
) -> Alarm | None:
    """Return the alarm for the reset arm of one call if it differs from its fresh counterpart.

    Both results must have kept that arm (`Settings.keep_reset`). None as well where the fresh
    process did not compile, since nothing was measured then.
    """
    if position not in after.kept or position not in alone.kept:
        return None
    if alone.verdict == Verdict.NOT_COMPILED.value:
        return None
    reset = unpack_observation(after.kept[position])
    fresh = unpack_observation(alone.kept[position])
    if reset.digest() == fresh.digest():
        return None
    found = difference_between(fresh, reset)
    if found is None:
        return None
    effect, place, exception, rows = found
    sequence = decode(data, vocabulary)
    identity = Identity(
        verdict=Verdict.LEAKED.value,
        effect=effect,
        backend=vocabulary.backends[sequence.options.backend],
        place=place,
        exposing=cause_of(sequence, vocabulary, position),
        exception=exception,
    )
    return Alarm(position, identity, rows)


def difference_between(
    fresh: Observation, reset: Observation
) -> tuple[str, str, str, tuple[Difference, ...]] | None:
    """Return effect, place, exception and rows of what differs; None within the tolerance.

    Unlike between arms, an exception's type counts: both sides are the same compiler's.
    """
    if (fresh.returned, fresh.exception) != (reset.returned, reset.exception):
        effect = "missing exception" if reset.returned else "exception"
        if not fresh.returned and not reset.returned:
            effect = "wrong exception"
        texts = [
            f"{o.exception}: {o.message}" if o.exception else "returns" for o in (fresh, reset)
        ]
        row = Difference(EXCEPTION, effect, "", "", _both(texts[0], texts[1]))
        return effect, EXCEPTION, reset.exception or fresh.exception, (row,)
    mismatches = [
        mismatch
        for mismatch in compare(fresh, reset, lambda: None)
        if mismatch.grade is Grade.DIFFERENT
    ]
    if not mismatches:
        return None
    rows = tuple(
        Difference(
            mismatch.path,
            mismatch.effect,
            "",
            "",
            _both(
                leaf_text(fresh.leaves.get(mismatch.path), mismatch.effect),
                leaf_text(reset.leaves.get(mismatch.path), mismatch.effect),
            ),
        )
        for mismatch in mismatches[:SHOWN_DIFFERENCES]
    )
    return mismatches[0].effect, place_of(mismatches[0].path), "", rows


def _both(fresh: str, reset: str) -> str:
    return f"{reset} (in a fresh process: {fresh})"
