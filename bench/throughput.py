"""Throughput: sequences per minute, a campaign beside its retained arm and the naive three-way.

Four ways of running the same random sequences in one process, interleaved sequence by sequence:

    bare        the retained arm alone: compiled, nothing observed but its outputs' existence
    campaign    as campaigns run: eager and retained always, reset only where they disagree
    full        all arms always: eager, retained and a reset arm at every call
    naive       full, as one writes it down first: Dynamo profiles the guards of each frame, and
                nothing keeps the C++ compiler's results but Inductor's own folder

So campaign / full is what laziness saves, and campaign / naive what all levers save together.
Kernels are warm, as they are in a campaign that has run for a while: each sequence is run once with
the levers and once without before it counts. Without them only Inductor's own folder is warm, which
a reset empties where a sequence has disk caches.

Ratios are of CPU seconds summed over the sequences of one run (compilers that are started
included); absolute rates depend on the machine. `full` and `naive` must say what `campaign` says:
sequences whose verdicts differ are counted and shown. They may see more, where retained state masks
a bug at a call that the campaign did not sample, and never less.

    python bench/throughput.py                    40 sequences on each back end, 10 on Inductor
    python bench/throughput.py --quick            fewer and without `naive`, under 50 seconds
    python bench/throughput.py --backends=eager   one of them
    python bench/throughput.py --device cuda      on a GPU, where time is counted on the clock: the
                                                  CPU's would leave out what it waits for
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

os.environ.setdefault("OMP_NUM_THREADS", "1")

import click
from torch._dynamo import guards as dynamo_guards
from torch._inductor import cpp_builder

from rondo.errors import DeviceError
from rondo.frameworks.base import CPU, Arm, Framework
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch.kernels import KernelStore
from rondo.oracle.result import Identity
from rondo.oracle.run import Run, Settings, execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import COMPILER, SMALLEST, Vocabulary

TARGETS = {"eager": 2.0, "aot_eager": 2.0, "inductor": 1.35}
"""Whole campaign / bare retained arm that must not be exceeded."""

SPEEDUPS = {"inductor": 3.0}
"""Campaign's sequences per minute / the naive three-way's that must be reached."""

WAYS = ("bare", "campaign", "full", "naive")
ALL_ARMS = Settings(always_reset=True, masked_every=1, max_alarms=64)
"""Gives up at no number of alarms, so that it sees all that a campaign does."""

PROFILE = "profile_guard_manager"
KERNELS = "inductor"
"""The back end that compiles kernels."""

SETTINGS = {"campaign": Settings(), "full": ALL_ARMS, "naive": ALL_ARMS}


class Ways:
    """The adapters, one for each way, and what they change in this process while they run."""

    def __init__(self, names: tuple[str, ...], device: str, folder: Path) -> None:
        """Make ready to compile, keeping kernels below `folder`. Raises DeviceError."""
        profile = getattr(dynamo_guards, PROFILE, None)  # before an adapter takes it away
        adapter = type(load_framework("torch"))
        self.names = names
        self.frameworks = {name: adapter() for name in names}
        for framework in self.frameworks.values():
            framework.use_device(device)
            framework.warm()
        self._folder = folder
        self._store = getattr(cpp_builder, "run_compile_cmd", None)
        self._profiles = {True: getattr(dynamo_guards, PROFILE, None), False: profile}

    def choose(self, way: str) -> Framework:
        """Return the adapter of `way`, and let its levers count from now on."""
        levers = way != "naive"
        if self._profiles[False] is not None:
            setattr(dynamo_guards, PROFILE, self._profiles[levers])
        if isinstance(self._store, KernelStore):
            self._store.folder = self._folder
            cpp_builder.run_compile_cmd = self._store if levers else self._store.run
        return self.frameworks[way]


@click.command()
@click.option("--quick", is_flag=True, help="Few sequences: under 50 seconds on 2 cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--sequences", default=40, show_default=True, help="Sequences per back end.")
@click.option("--seed", default=1, show_default=True)
@click.option("--backends", default="", help="Only these back ends, by name.")
@click.option("--device", default=CPU, show_default=True, help="Where subjects live.")
def main(quick: bool, as_json: bool, sequences: int, seed: int, backends: str, device: str) -> None:
    """Measure sequences per minute on each back end."""
    names = tuple(name for name in WAYS if not (quick and name == "naive"))
    with tempfile.TemporaryDirectory(prefix="rondo-throughput-") as folder:
        try:
            ways = Ways(names, device, Path(folder))
        except DeviceError as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(error.exit_code)
        vocabulary = ways.frameworks["bare"].vocabulary()
        chosen = tuple(backends.split(",")) if backends else vocabulary.backends
        unknown = set(chosen) - set(vocabulary.backends)
        if unknown:
            raise click.UsageError(f"no back end {sorted(unknown)[0]!r}")
        counts = {"eager": 5, "aot_eager": 3, "inductor": 1} if quick else {}
        if quick:
            vocabulary = vocabulary.restricted(architectures=frozenset({SMALLEST}))
        figures = {}
        for backend in chosen:
            count = counts.get(backend, sequences if backend != "inductor" else sequences // 4)
            figures[backend] = measure(
                ways, vocabulary, backend, count, seed, length=6 if quick else None
            )
            if not as_json:
                print(row_text(backend, figures[backend], names), flush=True)
    if as_json:
        print(json.dumps(figures))
    lost = sum(row["lost"] for row in figures.values())
    if ways.frameworks["bare"].device != CPU:  # the targets of time are a CPU's
        told = ", ".join(f"{name} {row['ratio']:.2f}" for name, row in figures.items())
        print(f"campaign / bare on {device}: {told}; verdicts lost {lost:.0f} (target 0)")
        sys.exit(bool(lost))
    worst = max(figures, key=lambda backend: figures[backend]["ratio"] / TARGETS[backend])
    figure = figures[worst]["ratio"]
    judged = {} if quick else {n: least for n, least in SPEEDUPS.items() if n in figures}
    slow = [name for name, least in judged.items() if figures[name]["speedup"] < least]
    told = "".join(
        f"; {name} over the naive three-way {figures[name]['speedup']:.2f}x (target >= {least})"
        for name, least in judged.items()
    )
    print(
        f"campaign / bare retained arm, {worst}: {figure:.2f} (target <= {TARGETS[worst]})"
        f"{told}; verdicts lost {lost:.0f} (target 0)"
    )
    sys.exit(bool(figure > TARGETS[worst] or slow or lost))


def row_text(backend: str, row: dict[str, float], names: tuple[str, ...]) -> str:
    """Return what is printed of a back end."""
    rates = "  ".join(f"{way} {row[way]:.1f}/min" for way in names)
    told = f"campaign/bare {row['ratio']:.2f}  campaign/full {row['laziness']:.2f}x"
    told += f"  campaign/naive {row['speedup']:.2f}x" if "naive" in names else ""
    verdicts = f"verdicts differ {row['differing']:.0f}, lost {row['lost']:.0f}"
    return f"{backend:10} {rates}  {told}  {verdicts}  n={row['sequences']:.0f}"


def measure(
    ways: Ways,
    vocabulary: Vocabulary,
    backend: str,
    count: int,
    seed: int,
    *,
    length: int | None,
) -> dict[str, float]:
    """Return sequences per minute of each way, ratios of time, and how verdicts compare.

    `length` steps each, or as many as campaigns draw.
    """
    distribution = SequenceDistribution(vocabulary, max_length=24)
    index = vocabulary.backends.index(backend)
    rng = Random(seed)
    seconds = dict.fromkeys(ways.names, 0.0)
    differing = lost = 0
    warm_up = int(backend != KERNELS)  # there each sequence warms up for itself
    for number in range(count + warm_up):
        data = encode(distribution.sample_sequence(rng, length, backends=(index,)))
        verdicts = {}
        for way in ("full", "naive"):
            if backend == KERNELS and way in ways.names:
                run_once(ways.choose(way), vocabulary, data, way)
        for way in rng.sample(ways.names, len(ways.names)):
            spent, verdicts[way] = run_once(ways.choose(way), vocabulary, data, way)
            if number >= warm_up:
                seconds[way] += spent
        if number < warm_up:
            continue
        for way in {*verdicts} - {"bare", "campaign"}:
            differing += verdicts["campaign"] != verdicts[way]
            # More is no loss: a masked bug, at a call that the campaign's sample left out.
            lost += bool(verdicts["campaign"] - verdicts[way])
    return {
        **{way: 60 * count / spent for way, spent in seconds.items()},
        "ratio": seconds["campaign"] / seconds["bare"],
        "laziness": seconds["full"] / seconds["campaign"],
        "speedup": seconds.get("naive", 0.0) / seconds["campaign"],
        "differing": differing,
        "lost": lost,
        "sequences": count,
    }


def run_once(
    framework: Framework, vocabulary: Vocabulary, data: bytes, way: str
) -> tuple[float, frozenset[Identity]]:
    """Run `data` one way; return the seconds, compilers' included, and the alarms' identities."""
    clock = _cpu_seconds if framework.device == CPU else time.perf_counter
    began = clock()
    if way == "bare":
        run_bare(framework, vocabulary, data)
        return clock() - began, frozenset()
    result = execute(data, framework, settings=SETTINGS[way], vocabulary=vocabulary)
    spent = clock() - began
    return spent, frozenset(alarm.identity for alarm in result.alarms)


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
    return time.process_time() + times.children_user + times.children_system


if __name__ == "__main__":
    main()
