"""Reach: of random sequences, how many calls run, and what of the vocabulary is never reached.

A call that raises in eager tests little: both arms raise, and that counts as agreement. So the
share of calls that return says how much of a campaign's time goes into tests. The eager arm alone
answers that, and nothing is compiled here.

Of 2,000 sequences up to three in 630 names were missing, other ones in each of eleven draws; 3,000
left none out. So 4,000 are run, and a name that is missing then means something.

    python bench/reach.py                 4,000 sequences
    python bench/reach.py --quick         as many as fit into 40 seconds; only the share counts
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import click

from rondo.frameworks.base import Arm, Framework
from rondo.frameworks.registry import load_framework
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import CALL_CHOICES, Call, Sequence, Step
from rondo.sequences.vocabulary import COMPILER, Vocabulary

TARGET = 0.9
QUICK_SECONDS = 40.0


@dataclass(slots=True)
class Reached:
    """What was counted: calls, those that returned, who raised, and the names that came up."""

    sequences: int = 0
    calls: int = 0
    returned: int = 0
    raised_on: Counter[str] = field(default_factory=Counter)
    names: set[str] = field(default_factory=set)

    @property
    def share(self) -> float:
        """The share of calls that returned."""
        return self.returned / max(1, self.calls)


@click.command()
@click.option("--quick", is_flag=True, help="At most 40 seconds; what is missing does not count.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--sequences", default=4_000, show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(quick: bool, as_json: bool, sequences: int, seed: int) -> None:
    """Count calls that run in eager, and names that random sequences never speak."""
    framework = load_framework("torch")
    seconds = QUICK_SECONDS if quick else float("inf")
    began = time.monotonic()
    reached = measure(framework, sequences, seed, seconds)
    missing = sorted(set(everything(framework.vocabulary())) - reached.names)
    figures = {
        "sequences": reached.sequences,
        "calls": reached.calls,
        "returned": reached.returned,
        "share": round(reached.share, 4),
        "missing": missing,
        "raised_on": dict(reached.raised_on.most_common(10)),
        "seconds": round(time.monotonic() - began, 1),
    }
    if as_json:
        print(json.dumps(figures))
    elif missing and not quick:
        print("never reached:", ", ".join(missing))
    tail = "" if quick else f"; never reached: {len(missing)} names (target 0)"
    print(f"calls that run in eager: {reached.share:.1%} (target {TARGET:.0%}){tail}")
    sys.exit(reached.share < TARGET or bool(missing and not quick))


def measure(framework: Framework, wanted: int, seed: int, seconds: float) -> Reached:
    """Run the eager arm of `wanted` random sequences, or of as many as the time allows."""
    vocabulary = framework.vocabulary()
    distribution = SequenceDistribution(vocabulary)
    rng = Random(seed)
    reached = Reached()
    began = time.monotonic()
    while reached.sequences < wanted and time.monotonic() - began < seconds:
        sequence = distribution.sample_sequence(rng, backends=(0,))
        reached.sequences += 1
        reached.names.update(names_in(sequence, vocabulary))
        run(framework, sequence, reached)
    return reached


def run(framework: Framework, sequence: Sequence, reached: Reached) -> None:
    """Run the eager arm of `sequence` and count its calls."""
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        for step in sequence.steps:
            if isinstance(step, Call):
                observation = program.call(step, compiled=False)
                reached.calls += 1
                reached.returned += observation.returned
                if not observation.returned:
                    subject = sequence.subject
                    reached.raised_on.update((subject.architecture, *subject.constructs))
            elif step.target != COMPILER:
                program.change(step)


def everything(vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the names of all architectures, constructs, changes and choices of a call."""
    for architecture in vocabulary.architectures:
        yield architecture.name
    for construct in vocabulary.constructs:
        yield construct.name
    for target in vocabulary.all_targets():
        for action in target.actions:
            yield f"{target.name}.{action.name}"
    for operand, choices in CALL_CHOICES.items():
        yield from (f"call({operand}={choice})" for choice in choices)


def names_in(sequence: Sequence, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the names that `sequence` speaks, of those that `everything` yields."""
    yield sequence.subject.architecture
    yield from sequence.subject.constructs
    for step in sequence.steps:
        yield from names_of(step, vocabulary)


def names_of(step: Step, vocabulary: Vocabulary) -> Iterator[str]:
    """Yield the names that one step speaks."""
    if isinstance(step, Call):
        yield from (f"call({operand}={step.choice(operand)})" for operand in CALL_CHOICES)
    else:
        target = vocabulary.targets_by_name[step.target]
        yield f"{target.name}.{target.actions[step.action].name}"


if __name__ == "__main__":
    main()
