"""What a step, and a whole sequence, looks like when nothing is known: sampling with densities.

The key insight: everything that is sampled here can also be weighed here. `log_density` and
`log_prior` are exact, so that a proposal drawn from these distributions has an exact Hastings
correction, and the same distribution serves as the reference measure of the Markov chain and as
the `random` baseline (the chain at infinite temperature *is* the baseline).

A step is fresh or an echo. A fresh call takes the usual choice for most operands. An echo repeats a
step of the same sequence, or repeats it with one operand drawn again: `call, change, the same call`
and `call, the same call with another batch` are what stateful bugs are made of, and independent
draws of twelve operands would practically never write them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from operator import attrgetter, getitem, ne
from random import Random
from typing import TypeAlias

from rondo.sequences.step import (
    CALL_CHOICES,
    OPTION_CHOICES,
    Call,
    Change,
    Options,
    Sequence,
    Step,
    SubjectSpec,
    targets_of,
)
from rondo.sequences.vocabulary import (
    SMALLEST,
    ArchitectureSpec,
    InputSpec,
    TargetSpec,
    Vocabulary,
)

USUAL = {
    "dtype": 0.9,
    "layout": 0.9,
    "alias": 0.75,
    "values": 0.85,
    "grad": 0.85,
    "autocast": 0.95,
    "backward": 0.75,
    "inputs_grad": 0.6,
    "thread": 0.98,
}
"""Probability of an operand's usual choice; the others share the rest. Not named: uniform."""

USUAL_OPTION = {"mode": 0.85, "dynamic": 0.7, "fullgraph": 0.9, "cache": 0.75}
"""The same for compile options. `disk` caches are dear, yet one live report in three needs them."""

CACHE_OF_DEAREST = 0.5
"""Usual choice of `cache` on the dearest back end: what is kept on disk is mostly its kernels and
graphs."""

CALLS = 0.3
"""Share of calls among fresh steps. A fresh call mostly costs a compilation, an echo nothing."""

ECHO = 0.35
"""Share of steps that echo an earlier one. A stale entry is served only to a call that its guards
let through, so most faults need a call, a change, and very nearly the same call."""

ECHOED_CALLS = 0.7
"""Share of echoes that look for a call to echo; the others echo any step."""

POKE = 0.7
"""How often a change is followed by an exact repetition of an earlier call, as in a program that
changes something and goes on. A step in between may compile anew and hide a stale entry."""

EXACT = 0.7
"""Share of echoes that change nothing; the others draw one operand again."""

INPUT_OPERANDS = {"number": "number", "integer": "integer"}
"""Operands that mean nothing unless the subject has an input of this kind."""

IDLE_USUAL = 0.99
"""Usual choice of an operand that means nothing here; below 1, so that no sequence has weight 0."""

OWN_WEIGHT = 0.7
AMBIENT_WEIGHTS = {"program": 0.2, "compiler": 0.1}
"""Who a change is made to: the subject's own targets together, and each ambient target."""

CONSTRUCT_COUNTS = (1, 7, 6, 4, 2)
"""Weight of a subject with 0, 1, 2 ... constructs; more than listed weigh 1."""

SMALLEST_SHARE = 0.75
"""Share of the architecture that does nothing. On torch a sequence over it costs a fifth of one
over a real architecture, and most bugs hang on constructs alone."""

CACHED = "compile-cache key"
"""The kind of the constructs that show what they are there for on the dearest back end alone."""

CACHED_WEIGHT = 8.0
"""How much likelier each of those is there. The cheaper ones, which get most executions, see to the
others; six of torch's constructs, five of the public record's thirteen bugs, are of that kind."""

MODELS = 2048
"""Subjects whose models are kept: chains come by thousands on paper and stay with few."""

SEEDS = 256
USUAL_SEED = 0.75
LENGTH_DECAY = 0.86
"""A sequence has n steps with probability proportional to n * LENGTH_DECAY ** n.

That is 10.6 on average of 24 at most."""


@cache
def skewed(count: int, usual: float | None) -> tuple[float, ...]:
    """Return `count` probabilities: `usual` for the first, the rest shared; None: uniform."""
    if usual is None or count == 1:
        return (1 / count,) * count
    return (usual, *((1 - usual) / (count - 1),) * (count - 1))


