"""A one-shot generator from outside as a baseline: NNSmith's models, one call each.

NNSmith (Liu and others, *NNSmith: Generating Diverse and Valid Test Cases for Deep Learning
Compilers*, ASPLOS 2023) draws a new graph of operators for every test and knows no second call. Its
graphs run here through Rondo's own `execute`, so what counts as a behaviour, a line or an alarm is
the same as for Rondo's samplers. Back ends are drawn by the fixed shares of the baselines.

It speaks like `python -m rondo.fuzz --json`, so that `bench/sampler.py` can drive it, with
`--samplers=mcmc,random,nnsmith`. Two things are in its favour: nothing isolates, confirms or
shortens, which all costs a campaign time, and each distinct alarm that shows twice counts as a
finding.

    pip install -e '.[bench]'
    python bench/outside.py --runs=20
"""

from __future__ import annotations

import copy
import json
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from random import Random
from types import FrameType
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import click
import torch

from rondo._native.choose import choose_tracer
from rondo._native.sampling import SampledTracing
from rondo._native.tracer import LineTracer
from rondo.frameworks.base import Framework
from rondo.frameworks.registry import load_framework
from rondo.oracle.run import execute
from rondo.search.tiers import TierSchedule
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Options, Sequence, SubjectSpec
from rondo.subjects.user import NAME, subject

MAX_NODES = 10
"""Operators of a graph, at most."""
MAX_ELEMENTS = 1 << 14
SOLVING_MS = 10_000


