"""Throughput: sequences per minute, and what a whole campaign costs beside its retained arm.

Four ways of running the same random sequences in one process, interleaved sequence by sequence:

    bare        the retained arm alone: compiled, nothing observed but its outputs' existence
    campaign    as campaigns run: eager and retained always, reset only where they disagree
    full        the naive three-way: a reset arm at every call

Ratios are to `bare`, summed over the sequences of one run; absolute rates depend on the machine.

    python bench/throughput.py                    all back ends, 40 sequences each
    python bench/throughput.py --quick            fewer, under 50 seconds
"""

from __future__ import annotations

import json
import os
import sys
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")

import click

from rondo.frameworks.base import Arm, Framework
from rondo.frameworks.registry import load_framework
from rondo.oracle.run import Run, Settings, execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import COMPILER, SMALLEST, Vocabulary

TARGETS = {"eager": 3.0, "aot_eager": 3.0, "inductor": 2.5}
"""Whole campaign / bare retained arm that this version must not exceed."""

WAYS = ("bare", "campaign", "full")
SETTINGS = {"campaign": Settings(), "full": Settings(always_reset=True, masked_every=1)}


@click.command()
@click.option("--quick", is_flag=True, help="Few sequences: under 50 seconds on 2 cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--sequences", default=40, show_default=True, help="Sequences per back end.")
@click.option("--seed", default=1, show_default=True)
def main(quick: bool, as_json: bool, sequences: int, seed: int) -> None:
    """Measure sequences per minute on each back end."""
    framework = load_framework("torch")
    framework.warm()
    vocabulary = framework.vocabulary()
    counts = {"eager": 5, "aot_eager": 3, "inductor": 1} if quick else {}
    if quick:
        vocabulary = vocabulary.restricted(architectures=frozenset({SMALLEST}))
    figures = {}
    for index, backend in enumerate(vocabulary.backends):
        count = counts.get(backend, sequences if backend != "inductor" else sequences // 4)
        figures[backend] = measure(
            framework, vocabulary, index, count, seed, length=6 if quick else None
        )
    if as_json:
        print(json.dumps(figures))
    else:
        for backend, row in figures.items():
            rates = "  ".join(f"{way} {row[way]:.1f}/min" for way in WAYS)
            print(f"{backend:10} {rates}  campaign/bare {row['ratio']:.2f}  n={row['sequences']}")
    worst = max(figures, key=lambda backend: figures[backend]["ratio"] / TARGETS[backend])
    figure = figures[worst]["ratio"]
    print(f"campaign / bare retained arm, {worst}: {figure:.2f} (target <= {TARGETS[worst]})")
    sys.exit(figure > TARGETS[worst])


def measure(
    framework: Framework,
    vocabulary: Vocabulary,
    backend: int,
    count: int,
    seed: int,
    *,
    length: int | None,
) -> dict[str, float]:
    """Return sequences per minute of each way, and campaign time over bare time.

    `length` steps each, or as many as campaigns draw.
    """
    distribution = SequenceDistribution(vocabulary, max_length=24)
    rng = Random(seed)
    seconds = dict.fromkeys(WAYS, 0.0)
    warm_up = 1
    for number in range(count + warm_up):
        data = encode(distribution.sample_sequence(rng, length, backends=(backend,)))
        for way in rng.sample(WAYS, len(WAYS)):
            spent = run_once(framework, vocabulary, data, way)
            if number >= warm_up:
                seconds[way] += spent
    rates = {way: 60 * count / spent for way, spent in seconds.items()}
    return {**rates, "ratio": seconds["campaign"] / seconds["bare"], "sequences": count}


def run_once(framework: Framework, vocabulary: Vocabulary, data: bytes, way: str) -> float:
    """Run `data` one way and return the CPU seconds that it took, compilers started by it too."""
    began = _cpu_seconds()
    if way == "bare":
        run_bare(framework, vocabulary, data)
    else:
        execute(data, framework, settings=SETTINGS[way], vocabulary=vocabulary)
    return _cpu_seconds() - began


def run_bare(framework: Framework, vocabulary: Vocabulary, data: bytes) -> None:
    """Run the retained arm's steps and look at nothing."""
    sequence = decode(data, vocabulary)
    with framework.session(sequence):
        Run(sequence, framework, vocabulary).framework.reset()
        with framework.arm(sequence, Arm.RETAINED) as program:
            for step in sequence.steps:
                if isinstance(step, Call):
                    program.invoke(step, compiled=True)
                elif step.target != COMPILER:
                    program.change(step)
                else:
                    program.compiler_change(step)


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
