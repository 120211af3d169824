"""Can a back end compile anything at all, on this machine?

Without a C++ compiler, say, Inductor raises whatever it is given, and each sequence would be a bug
of its. So the first alarm of a call that raises whatever was before is believed only once a plain
model compiles. Nothing is paid without such an alarm.
"""

from __future__ import annotations

from collections.abc import Callable

from rondo.oracle.result import Alarm, Result, Verdict
from rondo.search.sampler import on_backend
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Options, Sequence, SubjectSpec, normalise
from rondo.sequences.vocabulary import SMALLEST, Vocabulary

TRIED = 3
"""Plain models: one that raises may have a bug of its own."""


def is_suspicious(alarm: Alarm) -> bool:
    """Whether `alarm` is what a back end that can compile nothing would raise."""
    identity = alarm.identity
    return bool(identity.exception) and identity.verdict == Verdict.STATELESS.value


def why_nothing_compiles(
    vocabulary: Vocabulary, backend: int, run: Callable[[bytes], Result]
) -> str:
    """Return what `backend` raises for one call of each of several models, '' if one works.

    `run` executes bytes; it may raise, and does not return then.
    """
    raised = ""
    # Not the smallest: what computes nothing may need no code.
    others = [each for each in vocabulary.architectures if each.name != SMALLEST]
    for model in others[:TRIED]:
        plain = Sequence(SubjectSpec(model.name), Options(), (Call(),))
        result = run(encode(on_backend(normalise(plain, vocabulary), backend)))
        raised = next((each.identity.exception for each in result.alarms), "")
        if not raised:
            return ""
    return (
        raised
        and f"back end {vocabulary.backends[backend]!r} cannot compile a single call: {raised}"
    )