class Generated(torch.nn.Module):
    """The operators of a generated graph, in order, and nothing else of NNSmith's own module.

    That one checks numbers and trains inputs as it runs, which is no part of the test.
    """

    def __init__(self, symbolic: Any) -> None:
        super().__init__()
        self.layers = symbolic.mlist
        self.steps = [instruction[:3] for instruction in symbolic.instructions]
        self.inputs = list(symbolic.input_map)
        self.outputs = list(symbolic.output_map)

    def forward(self, *values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Run the graph."""
        known = dict(zip(self.inputs, values, strict=True))
        for function, arguments, results in self.steps:
            shown = function(*[known[name] for name in arguments])
            several = shown if isinstance(shown, list | tuple) else [shown]
            known.update(zip(results, several, strict=True))
        return tuple(known[name] for name in self.outputs)


def generator() -> Callable[[int], tuple[Generated, list[torch.Tensor]]]:
    """Return what makes a model and its example inputs from a seed. Raises ClickException."""
    try:
        from nnsmith.abstract.dtype import DType
        from nnsmith.graph_gen import model_gen
        from nnsmith.materialize.torch import TorchModelCPU
        from nnsmith.util import set_seed
    except ImportError as error:
        raise click.ClickException(f"nnsmith cannot be imported: {error}") from None
    operators = TorchModelCPU.operators()
    dtypes = [DType.float32, DType.int64, DType.bool]

    def generate(seed: int) -> tuple[Generated, list[torch.Tensor]]:
        set_seed(seed)
        graph = model_gen(
            opset=operators,
            method="symbolic-cinit",
            seed=seed,
            max_nodes=MAX_NODES,
            timeout_ms=SOLVING_MS,
            rank_choices=None,
            max_elem_per_tensor=MAX_ELEMENTS,
            dtype_choices=dtypes,
        )
        symbolic = TorchModelCPU.from_gir(graph.make_concrete()).torch_model.eval()
        return Generated(symbolic), list(symbolic.get_random_inps().values())

    return generate


class Tally:
    """What has been seen, said in the words of a campaign."""

    def __init__(self) -> None:
        self.began = time.monotonic()
        self.executions = self.refused = self.lines = 0
        self.behaviours: set[int] = set()
        self.findings: set[object] = set()
        self.seconds: dict[str, float] = {}

    def say(self, event: str, **more: object) -> None:
        """Print an event."""
        total = sum(self.seconds.values()) or 1.0
        told = {
            "event": event,
            "executions": self.executions,
            "behaviours": len(self.behaviours),
            "lines": self.lines,
            "findings": len(self.findings),
            "seconds": round(time.monotonic() - self.began, 2),
            "time_shares": {name: round(s / total, 3) for name, s in self.seconds.items()},
        }
        print(json.dumps(told | more), flush=True)


class Lines:
    """The compiler's lines, traced as campaigns do: always where that is cheap, else a sample."""

    def __init__(self, tracer: LineTracer | None) -> None:
        self.tracer = tracer
        self.policy = SampledTracing()
        self.spent = 0.0

    @contextmanager
    def inline(self) -> Iterator[None]:
        """Trace the first execution where every one is."""
        with self._traced() if self.policy.always else nullcontext():
            yield

    def after(self, new: bool, again: Callable[[], object], *, spent: float, total: float) -> int:
        """Execute `again` under the tracer if the sample says so; return all lines so far."""
        if (
            self.tracer is not None
            and not self.policy.always
            and self.policy.should_trace(
                new, spent_traced_cpu=self.spent, spent_total_cpu=total, execution_cpu=spent
            )
        ):
            began = time.process_time()
            with self._traced(), suppress(Exception):  # what it shows was judged untraced
                again()
            self.spent += time.process_time() - began
        return self.tracer.line_count if self.tracer is not None else 0

    @contextmanager
    def _traced(self) -> Iterator[None]:
        if self.tracer is None:
            yield
            return
        self.tracer.start()
        self.tracer.begin_run()
        try:
            yield
        finally:
            self.tracer.end_run()
            self.tracer.stop()


def one_shot(backend: int, seed: int) -> bytes:
    """Return the test of a model: one usual call on a back end."""
    options = Options(backend=backend)
    return encode(Sequence(SubjectSpec(NAME, (), seed % 256), options, (Call(sizes=(0,)),)))


def run_model(
    framework: Framework,
    made: tuple[Generated, list[torch.Tensor]],
    backend: int,
    seed: int,
    tally: Tally,
) -> bool:
    """Execute one model; return whether it showed a behaviour that none had shown."""
    model, examples = made
    shapes: list[Any] = [None] * len(examples)
    framework.add_subject(subject(lambda: copy.deepcopy(model), *examples, shapes=shapes))
    data = one_shot(backend, seed)
    began = time.monotonic()
    result = execute(data, framework)
    identities = {alarm.identity for alarm in result.alarms} - tally.findings
    if identities:
        identities &= {alarm.identity for alarm in execute(data, framework).alarms}
    name = framework.vocabulary().backends[backend]
    tally.seconds[name] = tally.seconds.get(name, 0.0) + time.monotonic() - began
    tally.executions += 1
    new = not result.behaviours.keys() <= tally.behaviours
    tally.behaviours |= result.behaviours.keys()
    for identity in identities:
        tally.findings.add(identity)
        tally.say("finding", bucket=f"nnsmith {identity}")
    return new


@click.command()
@click.option("--seed", default=1, show_default=True)
@click.option("--runs", default=-1, show_default=True, help="Models; -1 until interrupted.")
@click.option("--backends", default="", help="Only these back ends, by name.")
@click.option("--lines", default=1, show_default=True, help="0: trace no lines of the compiler.")
def main(seed: int, runs: int, backends: str, lines: int) -> None:
    """Run models of NNSmith's through Rondo's oracle, one call each."""
    warnings.simplefilter("ignore")
    generate = generator()
    framework = load_framework("torch")
    framework.warm()
    names = framework.vocabulary().backends
    chosen = tuple(backends.split(",")) if backends else names
    if unknown := {*chosen} - {*names}:
        raise click.UsageError(f"no back end {sorted(unknown)[0]!r}")
    tiers = TierSchedule(tuple(map(names.index, chosen)))
    rng = Random(seed)
    stopping: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.append(number)

    signal.signal(signal.SIGINT, stop)
    tracing = Lines(choose_tracer(framework.source_trees()).tracer if lines else None)
    tally = Tally()
    print(json.dumps({"event": "info", "text": "0 seeds"}), flush=True)
    zero = time.process_time()
    while tally.executions + tally.refused != runs and not stopping:
        number = rng.getrandbits(31)
        try:
            made = generate(number)
            backend = tiers.draw(rng)
            began = time.process_time()
            with tracing.inline():
                new = run_model(framework, made, backend, number, tally)
        except Exception as error:  # of the generator, or a graph that Rondo has no inputs for
            tally.refused += 1
            print(f"{type(error).__name__}: {error}"[:200], file=sys.stderr)
            continue
        spent = time.process_time() - began
        again = partial(execute, one_shot(backend, number), framework)
        total = time.process_time() - zero
        tally.lines = tracing.after(new, again, spent=spent, total=total)
        tally.say("NEW" if new else "pulse")
    tally.say("done", refused=tally.refused)
    sys.exit(128 + signal.SIGINT if stopping else 0)


if __name__ == "__main__":
    main()
