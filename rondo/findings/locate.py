"""Locating: which retained layer is guilty, which step established it, what no guard mentions.

The key insight: layers nest, and a sequence can drop any of them between two of its steps. So a
layer is found by experiments that are sequences themselves, run like any other: the same steps with
a drop in front of the exposing call. The first drop that cures, from the innermost layer outwards,
names what was wrong; everything above it was left as it was.

Compiled code is the last layer and holds most that can go wrong, so there its own evidence decides:
whether the guards of the entry that was served hold, what changed since it was compiled, on which
back end the difference first shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rondo.findings.bucket import akin
from rondo.frameworks.base import Layer
from rondo.oracle.result import Alarm, Identity, Result, Verdict
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import OPTION_CHOICES, Call, Change, Sequence, describe_step
from rondo.sequences.vocabulary import COMPILER, Vocabulary

Execute = Callable[[bytes], Result | None]
"""Runs bytes in a fresh process; None when nothing can be said of it."""

Inspect = Callable[[bytes, int], dict[str, Any]]
"""Asks a fresh process what the retained call at a position relies on; empty when it cannot say."""

CURED, SHOWN, UNCLEAR = "cured", "still shows", "unclear"

CODE = "compiled code"
LEARNED = "automatic-dynamic"
GUARDS = "dynamo-guards"
FRAMES = "dynamo-frame cache"
AUTOGRAD = "autograd"
CODEGEN = "inductor-codegen"
RANDOM = "rng"
PROCESS = "process state"
UNKNOWN = "unknown"
TRACING = "dynamo tracing"

BELOW = {"aot_eager": AUTOGRAD, "inductor": CODEGEN}
"""Back end that shows a difference first -> what it adds to the one before it."""

GUARDABLE = ("state", "input", "mode")
"""Kinds of change that a guard can be about; values of tensors and random states are none."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One experiment: what was dropped in front of the exposing call, and what came of it."""

    dropped: tuple[str, ...]
    outcome: str


@dataclass(frozen=True, slots=True)
class Touched:
    """Something that changed between the establishing and the exposing call."""

    path: str
    kind: str
    before: str
    after: str
    guards: tuple[str, ...] = ()
    """Guards of the stale entry that mention it. They hold all the same, or it were not served."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a framework says of the entry that served the exposing call."""

    frame: str = ""
    entry: str = ""
    compiled_at: int = -1
    since: int = -1
    held: bool = True
    count: int = 0
    guards: tuple[tuple[str, str], ...] = ()
    broken: tuple[str, ...] = ()
    """Relations that the entry's trace relied on and that do not hold at the exposing call."""
    changed: tuple[Touched, ...] = ()
    leaked: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    drifted: tuple[str, ...] = ()
    errors: tuple[float, ...] = ()
    """Worst errors of eager and retained against float64, and whether the framework's own
    comparison calls the two equal; empty where no floats differ."""

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Inspection:
        """Return what an adapter's plain data say; unknown keys are left out."""
        if not data:
            return cls()
        changed = tuple(
            Touched(c["path"], c["kind"], c["before"], c["after"], tuple(c["guards"]))
            for c in data["changed"]
        )
        guards = tuple((kind, text) for kind, text in data["guards"])
        plain: dict[str, Any] = {
            name: data[name] for name in ("frame", "entry", "compiled_at", "since", "held", "count")
        }
        many: dict[str, Any] = {
            name: tuple(data[name]) for name in ("broken", "leaked", "drawn", "drifted", "errors")
        }
        return cls(guards=guards, changed=changed, **plain, **many)


@dataclass(frozen=True, slots=True)
class Located:
    """Where a finding's fault lies."""

    layer: str
    why: str
    cure: tuple[str, ...]
    """The smallest drop that cures; empty when only an eager past does, or nothing."""
    backend: str
    """The first back end that shows it."""
    ladder: tuple[tuple[str, str], ...]
    trials: tuple[Trial, ...]
    establishing: int | None
    exposing: int
    between: tuple[str, ...]
    """The steps from the establishing to the exposing one, both included."""
    inspection: Inspection = field(default_factory=Inspection)
    settings: tuple[tuple[str, str], ...] = ()
    """Outcomes under other compile options, asked for reports only."""

    @property
    def served(self) -> bool:
        """Whether the exposing call was served by an entry that an earlier call had compiled."""
        return 0 <= self.inspection.compiled_at < self.exposing

    @property
    def unguarded(self) -> tuple[Touched, ...]:
        """What changed and no guard of the served entry mentions; nothing where none served."""
        return tuple(
            touched
            for touched in self.inspection.changed
            if self.served and not touched.guards and touched.kind in GUARDABLE
        )

    def telling_guards(self, most: int) -> tuple[tuple[str, str], ...]:
        """Return up to `most` of the entry's guards, those nearest to what changed first.

        A guard that is missing shows best beside its neighbours: what the entry does check of the
        object that changed. Of guards that are equally near the last are the ones on leaves.
        """
        guards = self.inspection.guards
        paths = [touched.path for touched in self.inspection.changed]
        near = [max((_shared(path, text) for path in paths), default=0) for _, text in guards]
        order = sorted(range(len(guards)), key=lambda at: (-near[at], -at))[:most]
        return tuple(guards[at] for at in sorted(order, key=lambda at: (-near[at], at)))