def draw(rng: Random, probabilities: Many[float]) -> int:
    """Return an index, drawn with the given weights."""
    return rng.choices(range(len(probabilities)), probabilities)[0]


def draw_from(rng: Random, probabilities: Mapping[str, float]) -> str:
    """Return a key, drawn with the weights that are the values."""
    return rng.choices(tuple(probabilities), tuple(probabilities.values()))[0]


_operands_of = attrgetter(*CALL_CHOICES)

Row: TypeAlias = tuple[int, ...] | None
"""The slots of a call; None for a change."""


def slots_of(call: Call) -> tuple[int, ...]:
    """Return a call as one row of indexes: its operands, then its sizes."""
    operands: tuple[int, ...] = _operands_of(call)
    return operands + call.sizes


def rows_of(steps: Iterable[Step]) -> list[Row]:
    """Return the row of each step. The chains weigh hundreds of sequences for each that runs, so
    rows are made once for a sequence, not once for each pair of its steps.
    """
    return [slots_of(step) if isinstance(step, Call) else None for step in steps]


def call_of(slots: Many[int]) -> Call:
    """Return the call that `slots_of` turned into `slots`."""
    operands = dict(zip(CALL_CHOICES, slots, strict=False))
    return Call(**operands, sizes=tuple(slots[len(CALL_CHOICES) :]))


def action_log_density(target: TargetSpec, change: Change) -> float:
    """Return the log-probability of `change` among the changes to `target`: action, then value."""
    return -math.log(len(target.actions) * target.actions[change.action].values)


@cache
def changes_to(target: TargetSpec) -> tuple[Change, ...]:
    """Return every change that can be made to `target`."""
    return tuple(
        Change(target.name, number, value)
        for number, action in enumerate(target.actions)
        for value in range(action.values)
    )


def sample_action(rng: Random, target: TargetSpec) -> Change:
    """Return a change to `target`: its action uniform, then its value uniform."""
    action = rng.randrange(len(target.actions))
    return Change(target.name, action, rng.randrange(target.actions[action].values))


@dataclass(frozen=True, slots=True)
class SubjectModel:
    """What a subject lets steps say, with probabilities.

    `slots` holds one row of probabilities per operand and dimension of a call, `live` the slots
    that have a choice and a meaning, `targets` what changes can be made to, by `weights`.
    """

    slots: tuple[tuple[float, ...], ...]
    live: tuple[int, ...]
    targets: dict[str, TargetSpec]
    weights: dict[str, float]


