"""Executing a sequence three ways. This is the one function that runs subjects: `execute`.

Order of work, and why:

1. eager, all steps: what a user means;
2. retained, all steps compiled in one compiler lifetime: what a user gets;
3. reset, only at a step where these two disagree (plus a small sampled share, since state can also
   mask a bug): build anew, run the steps before it eagerly, reset the compiler, run that one step
   compiled. Program state is therefore the eager arm's, and cannot be mistaken for compiler state;
4. a float64 reference, only when floats differ.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from rondo.frameworks.base import Arm, CallEvents, Framework
from rondo.oracle.behaviours import behaviours_of, outcome_of
from rondo.oracle.judge import Judge, Judgement
from rondo.oracle.observation import Leaf, Observation, pack_observation
from rondo.oracle.result import Result, StepReport, Verdict
from rondo.sequences.codec import decode
from rondo.sequences.step import Call, Change, Sequence, describe_step
from rondo.sequences.vocabulary import COMPILER, Vocabulary

START_WORK, CALL_WORK, COMPILATION_WORK = 0.1, 0.02, 0.3
"""Work of any execution, of each call, and of a compilation whose adapter counts nothing finer."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to execute.

    `masked_every`: about one agreeing call in so many is run in the reset arm too (0: never, 1:
    always). Which ones follows from the bytes, so that equal bytes give equal work.

    `keep_reset` keeps what reset arms showed in the result. With `only_reset` nothing is run but
    the reset arm of the call at that position, and nothing is judged: in a fresh process that is
    what a reset is measured against (`rondo.oracle.fresh`).
    """

    masked_every: int = 64
    always_reset: bool = False
    max_alarms: int = 3
    report_steps: bool = True
    keep_reset: bool = False
    only_reset: int | None = None


@dataclass(slots=True)
class ArmTrace:
    """What one arm showed at each step (None for steps that show nothing)."""

    observations: list[Observation | None] = field(default_factory=list)
    events: list[tuple[int, CallEvents, bool]] = field(default_factory=list)
    seconds: float = 0.0


class Run:
    """Runs the arms of one sequence inside one framework session."""

    def __init__(self, sequence: Sequence, framework: Framework, vocabulary: Vocabulary) -> None:
        self.sequence = sequence
        self.framework = framework
        self.vocabulary = vocabulary
        self.seconds: dict[str, float] = {}
        self._reference: list[Observation | None] | None = None
        self._repeats: list[ArmTrace] = []

    def eager(self) -> ArmTrace:
        """Run every step eagerly."""
        return self._straight(Arm.EAGER)

    def retained(self, *, through: int | None = None) -> ArmTrace:
        """Run every step, or those through a position, compiled in one lifetime of the compiler."""
        self.framework.reset()
        return self._straight(Arm.RETAINED, through=through)

    def _straight(self, arm: Arm, *, through: int | None = None) -> ArmTrace:
        trace = ArmTrace()
        steps = self.sequence.steps[: None if through is None else through + 1]
        compiled = arm is Arm.RETAINED
        began = time.perf_counter()
        with self.framework.arm(self.sequence, arm) as program:
            for position, step in enumerate(steps):
                if isinstance(step, Change):
                    if step.target != COMPILER:
                        trace.observations.append(program.change(step))
                    elif compiled:
                        trace.observations.append(program.compiler_change(step))
                    else:
                        trace.observations.append(None)
                    continue
                if compiled:
                    self.framework.begin_watch()
                observation = program.call(step, compiled=compiled)
                if compiled:
                    event = self.framework.end_watch()
                    trace.events.append((position, event, observation.returned))
                trace.observations.append(observation)
        self._spend(arm.value, began)
        return trace

    def reset(self, position: int) -> tuple[Observation, CallEvents]:
        """Run the steps before `position` eagerly, reset the compiler, run that step compiled."""
        began = time.perf_counter()
        with self.framework.arm(self.sequence, Arm.RESET) as program:
            for step in self.sequence.steps[:position]:
                if isinstance(step, Call):
                    program.call(step, compiled=False)
                elif step.target != COMPILER or self._carries(step):
                    program.change(step)
            self.framework.reset()
            self.framework.begin_watch()
            judged = self.sequence.steps[position]
            assert isinstance(judged, Call)
            observation = program.call(judged, compiled=True)
            events = self.framework.end_watch()
        self._spend(Arm.RESET.value, began)
        return observation, events

    def _carries(self, change: Change) -> bool:
        target = self.vocabulary.targets_by_name[change.target]
        return target.actions[change.action].carries

    def reference(self, position: int) -> Mapping[str, Leaf] | None:
        """Return the float64 leaves of the step at `position`, or None where that run raised."""
        if self._reference is None:
            self._reference = self._straight(Arm.REFERENCE).observations
        observation = self._reference[position]
        return observation.leaves if observation is not None and observation.returned else None

    def repeated(self, number: int, position: int) -> Observation:
        """Return what the call at `position` shows in the repetition `number` of the eager arm."""
        while len(self._repeats) <= number:
            self._repeats.append(self._straight(Arm.EAGER))
        observation = self._repeats[number].observations[position]
        assert observation is not None
        return observation

    def _spend(self, arm: str, began: float) -> None:
        self.seconds[arm] = self.seconds.get(arm, 0.0) + time.perf_counter() - began


def execute(
    data: bytes,
    framework: Framework,
    *,
    settings: Settings | None = None,
    vocabulary: Vocabulary | None = None,
) -> Result:
    """Execute the sequence that `data` means and say what its arms show.

    Deterministic: equal bytes give equal verdicts, alarms and behaviours in every process.
    """
    settings = settings or Settings()
    vocabulary = vocabulary or framework.vocabulary()
    sequence = decode(data, vocabulary)
    with framework.session(sequence):
        run = Run(sequence, framework, vocabulary)
        if settings.only_reset is not None:
            return _reset_alone(run, settings.only_reset)
        eager = run.eager()
        retained = run.retained()
        judge = Judge(run, settings, salt=data)
        judgements = judge.judge(eager, retained)
    return _result(sequence, vocabulary, run, eager, retained, judgements, settings)


def _reset_alone(run: Run, position: int) -> Result:
    """Return the result of the reset arm of one call, judged by nobody.

    Raises ValueError when there is no call at `position`.
    """
    if position not in dict(run.sequence.calls()):
        raise ValueError(f"step {position} is no call")
    observation, events = run.reset(position)
    verdict = Verdict.AGREE if events.compilations else Verdict.NOT_COMPILED
    text = describe_step(run.sequence.steps[position], run.sequence, run.vocabulary)
    return Result(
        verdict.value,
        steps=(StepReport(text, verdict.value, reset=_digest(observation)),),
        calls=1,
        raised=not observation.returned,
        seconds=run.seconds,
        kept={position: pack_observation(observation)},
    )


def _result(
    sequence: Sequence,
    vocabulary: Vocabulary,
    run: Run,
    eager: ArmTrace,
    retained: ArmTrace,
    judgements: list[Judgement],
    settings: Settings,
) -> Result:
    alarms = tuple(judgement.alarm for judgement in judgements if judgement.alarm is not None)
    steps: list[StepReport] = []
    by_step = {judgement.step: judgement for judgement in judgements}
    if settings.report_steps:
        for position, step in enumerate(sequence.steps):
            judgement = by_step.get(position)
            steps.append(
                StepReport(
                    describe_step(step, sequence, vocabulary),
                    judgement.verdict.value if judgement else "",
                    _digest(eager.observations[position]),
                    _digest(retained.observations[position]),
                    _digest(judgement.reset) if judgement else "",
                    judgement.note if judgement else "",
                )
            )
    raised = sum(
        1
        for position, _ in sequence.calls()
        if (seen := eager.observations[position]) is not None and not seen.returned
    )
    outcomes = {
        position: outcome_of(events, returned=returned)
        for position, events, returned in retained.events
    }
    return Result(
        verdict=_overall(judgements),
        alarms=alarms,
        behaviours=behaviours_of(sequence, vocabulary, retained.events, outcomes),
        steps=tuple(steps),
        calls=sum(1 for _ in sequence.calls()),
        raised=raised,
        uncertain=sum(judgement.verdict is Verdict.UNCERTAIN for judgement in judgements),
        seconds=run.seconds,
        kept={
            judgement.step: pack_observation(judgement.reset)
            for judgement in judgements
            if settings.keep_reset and judgement.reset is not None
        },
        work=_work_of(retained),
        outcomes=outcomes,
    )


def _work_of(retained: ArmTrace) -> float:
    """Return what the retained arm took: the other arms cost little, or in proportion."""
    compiling = sum(
        COMPILATION_WORK * events.compilations if events.work is None else events.work
        for _, events, _ in retained.events
    )
    return round(START_WORK + CALL_WORK * len(retained.events) + compiling, 4)


def _overall(judgements: list[Judgement]) -> str:
    """Return the verdict of a sequence: its first alarm's, or the weightiest of the others."""
    verdicts = [judgement.verdict for judgement in judgements]
    for verdict in verdicts:
        if verdict.alarms:
            return str(verdict.value)
    if verdicts and all(verdict is Verdict.NOT_COMPILED for verdict in verdicts):
        return Verdict.NOT_COMPILED.value
    for verdict in (Verdict.NOT_COMPARABLE, Verdict.UNCERTAIN, Verdict.DOCUMENTED):
        if verdict in verdicts:
            return str(verdict.value)
    return str(Verdict.AGREE.value)


def _digest(observation: Observation | None) -> str:
    if observation is None:
        return ""
    return observation.exception or observation.digest()
