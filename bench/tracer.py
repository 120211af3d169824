"""What lines cost: cold compiles with and without each tracer, as ratios of CPU seconds.

    python bench/tracer.py --quick          one process per back end, about 45 seconds
    python bench/tracer.py                  every tracer, 5 processes per back end, minutes
    python bench/tracer.py --json           the same figures for a program to read

The unit is a cold compile: `torch._dynamo.reset()`, a new module, `torch.compile`, the first call
of a small Transformer encoder, with the FX and AOTAutograd caches off and Inductor's compiled
kernels kept on disk, so that Python is what is timed. `profile_guard_manager` is off in all modes:
it spends 27 ms per compiled frame on one log line and would flatter every ratio.

How it is timed. Within one process the tracers take turns, unit by unit; each is represented by its
fastest unit, because other jobs on the machine can only add; ratios are taken within the process,
and the median over processes is what counts. Garbage is collected before each unit, not during it.

The last line prints the figures that decide and their targets; exit status 0 only if all hold.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, os.fspath(Path(__file__).resolve().parent.parent))

from rondo._native.behaviour import BehaviourMap, hash64
from rondo._native.sampling import SampledTracing
from rondo._native.tracer import MONITORING, LineTracer, NullTracer

BACKENDS = ("eager", "aot_eager", "inductor")
TREES = ("_dynamo", "_functorch", "_inductor", "fx", "_guards.py", "_subclasses")
# Units per process and back end: cheap ones are repeated more, so that all are timed about equally.
UNITS = {"eager": 9, "aot_eager": 5, "inductor": 3}

TARGETS_311 = {"rondo/floor": 1.05, "campaign": 1.10}
TARGETS_312 = {"steady": 1.03, "first": 1.30, "complete": 1.25}
HASHING_TARGET = 0.01
STARTUP_TARGET = 1.0
CAMPAIGN = 30
"""Executions of the campaign that samples."""
HASHED_PER_UNIT = 500
"""Behaviours of one execution: an order of magnitude above what a sequence of 6 calls shows."""


# ------------------------------------------------------------------------------------ the unit


def cpu() -> float:
    """CPU seconds of this process and of its children: Inductor may start a C++ compiler."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    gc.collect()
    gc.disable()
    start = cpu()
    yield
    into.append(cpu() - start)
    gc.enable()


def make_unit(backend: str) -> Callable[..., None]:
    """Imports torch and returns a function that compiles a small encoder, cold."""
    cache = Path(tempfile.gettempdir(), "rondo-bench-kernels")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.fspath(cache)
    os.environ["OMP_NUM_THREADS"] = os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    import torch
    import torch._dynamo.guards
    import torch._functorch.config
    import torch._inductor.config

    vars(torch._dynamo.guards)["profile_guard_manager"] = lambda *_: 0.0
    torch._inductor.config.fx_graph_cache = False
    torch._functorch.config.enable_autograd_cache = False
    x = torch.randn(2, 4, 16)

    def unit(batch: int = 2, width: int = 32) -> None:
        torch._dynamo.reset()
        layer = torch.nn.TransformerEncoderLayer(16, 2, width, dropout=0.0, batch_first=True)
        module = torch.nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        torch.compile(module, backend=backend)(x[:batch])

    return unit


def torch_trees() -> list[str]:
    import torch

    root = os.path.dirname(os.path.realpath(torch.__file__))
    return [os.path.join(root, tree) for tree in TREES]


# ---------------------------------------------------------------------------------- the tracers