class StepDistribution:
    """The distribution of one step over a subject, given steps that it may echo.

    A step echoes one of `others` (if there are any) with probability `echo`; a fresh step is a call
    with probability `calls`, otherwise a change.
    """

    def __init__(self, vocabulary: Vocabulary, *, calls: float = CALLS, echo: float = ECHO) -> None:
        self.vocabulary = vocabulary
        self.calls = calls
        self.echo = echo
        self.poke = POKE if echo else 0.0
        self._model = lru_cache(MODELS)(self._build_model)

    def model(self, subject: SubjectSpec) -> SubjectModel:
        """Return what `subject` lets steps say."""
        return self._model(subject if not subject.seed else replace(subject, seed=0))

    def _build_model(self, subject: SubjectSpec) -> SubjectModel:
        vocabulary = self.vocabulary
        architecture = vocabulary.architectures_by_name[subject.architecture]
        kinds = {spec.kind for spec in _inputs(architecture, subject, vocabulary)}
        idle = {name for name, kind in INPUT_OPERANDS.items() if kind not in kinds}
        slots = [
            skewed(len(table), IDLE_USUAL if name in idle else USUAL.get(name))
            for name, table in CALL_CHOICES.items()
        ]
        live = [
            number
            for number, name in enumerate(CALL_CHOICES)
            if len(slots[number]) > 1 and name not in idle
        ]
        for dimension in architecture.schema.dimensions:
            if len(dimension.sizes) > 1:
                live.append(len(slots))
            slots.append(skewed(len(dimension.sizes), None))
        targets = {target.name: target for target in targets_of(subject, vocabulary)}
        return SubjectModel(
            tuple(slots),
            tuple(live),
            targets,
            _target_weights(targets, vocabulary),
        )

    # ---------------------------------------------------------------------------------- sampling

    def sample(self, rng: Random, subject: SubjectSpec, others: Many[Step] = ()) -> Step:
        """Return a step over `subject`, an echo of one of `others` or a fresh one."""
        model = self.model(subject)
        repeatable = self._repeatable(others)
        if repeatable and draw(rng, (1 - self.poke, self.poke)):
            return repeatable[rng.randrange(len(repeatable))]
        if others and draw(rng, (1 - self.echo, self.echo)):
            return self._sample_echo(rng, model, self._sample_other(rng, others))
        if model.targets and not draw(rng, (1 - self.calls, self.calls)):
            return self.sample_change(rng, subject)
        return self.sample_call(rng, subject)

    def sample_call(self, rng: Random, subject: SubjectSpec) -> Call:
        """Return a fresh call."""
        return call_of([draw(rng, row) for row in self.model(subject).slots])

    def sample_change(self, rng: Random, subject: SubjectSpec) -> Change:
        """Return a fresh change: its target by weight, then action and value uniform."""
        model = self.model(subject)
        name = tuple(model.weights)[draw(rng, tuple(model.weights.values()))]
        return sample_action(rng, model.targets[name])

    @staticmethod
    def _repeatable(others: Many[Step]) -> list[Step]:
        """Return the calls that may be repeated exactly: some, if the step before is a change."""
        if not others or isinstance(others[-1], Call):
            return []
        return [step for step in others if isinstance(step, Call)]

    def _sample_other(self, rng: Random, others: Many[Step]) -> Step:
        """Return the step to echo: mostly a call, if there is one."""
        calls = [step for step in others if isinstance(step, Call)]
        pool = calls if calls and draw(rng, (1 - ECHOED_CALLS, ECHOED_CALLS)) else others
        return pool[rng.randrange(len(pool))]

    def _sample_echo(self, rng: Random, model: SubjectModel, step: Step) -> Step:
        if draw(rng, (1 - EXACT, EXACT)):
            return step
        if isinstance(step, Change):
            values = model.targets[step.target].actions[step.action].values
            return Change(step.target, step.action, rng.randrange(values))
        slots = list(slots_of(step))
        slot = rng.randrange(len(slots))
        slots[slot] = draw(rng, model.slots[slot])
        return call_of(slots)

    # ----------------------------------------------------------------------------------- density

    def log_density(self, step: Step, subject: SubjectSpec, others: Many[Step] = ()) -> float:
        """Return the exact log-probability that `sample` returns `step`."""
        (row,) = rows_of((step,))
        return self._log_density(self.model(subject), step, row, others, rows_of(others))

    def _log_density(
        self, model: SubjectModel, step: Step, row: Row, others: Many[Step], rows: list[Row]
    ) -> float:
        """Return the same, given the rows of the steps."""
        density = self._fresh_density(model, step, row)
        if others:
            echoes = self._mean_echo_density(model, step, row, others, rows)
            density = (1 - self.echo) * density + self.echo * echoes
            calls = len(rows) - rows.count(None)
            if calls and rows[-1] is None:
                share = rows.count(row) / calls if row is not None else 0.0
                density = (1 - self.poke) * density + self.poke * share
        return math.log(density) if density else -math.inf

    def call_probability(self, subject: SubjectSpec, others: Many[Step] = ()) -> float:
        """Return the probability that `sample` returns a call."""
        fresh = self.calls if self.model(subject).targets else 1.0
        if not others:
            return fresh
        share = sum(isinstance(step, Call) for step in others) / len(others)
        if share:
            share = ECHOED_CALLS + (1 - ECHOED_CALLS) * share
        usual = (1 - self.echo) * fresh + self.echo * share
        return (1 - self.poke) * usual + self.poke if self._repeatable(others) else usual

    def _fresh_density(self, model: SubjectModel, step: Step, row: Row) -> float:
        if isinstance(step, Change):
            target = model.targets.get(step.target)
            if target is None:
                return 0.0
            weight = model.weights[step.target] * math.exp(action_log_density(target, step))
            return (1 - self.calls) * weight
        if row is None or len(row) != len(model.slots):
            return 0.0
        return math.prod(map(getitem, model.slots, row)) * (self.calls if model.targets else 1.0)

    @staticmethod
    def _mean_echo_density(
        model: SubjectModel, step: Step, row: Row, others: Many[Step], rows: list[Row]
    ) -> float:
        """Return the density of an echo of one of `others`, as `_sample_other` picks it."""
        calls = len(rows) - rows.count(None)
        if isinstance(step, Change):
            total = sum(_change_echo_density(model, step, other) for other in others)
            share = 1 - ECHOED_CALLS if calls else 1.0
            return share * total / len(others)
        if row is None or not calls:
            return 0.0
        total = sum(_call_echo_density(model, row, other) for other in rows if other is not None)
        return ECHOED_CALLS * total / calls + (1 - ECHOED_CALLS) * total / len(others)


