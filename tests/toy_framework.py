"""A compiler stack in pure Python, small enough to be read, with faults planted in it.

The key insight: everything the campaign does - forking, classing a death, confirming, shortening -
needs a framework that caches, guards and fails, not one that is big. This one traces a chain of
constructs over a list of floats, specialises on every attribute that a construct reads through
`Trace.read`, and retains what it compiled until `reset`. The planted faults:

* `stale_scale` reads its factor behind the trace's back: a stateful bug;
* `batch_mean` burns the batch size into code that is served for every size: a stateful bug;
* `flaky_scale` is stale only in a process that has run something before: never to be reported;
* `crash`, `quit`, `hang` and `hunger` end the process when code is compiled for their flag.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rondo.frameworks.base import Arm, CallEvents, Framework, Program
from rondo.oracle.observation import EXCEPTION, Leaf, Observation
from rondo.sequences.step import Call, Change, Sequence
from rondo.sequences.vocabulary import Dimension, InputSpec, Schema, Vocabulary
from rondo.subjects.target import Architecture, Construct, Target

Values = list[float]
Code = Callable[[Values], Values]

sessions_of_process = 0


@dataclass(frozen=True)
class Guard:
    """Compiled code may be served while `owner.attribute` equals `value`."""

    owner: Any
    attribute: str
    value: object

    def holds(self) -> bool:
        return getattr(self.owner, self.attribute) == self.value


class Trace:
    """Collects the guards of one compilation; `batch` is None once the size is dynamic."""

    def __init__(self, batch: int) -> None:
        self.batch = batch
        self.guards: list[Guard] = []

    def read(self, owner: Any, attribute: str) -> Any:
        value = getattr(owner, attribute)
        self.guards.append(Guard(owner, attribute, value))
        return value


class Part:
    """A construct's object: `run` is the eager truth, `trace` returns compiled code."""

    def __init__(self, features: int) -> None:
        self.factor = 1.0
        self.armed = False

    def run(self, values: Values) -> Values:
        return [value * self.factor for value in values]

    def trace(self, trace: Trace) -> Code:
        factor = trace.read(self, "factor")
        return lambda values: [value * factor for value in values]


class Scale(Part):
    """Guarded as it should be."""


class StaleScale(Part):
    """The factor is read without a guard."""

    def trace(self, trace: Trace) -> Code:
        factor = self.factor
        return lambda values: [value * factor for value in values]


class BatchMean(Part):
    """The mean divides by the size that was seen at compile time."""

    def run(self, values: Values) -> Values:
        mean = sum(values) / len(values)
        return [value - mean for value in values]

    def trace(self, trace: Trace) -> Code:
        batch = trace.batch
        return lambda values: [value - sum(values) / batch for value in values]


class FlakyScale(Part):
    """Stale in a process that has run another sequence before, right in a fresh one."""

    def trace(self, trace: Trace) -> Code:
        if sessions_of_process <= 1:
            return super().trace(trace)
        factor = self.factor
        return lambda values: [value * factor for value in values]


class Armed(Part):
    """Does harm when compiled code is made while it is armed."""

    def run(self, values: Values) -> Values:
        return values

    def trace(self, trace: Trace) -> Code:
        if trace.read(self, "armed"):
            self.harm()
        return lambda values: values

    def harm(self) -> None:
        raise NotImplementedError


class Crash(Armed):
    def harm(self) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)


class Quit(Armed):
    def harm(self) -> None:
        os._exit(3)


class Hang(Armed):
    def harm(self) -> None:
        while True:
            time.sleep(0.01)


class Hunger(Armed):
    def harm(self) -> None:
        eaten = []
        while True:
            eaten.append(bytearray(b"x" * (8 << 20)))
            time.sleep(0.001)


class Mulish(Armed):
    """Harms when run eagerly too: the program is at fault, not the compiler."""

    def run(self, values: Values) -> Values:
        if self.armed:
            os.kill(os.getpid(), signal.SIGABRT)
        return values


def set_factor(part: Part, value: int) -> None:
    """Give the factor another value."""
    part.factor = (0.5, 2.0, 1.0)[value]


def arm(part: Part, value: int) -> None:
    """Make the next compilation harmful."""
    part.armed = True


CHANGES: dict[type[Part], tuple[Callable[[Part, int], None], int]] = {
    Scale: (set_factor, 3),
    StaleScale: (set_factor, 3),
    BatchMean: (set_factor, 3),
    FlakyScale: (set_factor, 3),
    Crash: (arm, 1),
    Quit: (arm, 1),
    Hang: (arm, 1),
    Hunger: (arm, 1),
    Mulish: (arm, 1),
}
NAMES = {
    "scale": Scale,
    "stale_scale": StaleScale,
    "batch_mean": BatchMean,
    "flaky_scale": FlakyScale,
    "crash": Crash,
    "quit": Quit,
    "hang": Hang,
    "hunger": Hunger,
    "mulish": Mulish,
}


def _constructs() -> dict[str, Construct]:
    found = {}
    for name, part in NAMES.items():
        change, values = CHANGES[part]
        construct = Construct(
            name, part, kind="toy", doc=f"{name} of the toy", guarded=part is Scale
        )
        construct.change(values=values)(change)
        found[name] = construct
    return found


