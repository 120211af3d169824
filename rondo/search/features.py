"""What can be told of a sequence before it runs: its features, short strings.

The key insight: most of what a compiler will show is decided by parts that can be read off the
sequence - which constructs there are, which change stands in front of which call, in what two
calls differ - and behaviours are labelled by much the same parts. So the record of what a
feature has led to so far foretells what a sequence that holds it will still find (`promise`),
at a thousandth of what running it costs.

The first word of a feature is its class; features of a class start out alike.
"""

from __future__ import annotations

from functools import lru_cache

from rondo.sequences.step import CALL_CHOICES, OPTION_CHOICES, Call, Change, Sequence, Step

OPERANDS = (*CALL_CHOICES, "sizes")

KEPT = 4096
"""Calls, and pairs of calls, whose features are kept: walks on paper see the same ones again."""

SILENT = frozenset({"value_seed"})
"""Operands that change numbers and nothing that a compiler looks at."""


def features_of(sequence: Sequence) -> tuple[str, ...]:
    """Return the features of `sequence`, each once, in the order in which they occur."""
    subject, options = sequence.subject, sequence.options
    found = [f"architecture {subject.architecture}"]
    found += [f"construct {name}" for name in subject.constructs]
    if options.mode:
        found.append(f"option mode={options.mode}")
    found += [
        f"option {name}={getattr(options, name)}"
        for name in OPTION_CHOICES
        if getattr(options, name)
    ]
    before: Step | None = None
    call: Call | None = None
    calls = 0
    for step in sequence.steps:
        if isinstance(step, Change):
            found.append(f"change {step.target}.{step.action}.{step.value}")
        else:
            calls += 1
            found += _unusual(step)
            if isinstance(before, Change):
                found.append(f"after {before.target}.{before.action}")
            if call is not None:
                found += _differences(call, step)
            call = step
        before = step
    found.append(f"calls {calls.bit_length()}")
    return tuple(dict.fromkeys(found))


@lru_cache(KEPT)
def _unusual(call: Call) -> tuple[str, ...]:
    """Return the operands of `call` that are not at their usual choice, with the choice."""
    return tuple(
        f"operand {name}={getattr(call, name)}"
        for name in CALL_CHOICES
        if name not in SILENT and getattr(call, name)
    )


@lru_cache(KEPT)
def _differences(first: Call, second: Call) -> tuple[str, ...]:
    """Return a feature for each operand in which two calls differ, and one for how many do."""
    names = [
        name
        for name in OPERANDS
        if name not in SILENT and getattr(first, name) != getattr(second, name)
    ]
    if not names:
        return ("between equals",)
    if len(names) == 1:
        return (f"between {names[0]}",)
    return ("between several", *(f"among {name}" for name in names))
