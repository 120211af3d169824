"""What each choice of the sampler is worth, against a pretended compiler: seconds, not hours.

The real measure is `bench/sampler.py`, and it takes hours. To choose between designs of a sampler
many runs are needed, so here the compiler is a stand-in that takes no time: a program over the real
vocabulary of torch that keeps entries with guards, recompiles, falls back after eight entries and
shows labels of the shapes that the adapter's have - after which change a call recompiled, what the
guards were about, sizes in powers of two, which dimensions became dynamic. What each construct and
change does is drawn once from the hash of its name. Costs are the adapter's nominal ones (a start,
a frame, a node). So it ranks designs; it says nothing about torch.

Each row: the time that variant needs for what `random` has at its end, as a share of that time
(median and worst over seeds), and its own final count.

    python bench/ablation.py                    3 seeds, 400 pretended seconds
    python bench/ablation.py --quick            fewer of both
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from rondo._native.behaviour import hash64
from rondo.frameworks.registry import load_framework
from rondo.oracle.behaviours import cause_of, occasion_of
from rondo.search import mcmc
from rondo.search.corpus import Corpus
from rondo.search.sampler import SearchState
from rondo.search.samplers import create_sampler
from rondo.sequences.step import Call, Change, Sequence
from rondo.sequences.vocabulary import SMALLEST, Vocabulary

SEEDS = Path(__file__).parents[1] / "corpus" / "torch"
TARGET = 0.8
"""Against the stand-in, whose `random` is better than the real one: nothing there hangs or dies."""
UNIT = 0.25
"""Seconds of a unit of work."""
MOST_ENTRIES = 8
GUARDED = ("dtype", "layout", "grad", "autocast", "inputs_grad", "alias")

VARIANTS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "no sweep": {"sweep_share": 0.0},
    "half of the turns sweep": {"sweep_share": 0.5},
    "any fresh start (1 draw)": {"looked_at": 1},
    "the best of 12 draws": {"looked_at": 12},
    "walks of one step": {"walk": 1},
    "walks of 32 steps": {"walk": 32},
    "sharpness 2": {"sharpness": 2.0},
    "walks do not look ahead": {"sharpness": 0.0},
    "neither looks ahead": {"looked_at": 1, "sharpness": 0.0},
    "all executions cost alike": {"weigh_work": False},
    "the mix of moves is fixed": {"learn": False},
    "temperature 6": {"temperature": 6.0},
    "one chain": {"chains": 1},
    "leaves only when stuck": {"LEAST_STAY": 1 << 30},
}


def drawn(*about: object) -> int:
    """Return a number that is always the same for the same things."""
    return hash64(repr(about))


def banded(count: int) -> int:
    """Return the power of two that is not below `count`."""
    return count if count <= 2 else 1 << (count - 1).bit_length()


@dataclass
class Pretended:
    """Runs one sequence: entries with guards on state and operands, and what that shows."""

    sequence: Sequence
    vocabulary: Vocabulary
    labels: list[str] = field(default_factory=list)
    seconds: float = 0.06
    state: dict[tuple[str, int], int] = field(default_factory=dict)
    entries: list[tuple[object, ...]] = field(default_factory=list)
    dynamic: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        subject = self.sequence.subject
        share = drawn("size", subject.architecture) % 1000 / 1000
        small = subject.architecture == SMALLEST
        self.nodes = 2 if small else int(15 + 140 * share**2)
        self.nodes += sum(1 + drawn("nodes", name) % 8 for name in subject.constructs)
        self.inputs = 1 if small else 1 + drawn("inputs", subject.architecture) % 4
        self.breaks = [name for name in subject.constructs if drawn("break", name) % 10 == 0]

    def run(self) -> dict[int, str]:
        """Return what the sequence shows."""
        outcome, sizes = "start", None
        for position, step in enumerate(self.sequence.steps):
            if isinstance(step, Change):
                self._change(step)
                continue
            if sizes is not None:
                pairs = zip(sizes, step.sizes, strict=True)
                self.dynamic |= {n for n, (one, two) in enumerate(pairs) if one != two}
            sizes = step.sizes
            before, outcome = outcome, self._call(step)
            cause = occasion_of(cause_of(self.sequence, self.vocabulary, position))
            self.labels += [f"after {cause}: {outcome}", f"{before} then {outcome}"]
        backend = self.sequence.options.backend
        return {hash64(label): label for label in (f"{backend}: {each}" for each in self.labels)}

    def _change(self, change: Change) -> None:
        """Half of all changes reach what is guarded, some count up, the others are not seen."""
        kind, key = (
            drawn("effect", change.target, change.action) % 100,
            (change.target, change.action),
        )
        if kind < 55:
            self.state[key] = change.value + 1
        elif kind < 70:
            self.state[key] = (self.state.get(key, 0) + 1) % 3

    def _call(self, call: Call) -> str:
        operands = tuple(getattr(call, name) for name in GUARDED)
        fixed = tuple(s for n, s in enumerate(call.sizes) if n not in self.dynamic or s == 0)
        key = (tuple(sorted(self.state.items())), operands, fixed)
        if key in self.entries:
            outcome = "hit"
            self.seconds += 0.004
        elif len(self.entries) == MOST_ENTRIES:
            outcome = "eager"
            self.labels.append("limit")
        else:
            outcome = self._compile(key, call)
        failing = drawn("fails", self.sequence.subject.architecture, call.dtype, call.backward)
        if (call.dtype or call.backward > 1) and failing % 25 == 0:
            self.labels.append(f"fail {call.dtype} {call.backward}")
            outcome += "+raised"
        return outcome

    def _compile(self, key: tuple[Any, ...], call: Call) -> str:
        outcome = "compile"
        if self.entries:
            outcome = "recompile"
            self.labels.append(self._reason(key, self.entries[-1]))
        self.entries.append(key)
        self._show_graph(call)
        self.seconds += 0.015 * (1 + len(self.breaks)) + 0.0056 * self.nodes
        return f"{outcome}+break" if self.breaks else outcome

    def _reason(self, key: tuple[Any, ...], old: tuple[Any, ...]) -> str:
        now, then = dict(key[0]), dict(old[0])
        changed = sorted(
            each for each in now.keys() | then.keys() if now.get(each) != then.get(each)
        )
        architecture = self.sequence.subject.architecture
        if changed:
            target, action = changed[0]
            return f"recompile {target} {action} {drawn('words', target) % 3}"
        for name, new, before in zip(GUARDED, key[1], old[1], strict=True):
            if new != before:
                return f"recompile {name} {architecture if drawn(name) % 4 == 0 else ''} {new}"
        return f"recompile size {architecture if self.inputs > 2 else ''} {len(self.dynamic)}"

    def _show_graph(self, call: Call) -> None:
        subject, options = self.sequence.subject, self.sequence.options
        guards = banded(self.nodes * 5 + 20 + 3 * len(self.state))
        inputs = banded(self.inputs + 2 * len(subject.constructs))
        shapes = banded(3 * len(self.dynamic))
        self.labels.append(
            f"compile ops={banded(self.nodes)} guards={guards} shapes={shapes} inputs={inputs}"
        )
        self.labels += [f"entries {banded(len(self.entries))}", f"ir {banded(3 * self.nodes)}"]
        for place, name in enumerate(subject.constructs):
            self.labels += [f"guard {drawn('g', name, n) % 40}" for n in range(drawn(name) % 3)]
            touched = any(target == name for target, _ in self.state)
            for source in range(drawn("sources", name) % 5):
                known = "d" if self.dynamic and drawn("d", name, source) % 3 == 0 else "s"
                where = place if drawn("where", name, source) % 2 else ""
                self.labels.append(f"dynamic {name} {source} {known} {where}")
                self.labels += [f"dynamic {name} {source} changed"] if touched else []
        architecture = subject.architecture
        for number in range(self.inputs):
            whose = architecture if number else ""
            self.labels.append(f"dynamic {whose} {number} {sorted(self.dynamic)} {len(call.sizes)}")
        self.labels += [f"dynamic {architecture} {n}" for n in range(min(6, self.nodes // 10))]
        self.labels += [f"break {name} {drawn('why', name) % 5}" for name in self.breaks]
        self.labels += [f"backward {call.backward} {banded(self.nodes)}"] if call.backward else []
        self.labels += [f"dynamic option {options.dynamic}"] if options.dynamic else []


def search(
    name: str, seed: int, seconds: float, vocabulary: Vocabulary, **choices: Any
) -> list[tuple[float, int]]:
    """Return the curve of one search: pretended seconds and behaviours after each execution."""
    corpus = Corpus(None, vocabulary)
    for entry in Corpus(SEEDS, vocabulary):
        options = replace(entry.sequence.options, backend=0)
        corpus.add(replace(entry.sequence, options=options))
    for entry in corpus:
        entry.seed = True
    state = SearchState.begin(vocabulary, corpus)
    sampler = (
        mcmc.MarkovSampler(state, seed=seed, **choices)
        if name == "mcmc"
        else create_sampler(name, state, seed=seed)
    )
    waiting = [entry.sequence for entry in corpus]
    spent, curve = 0.0, []
    while spent < seconds:
        sequence = waiting.pop(0) if waiting else sampler.propose()
        run = Pretended(sequence, vocabulary)
        shown = run.run()
        spent += run.seconds
        sampler.observe(sequence, shown, work=run.seconds / UNIT)
        curve.append((spent, len(state.ledger)))
    return curve


def time_to(curve: list[tuple[float, int]], goal: float) -> float:
    """Return when `curve` reaches `goal`; infinity if never."""
    return next((at for at, count in curve if count >= goal), math.inf)


@click.command()
@click.option("--quick", is_flag=True, help="Fewer seeds and variants: under 50 seconds.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--seeds", default=3, show_default=True)
@click.option("--seconds", default=400.0, show_default=True, help="Pretended, for each search.")
def main(quick: bool, as_json: bool, seeds: int, seconds: float) -> None:
    """Compare variants of the sampler."""
    vocabulary = load_framework("torch").vocabulary()
    variants = VARIANTS
    if quick:
        seeds, seconds = 2, 250.0
        variants = {name: VARIANTS[name] for name in ("as it is", "neither looks ahead")}
    numbers = range(1, seeds + 1)
    plain = [search("random", seed, seconds, vocabulary)[-1] for seed in numbers]
    goal, end = (statistics.median(row[n] for row in plain) for n in (1, 0))
    print(f"{'random':28} final {goal:.0f}", flush=True)
    usual = mcmc.LEAST_STAY
    figures = {}
    for name, choices in variants.items():
        told = dict(choices)
        mcmc.LEAST_STAY = told.pop("LEAST_STAY", usual)
        curves = [search("mcmc", seed, seconds, vocabulary, **told) for seed in numbers]
        shares = [time_to(curve, goal) / end for curve in curves]
        final = statistics.median(curve[-1][1] for curve in curves)
        figures[name] = {"share": statistics.median(shares), "worst": max(shares), "final": final}
        row = figures[name]
        print(
            f"{name:28} final {final:.0f}  random's after {row['share']:.2f} ({row['worst']:.2f})",
            flush=True,
        )
    mcmc.LEAST_STAY = usual
    if as_json:
        print(json.dumps(figures))
    share = figures["as it is"]["share"]
    print(f"share of random's time, pretended compiler: {share:.2f} (target <= {TARGET})")
    sys.exit(not share <= TARGET)


if __name__ == "__main__":
    main()
