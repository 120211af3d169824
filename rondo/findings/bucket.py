"""Which bug an alarm belongs to: kinship while shortening, a bucket once it is short.

The key insight: before shortening, much of a sequence is accident, so two alarms are *kin* when the
arms disagree in the same way at the same place. After shortening nothing is accident any more, and
what is left - the constructs, the step that exposes, the back end - names the bug.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from rondo.findings.reproducer import Reproducer
from rondo.oracle.result import Alarm, Identity, Result
from rondo.sequences.step import Change, Sequence
from rondo.sequences.vocabulary import SMALLEST


@dataclass(frozen=True, slots=True, order=True)
class Bucket:
    """The key of a bug: its identity and the subject that is left of it.

    `layer` is the retained layer at fault, once it is located. It is no part of equality, nor of
    the name: a bug keeps both when somebody learns more about it.
    """

    identity: Identity
    architecture: str
    constructs: tuple[str, ...]
    layer: str = field(default="", compare=False)

    @property
    def name(self) -> str:
        """A folder name: readable, with a short digest that keeps different buckets apart.

        The digest is over a text that is spelled out here and not over `repr`: names are written
        down, in folders and in lists of known bugs, and must not change with this class.
        """
        identity = self.identity
        subject = [*self.constructs] or [self.architecture]
        words = [identity.verdict, identity.effect, *subject, identity.exposing, identity.backend]
        slug = re.sub(r"[^a-z0-9]+", "-", "-".join(words).lower()).strip("-")[:88].strip("-")
        key = (
            f"Bucket(identity=Identity(verdict={identity.verdict!r}, effect={identity.effect!r},"
            f" backend={identity.backend!r}, place={identity.place!r},"
            f" exposing={identity.exposing!r}, exception={identity.exception!r}),"
            f" architecture={self.architecture!r}, constructs={self.constructs!r})"
        )
        return f"{slug}-{blake2b(key.encode(), digest_size=3).hexdigest()}"

    def __str__(self) -> str:
        parts = [*self.constructs]
        if self.architecture != SMALLEST:
            parts.append(f"architecture {self.architecture}")
        return f"{self.identity} [{', '.join(parts) or SMALLEST}]"


def bucket_of(identity: Identity, sequence: Sequence) -> Bucket:
    """Return the bucket of an alarm in a shortened sequence."""
    subject = sequence.subject
    return Bucket(identity, subject.architecture, tuple(sorted(subject.constructs)))


def bucket_of_finding(reproducer: Reproducer) -> Bucket:
    """Return the bucket of a finding from its decoded form: no vocabulary, so no framework."""
    decoded = reproducer.decoded
    constructs = tuple(sorted(decoded["constructs"]))
    return Bucket(reproducer.identity, decoded["architecture"], constructs, reproducer.layer)


def akin(first: Identity, second: Identity) -> bool:
    """Whether two alarms disagree in the same way at the same place, whatever exposed them."""
    return (first.verdict, first.effect, first.place, first.exception) == (
        second.verdict,
        second.effect,
        second.place,
        second.exception,
    )


def find_alarm(result: Result, identity: Identity, *, strict: bool) -> Alarm | None:
    """Return the first alarm akin to `identity`; with `strict`, exposed by the same step too.

    The back end is left open: shortening looks for the cheapest one that shows the bug.
    """
    for alarm in result.alarms:
        same_exposure = alarm.identity.exposing == identity.exposing
        if akin(alarm.identity, identity) and (same_exposure or not strict):
            return alarm
    return None


def without_constructs(sequence: Sequence, names: Iterable[str]) -> Sequence:
    """Return `sequence` without the named constructs and without the steps that change them."""
    dropped = set(names)
    subject = sequence.subject
    kept = tuple(name for name in subject.constructs if name not in dropped)
    steps = tuple(
        step for step in sequence.steps if not (isinstance(step, Change) and step.target in dropped)
    )
    return replace(sequence, subject=replace(subject, constructs=kept), steps=steps)