def _shared(path: str, text: str) -> int:
    """Return how many of the first names of `path` a guard's text mentions together."""
    names = path.split(".")
    for count in range(len(names), 0, -1):
        start = re.escape(".".join(names[:count]))
        if re.search(rf"(?<![\w.]){start}(?!\w)", text):
            return count
    return 0


class Locator:
    """Runs the experiments for one alarm."""

    def __init__(
        self,
        data: bytes,
        alarm: Alarm,
        execute: Execute,
        inspect: Inspect,
        vocabulary: Vocabulary,
        layers: tuple[Layer, ...],
        *,
        thorough: bool = False,
    ) -> None:
        self.thorough = thorough
        whole = decode(data, vocabulary)
        self.sequence = whole.with_steps(whole.steps[: alarm.step + 1])
        self.alarm = alarm
        self.execute = execute
        self.inspect = inspect
        self.vocabulary = vocabulary
        self.layers = layers
        self.identity: Identity = alarm.identity
        self.stateful = alarm.identity.verdict != Verdict.STATELESS.value

    def run(self) -> Located:
        """Return where the fault lies."""
        ladder = tuple(self._ladder())
        first = next(
            (name for name, outcome in ladder if outcome == SHOWN),
            self.vocabulary.backends[self.sequence.options.backend],
        )
        sequence = self._on(first)
        trials: list[Trial] = []
        inspection = Inspection()
        if self.stateful:
            trials = list(self._trials(sequence))
            inspection = Inspection.from_data(self.inspect(encode(sequence), self.alarm.step))
        layer, why, cure = self._conclude(sequence, first, trials, inspection)
        establishing = self._establishing(inspection)
        return Located(
            layer=layer,
            why=why,
            cure=cure,
            backend=first,
            ladder=ladder,
            trials=tuple(trials),
            establishing=establishing,
            exposing=self.alarm.step,
            between=self._between(establishing),
            inspection=inspection,
            settings=tuple(self._settings(sequence)) if self.thorough else (),
        )

    # ------------------------------------------------------------------------------ experiments

    def _on(self, backend: str) -> Sequence:
        number = self.vocabulary.backends.index(backend)
        return replace(self.sequence, options=replace(self.sequence.options, backend=number))

    def _ladder(self) -> Iterator[tuple[str, str]]:
        """Yield the outcome on each back end, from the cheapest to the sequence's own or to all."""
        last = len(self.vocabulary.backends) if self.thorough else self.sequence.options.backend + 1
        for name in self.vocabulary.backends[:last]:
            yield name, self._outcome(self._on(name), self.alarm.step)

    def _settings(self, sequence: Sequence) -> Iterator[tuple[str, str]]:
        """Yield the outcome with each compile option at each of its other choices."""
        options = sequence.options
        for name, choices in OPTION_CHOICES.items():
            for number, choice in enumerate(choices):
                if number != getattr(options, name):
                    other = replace(sequence, options=replace(options, **{name: number}))
                    yield f"{name}={choice}", self._outcome(other, self.alarm.step)
        last = len(self.vocabulary.backends) - 1
        for number, mode in enumerate(self.vocabulary.modes):
            # Modes belong to the dearest back end.
            if options.backend == last and number != options.mode:
                other = replace(sequence, options=replace(options, mode=number))
                yield f"mode={mode}", self._outcome(other, self.alarm.step)

    def _outcome(self, sequence: Sequence, position: int) -> str:
        """Run `sequence`; say whether its call at `position` still shows the same difference."""
        result = self.execute(encode(sequence))
        if result is None:
            return UNCLEAR
        for alarm in result.alarms:
            if alarm.step == position and akin(alarm.identity, self.identity):
                return SHOWN
        if result.steps and position < len(result.steps):
            return CURED if result.steps[position].verdict == Verdict.AGREE.value else UNCLEAR
        return CURED if not result.alarms else UNCLEAR

    def _trials(self, sequence: Sequence) -> Iterator[Trial]:
        """Yield each layer dropped by itself, then each together with the compiled code."""
        kept = sequence.options.choice("cache") == "disk"
        possible = [layer for layer in self.layers if kept or not layer.disk]
        code = next((layer for layer in possible if layer.name == CODE), None)
        cured = False
        for layer in possible:
            trial = self._trial(sequence, layer)
            cured = cured or trial.outcome == CURED
            yield trial
        if cured or code is None:
            return
        for layer in possible:
            if layer is not code:
                yield self._trial(sequence, code, layer)
        yield self._trial(sequence, *possible)

    def _trial(self, sequence: Sequence, *layers: Layer) -> Trial:
        drops = tuple(drop for layer in layers for drop in self._drops(layer))
        steps = (*sequence.steps[:-1], *drops, sequence.steps[-1])
        outcome = self._outcome(sequence.with_steps(steps), self.alarm.step + len(drops))
        return Trial(tuple(layer.name for layer in layers), outcome)

    def _drops(self, layer: Layer) -> tuple[Change, ...]:
        actions = [each.name for each in self.vocabulary.targets_by_name[COMPILER].actions]
        return tuple(Change(COMPILER, actions.index(name), value) for name, value in layer.drop)

    def _never_learns(self, sequence: Sequence) -> bool:
        """Whether the difference goes away where nothing is learned of sizes and numbers."""
        layer = next((layer for layer in self.layers if layer.name == LEARNED), None)
        if layer is None:
            return False
        drops = self._drops(layer)
        steps: list[Call | Change] = []
        for step in sequence.steps:
            steps += [*drops, step] if isinstance(step, Call) else [step]
        return self._outcome(sequence.with_steps(tuple(steps)), len(steps) - 1) == CURED

    # ------------------------------------------------------------------------------ conclusions

    def _conclude(
        self, sequence: Sequence, first: str, trials: list[Trial], seen: Inspection
    ) -> tuple[str, str, tuple[str, ...]]:
        if not self.stateful:
            layer = BELOW.get(first, TRACING)
            return layer, f"wrong without any history; {first} shows it first", ()
        if seen.leaked:
            name = AUTOGRAD if set(seen.leaked) & {"grad_mode", "inference_mode"} else PROCESS
            return name, f"an earlier compiled call left {', '.join(seen.leaked)} changed", ()
        cure = next((trial.dropped for trial in trials if trial.outcome == CURED), None)
        if cure is None:
            if seen.drifted:
                return RANDOM, self._drift(seen), ()
            return PROCESS, "no drop of a layer cures it; only an eager past does", ()
        inner = [name for name in cure if name != CODE]
        if inner and len(cure) < len(self.layers):
            return inner[-1], f"dropping {' and '.join(cure)} cures it, and nothing less does", cure
        return (*self._of_compiled_code(sequence, first, seen), cure)

    def _of_compiled_code(
        self, sequence: Sequence, first: str, seen: Inspection
    ) -> tuple[str, str]:
        """Return what about compiled code is wrong: its guards, its serving or itself."""
        served = 0 <= seen.compiled_at < self.alarm.step
        changes = [touched for touched in seen.changed if touched.kind in GUARDABLE]
        bare = [touched for touched in changes if not touched.guards]
        if served and not (seen.held and seen.count):
            return FRAMES, "an entry was served although its guards do not hold"
        if served and seen.broken:
            relied = ", ".join(seen.broken)
            return GUARDS, f"its trace relied on {relied}; that does not hold, and has no guard"
        if BELOW.get(first) == CODEGEN:
            return CODEGEN, "only Inductor shows it, and compiled code is what it retains"
        if served and changes:
            if self._never_learns(sequence):
                return LEARNED, "it is right as long as no size or number was learned to vary"
            if bare:
                return GUARDS, f"no guard mentions {', '.join(t.path for t in bare)}"
            return GUARDS, f"guards on {', '.join(t.path for t in changes)} hold in spite of it"
        if seen.drifted or seen.drawn or any(t.kind == "random state" for t in seen.changed):
            return RANDOM, self._drift(seen)
        if first in BELOW:
            return BELOW[first], f"{first} shows it first, and nothing changed that has a guard"
        if served:
            return FRAMES, "an entry was served again and nothing changed that has a guard"
        if seen.compiled_at < 0:
            return (
                UNKNOWN,
                "no compiled code served the exposing call; dropping it cures",
            )
        return UNKNOWN, "the exposing call was compiled anew, and dropping compiled code cures it"

    def _drift(self, seen: Inspection) -> str:
        names = [f"{name}'s generator" for name in seen.drifted or seen.drawn]
        names += [t.path for t in seen.changed if t.kind == "random state"]
        return f"random state is not advanced as in eager ({', '.join(dict.fromkeys(names))})"

    def _establishing(self, seen: Inspection) -> int | None:
        """Return the step that established what was wrong: where the served entry was compiled."""
        if not self.stateful:
            return None
        if 0 <= seen.compiled_at < self.alarm.step:
            return seen.compiled_at
        calls = [number for number, _ in self.sequence.calls() if number < self.alarm.step]
        return calls[-1] if calls else None

    def _between(self, establishing: int | None) -> tuple[str, ...]:
        start = self.alarm.step if establishing is None else establishing
        return tuple(
            f"{number}  {describe_step(step, self.sequence, self.vocabulary)}"
            for number, step in enumerate(self.sequence.steps)
            if number >= start
        )


def locate(
    data: bytes,
    alarm: Alarm,
    execute: Execute,
    inspect: Inspect,
    vocabulary: Vocabulary,
    layers: tuple[Layer, ...],
    *,
    thorough: bool = False,
) -> Located:
    """Return where the fault of `alarm` in the sequence `data` lies.

    With `thorough`, dearer back ends and other options are tried too, as reports want them.
    """
    return Locator(data, alarm, execute, inspect, vocabulary, layers, thorough=thorough).run()