def _change_echo_density(model: SubjectModel, change: Change, other: Step) -> float:
    """Return the probability that an echo of `other` is `change`."""
    if not isinstance(other, Change) or change.target not in model.targets:
        return 0.0
    if (change.target, change.action) != (other.target, other.action):
        return 0.0
    values = model.targets[change.target].actions[change.action].values
    return EXACT * (change == other) + (1 - EXACT) / values


def _call_echo_density(model: SubjectModel, row: tuple[int, ...], other: tuple[int, ...]) -> float:
    """Return the probability that an echo of the call `other` is the call `row`, as slots."""
    if row == other:
        return EXACT + (1 - EXACT) * sum(map(getitem, model.slots, row)) / len(row)
    if len(row) != len(other):
        return 0.0
    differing = list(map(ne, row, other))
    if sum(differing) > 1:
        return 0.0
    slot = differing.index(True)
    return (1 - EXACT) * model.slots[slot][row[slot]] / len(row)


def _architecture_shares(vocabulary: Vocabulary) -> dict[str, float]:
    """Return each architecture's probability: the smallest has its share, the others theirs."""
    names = [architecture.name for architecture in vocabulary.architectures]
    if SMALLEST not in names or len(names) == 1:
        return dict.fromkeys(names, 1 / len(names))
    other = (1 - SMALLEST_SHARE) / (len(names) - 1)
    return {name: SMALLEST_SHARE if name == SMALLEST else other for name in names}


def _inputs(
    architecture: ArchitectureSpec, subject: SubjectSpec, vocabulary: Vocabulary
) -> list[InputSpec]:
    own = [spec for name in subject.constructs for spec in vocabulary.targets_by_name[name].inputs]
    return [*architecture.schema.inputs, *own]


def _target_weights(targets: dict[str, TargetSpec], vocabulary: Vocabulary) -> dict[str, float]:
    """Return the probability of each target of a change; they sum to one."""
    ambient = {target.name for target in vocabulary.ambient}
    own = max(1, len(targets.keys() - ambient))
    raw = {
        name: AMBIENT_WEIGHTS.get(name, 0.1) if name in ambient else OWN_WEIGHT / own
        for name in targets
    }
    total = sum(raw.values())
    return {name: weight / total for name, weight in raw.items()}