CONSTRUCTS = _constructs()
CHAIN = Architecture(
    "chain",
    list,
    kind="architecture",
    doc="every construct after the other",
    schema=Schema((Dimension("batch", (2, 3, 1)),), (InputSpec("x", ("batch",)),)),
    features=1,
)
PROGRAM = Target("program", kind="ambient", doc="the program around the subject")
COMPILER = Target("compiler", kind="ambient", doc="what the compiler retains")


@PROGRAM.change()
def reverse(program: ToyProgram, value: int) -> None:
    """Run the constructs in the other order."""
    program.reversed = not program.reversed


@COMPILER.change()
def forget(program: ToyProgram, value: int) -> None:
    """Drop the newest compiled code."""
    if program.framework.cache:
        program.framework.cache.pop()


@dataclass
class Entry:
    """Compiled code with the guards under which it may be served."""

    program: ToyProgram
    guards: list[Guard]
    code: Code


class ToyProgram(Program):
    """A chain of parts. The batch size is guarded until a second size is seen."""

    def __init__(self, framework: ToyFramework, sequence: Sequence) -> None:
        self.framework = framework
        self.parts = {n: framework.kinds[n](1) for n in sequence.subject.constructs}
        self.reversed = False
        self.batch = 0
        self.sizes_compiled: set[int] = set()
        self.deep = sequence.options.backend == 1

    def order(self) -> list[Part]:
        parts = list(self.parts.values())
        return parts[::-1] if self.reversed else parts

    def call(self, call: Call, *, compiled: bool) -> Observation:
        self.batch = CHAIN.schema.dimensions[0].sizes[call.sizes[0]]
        numbers = random.Random(call.value_seed)
        values = [numbers.choice((1.0, 2.0, 3.0, 4.0)) for _ in range(self.batch)]
        try:
            if compiled:
                values = self.framework.serve(self)(values)
            else:
                for part in self.order():
                    values = part.run(values)
        except ZeroDivisionError as error:
            name = type(error).__name__
            return Observation({EXCEPTION: Leaf("fact", text=name)}, False, name, str(error))
        return Observation({"output": Leaf("tensor", "float64", np.array(values))})

    def change(self, change: Change) -> Observation | None:
        if change.target == "program":
            PROGRAM.actions[change.action].apply(self, change.value)
        elif change.target in self.parts:
            action = self.framework.constructs[change.target].actions[change.action]
            action.apply(self.parts[change.target], change.value)
        return None

    def compiler_change(self, change: Change) -> Observation | None:
        COMPILER.actions[change.action].apply(self, change.value)
        return None


class ToyFramework(Framework):
    """The compiler: a list of entries, newest first to be asked."""

    name: ClassVar[str] = "toy"
    kinds: ClassVar[Mapping[str, type[Part]]] = NAMES
    constructs: ClassVar[Mapping[str, Construct]] = CONSTRUCTS
    """Both by the name of the construct; a toy with other faults names its own."""

    def __init__(self) -> None:
        self.cache: list[Entry] = []
        self.labels: list[str] = []
        self.compiled = False
        self.compilations = 0

    def vocabulary(self) -> Vocabulary:
        return Vocabulary(
            framework=self.name,
            architectures=(CHAIN.architecture_spec(),),
            constructs=tuple(construct.spec() for construct in self.constructs.values()),
            ambient=(PROGRAM.spec(), COMPILER.spec()),
            backends=("shallow", "deep"),
            limits={"constructs": 3, "steps": 16},
        )

    def warm(self) -> None:
        assert sessions_of_process == 0

    @contextmanager
    def session(self, sequence: Sequence) -> Iterator[None]:
        global sessions_of_process
        sessions_of_process += 1
        self.reset()
        yield
        self.reset()

    @contextmanager
    def arm(self, sequence: Sequence, arm: Arm) -> Iterator[Program]:
        yield ToyProgram(self, sequence)

    def reset(self) -> None:
        self.cache.clear()

    def begin_watch(self) -> None:
        self.labels, self.compiled, self.compilations = [], False, 0

    def end_watch(self) -> CallEvents:
        return CallEvents(tuple(self.labels), self.compiled, self.compilations)

    def environment(self) -> dict[str, str]:
        return {"toy": "1"}

    def serve(self, program: ToyProgram) -> Code:
        """Return code whose guards hold, compiling when there is none."""
        self.compiled = True
        entries = [entry for entry in self.cache if entry.program is program]
        for entry in reversed(entries):
            if all(guard.holds() for guard in entry.guards):
                self.labels.append("hit")
                return entry.code
        failing = sorted({g.attribute for e in entries for g in e.guards if not g.holds()})
        self.labels.append(f"recompile: {', '.join(failing)}" if entries else "compile")
        return self.compile(program)

    def compile(self, program: ToyProgram) -> Code:
        self.compilations += 1
        trace = Trace(program.batch)
        trace.read(program, "reversed")
        program.sizes_compiled.add(program.batch)
        if len(program.sizes_compiled) < 3:
            trace.read(program, "batch")
        else:
            self.labels.append("dynamic batch")
        codes = [part.trace(trace) for part in program.order()]
        self.labels.append(f"{'deep' if program.deep else 'shallow'} code of {len(codes)} parts")
        self.labels.append(f"guards: {len(trace.guards)}")

        def code(values: Values) -> Values:
            for each in codes:
                values = each(values)
            return values

        self.cache.append(Entry(program, trace.guards, code))
        return code