class Turns:
    """Each method is one tracer's turn: it starts, times one unit under each label, and stops."""

    def __init__(self, unit: Callable[..., None]) -> None:
        self.unit = unit
        self.times: dict[str, list[float]] = {}
        self.tracer: LineTracer | None = None
        self.c_tracer: Any = None
        self.collector: Any = None

    def _time(self, label: str, before: Callable[[], None] = lambda: None) -> None:
        with timed(self.times.setdefault(label, [])):
            before()
            self.unit()

    def none(self) -> None:
        """No tracer: what all others are relative to."""
        self._time("none")

    def floor(self) -> None:
        """A C callback that returns at once."""
        null = NullTracer()
        null.start()
        self._time("floor")
        null.stop()

    def rondo(self) -> None:
        """New lines only, everything seen before.

        On 3.12+ `start` arms everything anew, so a complete run comes first, which disables what
        it reaches, and one that is not timed, in which the interpreter specialises again what
        arming had made it forget. A campaign starts its tracer once.
        """
        self._run(complete=MONITORING, steady=True)

    def complete(self) -> None:
        """The complete line set of the run."""
        self._run(complete=True, steady=False)

    def _run(self, *, complete: bool, steady: bool) -> None:
        if self.tracer is None:
            self.tracer = LineTracer(torch_trees())
            self.tracer.start()
            self.unit()
            self.tracer.stop()
        tracer = self.tracer
        tracer.start()
        if complete:
            self._time("complete", lambda: tracer.begin_run(complete=True))
        if steady:
            if MONITORING:
                self.unit()
            self._time("steady", tracer.begin_run)
        tracer.end_run()
        tracer.stop()

    def fresh(self) -> None:
        """A new tracer in a warm process: every line is new to it."""
        tracer = LineTracer(torch_trees())
        with timed(self.times.setdefault("startup", [])):
            tracer.start()
        self._time("fresh", tracer.begin_run)
        tracer.stop()

    def coverage(self) -> None:
        """coverage.py's C tracer, lines."""
        if self.c_tracer is None:
            self.c_tracer = new_coverage("ctrace")
        self.c_tracer.start()
        self._time("coverage")
        self.c_tracer.stop()

    def sysmon(self) -> None:
        """Started once and left running: started repeatedly, it has deadlocked with Dynamo."""
        if self.collector is None:
            self.collector = new_coverage("sysmon")
            self.collector.start()
            self.unit()
        self._time("sysmon")


def new_coverage(core: str) -> Any:
    os.environ["COVERAGE_CORE"] = core
    import coverage

    include = [tree if tree.endswith(".py") else os.path.join(tree, "*") for tree in torch_trees()]
    return coverage.Coverage(data_file=None, include=include, config_file=False)


def lines_differ(unit: Callable[..., None]) -> dict[str, Any]:
    """The lines of one unit under coverage.py and under the tracer: counts, and what differs.

    Garbage is collected inside, or one of the two would see the finalizers of both units; and a
    unit comes first, so that both drop the code of one before them.
    """
    unit()
    collector = new_coverage("ctrace")
    gc.collect()
    collector.start()
    unit()
    gc.collect()
    collector.stop()
    data = collector.get_data()
    theirs = {(name, line) for name in data.measured_files() for line in data.lines(name)}
    tracer = LineTracer(torch_trees())
    gc.collect()
    tracer.start()
    tracer.begin_run()
    unit()
    gc.collect()
    ours = set(tracer.end_run())
    tracer.stop()
    return {
        "coverage": len(theirs),
        "rondo": len(ours),
        "only_coverage": sorted(theirs - ours),
        "only_rondo": sorted(ours - theirs),
    }


def campaign(unit: Callable[..., None], executions: int) -> float:
    """The cost of a campaign that samples: every fifth execution has new behaviours."""
    policy = SampledTracing()
    tracer = LineTracer(torch_trees())
    plain = traced = 0.0
    for i in range(executions):
        spent: list[float] = []
        with timed(spent):
            unit(batch=1 + i % 2, width=16 + i % 7)
        plain += spent[-1]
        if policy.should_trace(
            i % 5 == 0,
            spent_traced_cpu=traced,
            spent_total_cpu=plain + traced,
            execution_cpu=spent[-1],
        ):
            with timed(spent):
                tracer.start()
                tracer.begin_run()
                unit(batch=1 + i % 2, width=16 + i % 7)
                tracer.end_run()
                tracer.stop()
            traced += spent[-1]
    return (plain + traced) / plain


def hashing_seconds() -> float:
    """CPU seconds to hash and count the behaviours of one execution."""
    labels = [f"recompile:size mismatch at dim {i % 7}, frame forward_{i}" for i in range(500)]
    behaviours = BehaviourMap()
    spent: list[float] = []
    for _ in range(20):
        with timed(spent):
            behaviours.add_many([hash64(label) for label in labels[:HASHED_PER_UNIT]])
    return min(spent)