class SequenceDistribution(StepDistribution):
    """The distribution of a whole sequence: subject, compile options, length, then step after step.

    Each step may echo those before it, and the last one is a call: a change that nothing looks at
    afterwards is wasted. `log_prior` weighs any sequence; it is -inf exactly for those that
    `sample_sequence` never returns. The back end is given, not drawn: it belongs to the scheduling
    of tiers.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        max_length: int | None = None,
        calls: float = CALLS,
        echo: float = ECHO,
    ) -> None:
        super().__init__(vocabulary, calls=calls, echo=echo)
        limit = vocabulary.limits["steps"]
        self.max_length = limit if max_length is None else min(max_length, limit)
        weights = [n * LENGTH_DECAY**n for n in range(1, self.max_length + 1)]
        self._lengths = tuple(weight / sum(weights) for weight in weights)
        most = min(vocabulary.limits["constructs"], len(vocabulary.constructs))
        counts = [CONSTRUCT_COUNTS[n] if n < len(CONSTRUCT_COUNTS) else 1 for n in range(most + 1)]
        self._counts = tuple(count / sum(counts) for count in counts)
        self._options = {
            "mode": skewed(len(vocabulary.modes), USUAL_OPTION["mode"]),
            **{
                name: skewed(len(table), USUAL_OPTION.get(name))
                for name, table in OPTION_CHOICES.items()
            },
        }
        self._options_of_dearest = {
            **self._options,
            "cache": skewed(len(OPTION_CHOICES["cache"]), CACHE_OF_DEAREST),
        }
        self._constructs = {construct.name: 1.0 for construct in vocabulary.constructs}
        self._constructs_of_dearest = {
            construct.name: CACHED_WEIGHT if construct.kind == CACHED else 1.0
            for construct in vocabulary.constructs
        }
        self._seeds = skewed(SEEDS, USUAL_SEED)
        self._architectures = _architecture_shares(vocabulary)

    # ---------------------------------------------------------------------------------- sampling

    def sample_subject(self, rng: Random, backend: int = 0) -> SubjectSpec:
        """Return a subject: an architecture, a few constructs in any order, mostly seed 0."""
        architecture = draw_from(rng, self._architectures)
        left, constructs = dict(self._weights_on(backend)), []
        for _ in range(draw(rng, self._counts)):
            constructs.append(draw_from(rng, left))
            del left[constructs[-1]]
        return SubjectSpec(architecture, tuple(constructs), draw(rng, self._seeds))

    def _weights_on(self, backend: int) -> Mapping[str, float]:
        """Return how likely each construct is to be drawn next, given the back end."""
        return self._constructs_of_dearest if self.is_dearest(backend) else self._constructs

    def is_dearest(self, backend: int) -> bool:
        """Whether `backend` is the last of several."""
        return backend == len(self.vocabulary.backends) - 1 > 0

    def sample_options(self, rng: Random, *, backends: Many[int]) -> Options:
        """Return compile options on one of `backends`, each option mostly at its usual choice."""
        backend = backends[rng.randrange(len(backends))]
        drawn = {name: draw(rng, row) for name, row in self._rows(backend).items()}
        return Options(backend=backend, **drawn)

    def _rows(self, backend: int) -> Mapping[str, tuple[float, ...]]:
        """Return the probabilities of each option's choices, given the back end."""
        return self._options_of_dearest if self.is_dearest(backend) else self._options

    def sample_length(self, rng: Random) -> int:
        """Return a number of steps."""
        return 1 + draw(rng, self._lengths)

    def sample_sequence(
        self, rng: Random, length: int | None = None, *, backends: Many[int] = (0,)
    ) -> Sequence:
        """Return a sequence of `length` steps (default: drawn) that ends with a call."""
        count = self.sample_length(rng) if length is None else length
        options = self.sample_options(rng, backends=backends)
        subject = self.sample_subject(rng, options.backend)
        steps: list[Step] = []
        for _ in range(count - 1):
            steps.append(self.sample(rng, subject, steps))
        last = self.sample(rng, subject, steps)
        while not isinstance(last, Call):
            last = self.sample(rng, subject, steps)
        return Sequence(subject, options, (*steps, last))

    def admit(self, sequence: Sequence, rng: Random) -> Sequence:
        """Return the sequence nearest to `sequence` that has a prior weight.

        Steps beyond the last call, or beyond `max_length`, go; if none is left a call comes.
        """
        steps = sequence.steps[: self.max_length]
        while steps and not isinstance(steps[-1], Call):
            steps = steps[:-1]
        return sequence.with_steps(steps or (self.sample_call(rng, sequence.subject),))

    # ----------------------------------------------------------------------------------- density

    def log_prior(self, sequence: Sequence) -> float:
        """Return the exact log-probability of `sequence` given its back end."""
        steps = sequence.steps
        if not 1 <= len(steps) <= self.max_length or not isinstance(steps[-1], Call):
            return -math.inf
        subject = sequence.subject
        total = math.log(self._lengths[len(steps) - 1])
        total += self._subject_log_density(subject, sequence.options.backend)
        total += self._options_log_density(sequence.options)
        model, rows = self.model(subject), rows_of(steps)
        for position, step in enumerate(steps):
            before = steps[:position]
            total += self._log_density(model, step, rows[position], before, rows[:position])
        return total - math.log(self.call_probability(subject, steps[:-1]))

    def _subject_log_density(self, subject: SubjectSpec, backend: int) -> float:
        total = math.log(self._seeds[subject.seed])
        total += math.log(self._counts[len(subject.constructs)])
        total += math.log(self._architectures[subject.architecture])
        weights = self._weights_on(backend)
        left = sum(weights.values())
        for name in subject.constructs:
            total += math.log(weights[name] / left)
            left -= weights[name]
        return total

    def _options_log_density(self, options: Options) -> float:
        rows = self._rows(options.backend).items()
        return sum(math.log(row[getattr(options, name)]) for name, row in rows)