def use_slipcover() -> None:
    """Have SlipCover see every module of the trees: it works at import, so before torch's."""
    import slipcover
    from slipcover.importer import FileMatcher, ImportManager

    origin = find_spec("torch").origin
    assert origin is not None
    trees = [Path(origin).resolve().parent / tree for tree in TREES]
    sources = [os.fspath(tree) for tree in trees if tree.is_dir()]
    ImportManager(slipcover.Slipcover(source=sources), FileMatcher(sources)).__enter__()


def slipcover_ratio(backend: str) -> float | None:
    """SlipCover's cost in processes of its own; None where torch does not compile under it."""
    spent = []
    for on in (False, True):
        job = {"backend": backend, "units": UNITS[backend], "turns": ["none"], "slipcover": on}
        try:
            spent.append(in_process(**job)["times"]["none"])
        except SystemExit:
            return None
    return spent[1] / spent[0]


# ------------------------------------------------------------------------------------ processes


def work(job: dict[str, Any]) -> dict[str, Any]:
    """One process's share: warm up, take turns, and answer with the fastest unit of each."""
    if job.get("slipcover"):
        use_slipcover()
    unit = make_unit(job["backend"])
    turns = Turns(unit)
    answer: dict[str, Any] = {}
    if job.get("first") is not None:
        first: list[float] = []
        tracer = LineTracer(torch_trees())
        with timed(first):
            if job["first"]:
                tracer.start()
                tracer.begin_run()
            unit()
        tracer.stop()
        answer["first"] = first[0]
    else:
        unit()
    if job["units"]:
        unit()
    for _ in range(job["units"]):
        for turn in job["turns"]:
            getattr(turns, turn)()
    for turn in job.get("after", ()):
        for _ in range(max(2, job["units"] // 2)):
            getattr(turns, turn)()
    if turns.collector is not None:
        turns.collector.stop()
    answer["times"] = {label: min(times) for label, times in turns.times.items()}
    if job.get("campaign"):
        answer["campaign"] = campaign(unit, job["campaign"])
    if job.get("lines"):
        answer["lines"] = lines_differ(unit)
    if job.get("hashing"):
        answer["hashing"] = hashing_seconds()
    return answer


def in_process(**job: Any) -> dict[str, Any]:
    """Runs `work` in a process of its own."""
    result = subprocess.run(
        [sys.executable, __file__, "--job", json.dumps(job)], capture_output=True, text=True
    )
    if result.returncode != 0:
        raise SystemExit(f"{job} failed:\n{result.stderr[-2000:]}")
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer


def measure(backend: str, *, rounds: int, everything: bool) -> list[dict[str, Any]]:
    """`rounds` processes in which the tracers take turns, and as many pairs of first compiles."""
    turns = ["none", "rondo"] if MONITORING else ["none", "floor", "rondo"]
    after = ["fresh"] if MONITORING or everything else []
    if everything:
        turns += ["coverage"] if MONITORING else ["complete", "coverage"]
        after += ["sysmon"] if MONITORING else []
    answers = []
    for number in range(rounds):
        once = number == 0
        job: dict[str, Any] = {"backend": backend, "units": UNITS[backend]}
        answers.append(
            in_process(
                **job,
                turns=turns,
                after=after,
                lines=once and (everything or backend == "aot_eager"),
                campaign=CAMPAIGN if once and backend == "eager" and not MONITORING else 0,
                hashing=once and backend == "eager",
            )
        )
        if everything:
            first = {
                on: in_process(backend=backend, units=0, turns=[], first=on)["first"]
                for on in ((False, True) if number % 2 else (True, False))
            }
            answers.append({"times": {}, "first": first[True] / first[False]})
            if find_spec("slipcover"):
                answers.append({"times": {}, "slipcover": slipcover_ratio(backend)})
            print(f"{backend}: round {number + 1} of {rounds}", file=sys.stderr)
    return answers


# --------------------------------------------------------------------------------------- figures


def summary(answers: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over processes of the ratios within each."""
    ratios: dict[str, list[float]] = {}
    for answer in answers:
        times = answer["times"]
        for label, spent in times.items():
            if label == "startup":
                ratios.setdefault("startup s", []).append(spent)
            elif label != "none":
                ratios.setdefault(label, []).append(spent / times["none"])
        if "steady" in times and "floor" in times:
            ratios.setdefault("rondo/floor", []).append(times["steady"] / times["floor"])
        if "first" in answer:
            ratios.setdefault("first", []).append(answer["first"])
        if answer.get("slipcover"):
            ratios.setdefault("slipcover", []).append(answer["slipcover"])
        if "campaign" in answer:
            ratios.setdefault("campaign", []).append(answer["campaign"])
    found: dict[str, Any] = {label: statistics.median(values) for label, values in ratios.items()}
    found["unit s"] = statistics.median(a["times"]["none"] for a in answers if "none" in a["times"])
    for answer in answers:
        found.update({key: answer[key] for key in ("lines", "hashing") if key in answer})
    return found


def decide(table: dict[str, dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """The figures with a target: the worst over back ends, and the target."""
    verdict: dict[str, tuple[float, float]] = {}
    for label, target in (TARGETS_312 if MONITORING else TARGETS_311).items():
        # A quick run has no first compile of a process; a fresh tracer in a warm one is harsher.
        keys = (label, "fresh") if label == "first" else (label,)
        values = [next((f[k] for k in keys if k in f), None) for f in table.values()]
        known = [value for value in values if value is not None]
        if known:
            verdict[label] = (max(known), target)
    starts = [f["startup s"] for f in table.values() if "startup s" in f]
    if starts:
        verdict["start-up s"] = (max(starts), STARTUP_TARGET)
    hashing = [f["hashing"] / f["unit s"] for f in table.values() if "hashing" in f]
    if hashing:
        verdict["hashing"] = (max(hashing), HASHING_TARGET)
    differences = [
        len(f["lines"]["only_coverage"]) + len(f["lines"]["only_rondo"])
        for f in table.values()
        if "lines" in f
    ]
    if differences:
        verdict["lines that differ"] = (float(sum(differences)), 0.0)
    return verdict


def show(table: dict[str, dict[str, Any]]) -> None:
    labels = ["floor", "steady", "rondo/floor", "fresh", "first", "complete", "coverage", "sysmon"]
    labels = [k for k in [*labels, "slipcover", "campaign"] if any(k in f for f in table.values())]
    print(f"Python {sys.version.split()[0]}; CPU seconds relative to no tracer")
    print(f"{'back end':<12}{'unit':>9}" + "".join(f"{label:>13}" for label in labels))
    for backend, found in table.items():
        cells = "".join(
            f"{found[label]:>13.3f}" if label in found else f"{'-':>13}" for label in labels
        )
        print(f"{backend:<12}{found['unit s'] * 1000:>6.0f} ms" + cells)
    if find_spec("slipcover") and not any("slipcover" in found for found in table.values()):
        print("slipcover: torch.compile fails with modules that it has rewritten")
    for backend, found in table.items():
        if "lines" in found:
            lines = found["lines"]
            print(
                f"{backend}: {lines['rondo']} lines, coverage.py {lines['coverage']}; only there "
                f"{lines['only_coverage'][:5]}, only here {lines['only_rondo'][:5]}"
            )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one process per back end")
    parser.add_argument("--json", action="store_true", help="figures as JSON")
    parser.add_argument("--rounds", type=int, default=5, help="processes per back end")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(work(json.loads(options.job))))
        return 0
    backends = options.backends.split(",")
    rounds = 1 if options.quick else options.rounds
    # Ratios are taken within a process, so a quick run may keep two processors busy.
    with ThreadPoolExecutor(2 if options.quick else 1) as pool:
        measured = pool.map(
            lambda backend: measure(backend, rounds=rounds, everything=not options.quick),
            reversed(backends),
        )
        found = dict(zip(reversed(backends), map(summary, measured), strict=True))
    table = {backend: found[backend] for backend in backends}
    verdict = decide(table)
    holds = all(value <= target for value, target in verdict.values())
    if options.json:
        print(json.dumps({"python": sys.version.split()[0], "table": table, "verdict": verdict}))
    else:
        show(table)
    figures = ", ".join(
        f"{label} {value:.3g} (target {target:g})" for label, (value, target) in verdict.items()
    )
    print(f"{'holds' if holds else 'DOES NOT HOLD'}: {figures}")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
