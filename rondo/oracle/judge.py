"""Judging the steps of a run: where arms disagree, what verdict and what effect that is.

A verdict follows from three comparisons:

    retained = eager                                  agree (masked, if a sampled reset differs)
    retained != eager, reset = eager                  stateful
    retained != eager, reset = retained               stateless
    all three differ                                  split
    any of these within the margin of the tolerance   uncertain
    raises another exception than eager and reset     stateful
    the reset arm did not compile                     not compiled
    differs only where eager differs from itself      not comparable
    the compiler refuses as it says it would          documented

Judging goes on after a difference that leaves no trace in program state, and ends at one that does:
from there on the arms run different programs.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rondo.oracle.behaviours import cause_of
from rondo.oracle.compare import TRANSIENT, Grade, Mismatch, compare, place_of
from rondo.oracle.observation import EXCEPTION, Leaf, Observation
from rondo.oracle.result import Alarm, Difference, Identity, Verdict
from rondo.sequences.step import Change
from rondo.sequences.vocabulary import COMPILER

if TYPE_CHECKING:
    from rondo.frameworks.base import Ablation
    from rondo.oracle.run import ArmTrace, Run, Settings

SHOWN_DIFFERENCES = 6
NO_HISTORY = "any call"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was decided about one step."""

    step: int
    verdict: Verdict
    alarm: Alarm | None = None
    reset: Observation | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How an observation differs from another: the worst grade and the paths, worst first."""

    grade: Grade
    effect: str = ""
    place: str = ""
    exception: str = ""
    mismatches: tuple[Mismatch, ...] = ()

    @property
    def lasting(self) -> bool:
        """Whether program state differs, so that later steps run different programs."""
        return any(
            mismatch.grade >= Grade.UNCERTAIN and not mismatch.path.startswith(TRANSIENT)
            for mismatch in self.mismatches
        )


class Judge:
    """Judges one run. `salt` (the sequence's bytes) decides which agreeing steps are sampled."""

    def __init__(self, run: Run, settings: Settings, *, salt: bytes) -> None:
        self.run = run
        self.settings = settings
        self.salt = zlib.crc32(salt)
        self._ignored: tuple[str, ...] = ()
        self._runs_without: dict[str, ArmTrace] = {}
        self._translated: set[tuple[str, str]] = set()

    def judge(self, eager: ArmTrace, retained: ArmTrace) -> list[Judgement]:
        """Return a judgement for each call, up to the first one that cannot be judged."""
        judgements: list[Judgement] = []
        served = {position: event for position, event, _ in retained.events}
        alarms = 0
        for position, _ in self.run.sequence.calls():
            expected, found = eager.observations[position], retained.observations[position]
            assert expected is not None
            assert found is not None
            if self._strayed(eager, retained, position):
                break
            difference = self.disagreement(expected, found, position)
            if not expected.returned and not found.returned:
                judgement = self._raising(position, expected, found, difference)
            elif difference.grade <= Grade.CLOSE:
                judgement = self._agreeing(position, expected, served[position].compiled)
            else:
                judgement = self._disagreeing(position, expected, found, difference)
            judgements.append(judgement)
            alarms += judgement.alarm is not None
            if difference.lasting or alarms >= self.settings.max_alarms:
                break
            if difference.grade > Grade.CLOSE:
                self._ignored = ("earlier",)
        return judgements

    def _strayed(self, eager: ArmTrace, retained: ArmTrace, position: int) -> bool:
        """Whether a change of program state before `position` raised in one arm only."""
        for before, step in enumerate(self.run.sequence.steps[:position]):
            if not isinstance(step, Change) or step.target == COMPILER:
                continue
            if (eager.observations[before] is None) != (retained.observations[before] is None):
                return True
        return False

    def disagreement(
        self, expected: Observation, found: Observation, position: int
    ) -> Disagreement:
        """Compare two observations of the step at `position`.

        An exception in both is no difference here whatever its type and wording (`_raising` judges
        types, and modes left behind). If it left other program state behind (a compiled call raises
        before it has changed anything), judging ends there.
        """
        if not expected.returned and not found.returned:
            mismatches = self._mismatches(expected, found, position)
            lasting = tuple(
                mismatch for mismatch in mismatches if not mismatch.path.startswith(TRANSIENT)
            )
            return Disagreement(Grade.EQUAL, mismatches=lasting)
        if expected.returned != found.returned:
            raising = found if expected.returned else expected
            effect = "exception" if expected.returned else "missing exception"
            mismatches = self._mismatches(expected, found, position)
            return Disagreement(
                Grade.DIFFERENT, effect, EXCEPTION, raising.exception, tuple(mismatches)
            )
        mismatches = self._mismatches(expected, found, position)
        return _worst(mismatches)

    def _mismatches(
        self, expected: Observation, found: Observation, position: int
    ) -> list[Mismatch]:
        return compare(expected, found, lambda: self.run.reference(position), ignored=self._ignored)

    def _lifted(self, position: int, expected: Observation, *, anew: bool = False) -> str:
        """Return the documented limitation without which the retained arm would agree, or ''.

        With `anew`, one of those that freshly compiled code has too.
        """
        for ablation in self.run.framework.ablations():
            if not ablation.concerns(self.run.sequence) or (anew and not ablation.anew):
                continue
            found = self._without(ablation, position)
            close = self.disagreement(expected, found, position).grade <= Grade.CLOSE
            if close and found.exception == expected.exception:
                return ablation.rule
            # More guards, more compilations: what stands in the way then is a limitation as well.
            if not found.returned and self._refused(found):
                return ablation.rule
        return ""

    def _without(self, ablation: Ablation, position: int) -> Observation:
        """Return what the retained arm shows at `position` without a limitation.

        One run serves all steps up to the one that was asked for: most sequences are judged at few.
        """
        trace = self._runs_without.get(ablation.rule)
        if trace is None or position >= len(trace.observations):
            with ablation.lifted():
                trace = self._runs_without[ablation.rule] = self.run.retained(through=position)
        found = trace.observations[position]
        assert found is not None
        return found

    def _refused(self, found: Observation, *, fresh: bool = False) -> str:
        return self.run.framework.documented(self.run.sequence, found, fresh=fresh)

    def _alike(self, reset: Observation, found: Observation) -> bool:
        """Whether two wrong arms are wrong in the same way.

        Without the reference: it would grant each of them an error as large as the other's.
        """
        if not (reset.returned and found.returned):
            return reset.returned == found.returned
        mismatches = compare(reset, found, lambda: None, ignored=self._ignored)
        return all(mismatch.grade < Grade.DIFFERENT for mismatch in mismatches)

    def _raising(
        self,
        position: int,
        expected: Observation,
        found: Observation,
        difference: Disagreement,
    ) -> Judgement:
        """Judge a call that raises in both arms.

        A compiler may put an exception of its own in place of eager's: it does so whatever was
        before, and the reset arm shows it. Only where the reset arm raises what eager raises is
        another type what an earlier call left behind. A pair of types that the reset arm has
        confirmed once is not asked about again.

        A compiled call may raise before it has changed what eager has changed by then. No such
        excuse holds for a mode of the process that stays switched on: eager leaves its contexts.
        """
        types = (expected.exception, found.exception)
        same = expected.exception == found.exception
        left = _modes_left(difference)
        if not left and (same or types in self._translated):
            return Judgement(position, Verdict.AGREE)
        rule = "" if same else self._refused(found)
        if rule:
            return Judgement(position, Verdict.DOCUMENTED, note=rule)
        reset, _ = self.run.reset(position)
        if not same and reset.exception != expected.exception:
            self._translated.add(types)
        elif not same:
            rule = self._lifted(position, expected)
            if rule:
                return Judgement(position, Verdict.DOCUMENTED, reset=reset, note=rule)
            wrong = Disagreement(
                Grade.DIFFERENT,
                "wrong exception",
                EXCEPTION,
                found.exception,
                difference.mismatches,
            )
            return self._alarm(Verdict.STATEFUL, position, wrong, expected, found, reset)
        if left and not reset.returned:
            left_by_reset = _modes_left(self.disagreement(expected, reset, position))
            verdict = Verdict.SPLIT if left_by_reset else Verdict.STATEFUL
            if {each.path for each in left_by_reset} == {each.path for each in left}:
                verdict = Verdict.STATELESS
            return self._alarm(verdict, position, _worst(list(left)), expected, found, reset)
        note = "" if same else f"raises {types[1]}"
        return Judgement(position, Verdict.AGREE, reset=reset, note=note)

    def _agreeing(self, position: int, expected: Observation, compiled: bool) -> Judgement:
        if not compiled and expected.returned:
            return Judgement(position, Verdict.NOT_COMPILED)
        every = self.settings.masked_every
        sampled = every and (self.salt + position * 0x9E3779B1) % every == 0
        if not (sampled or self.settings.always_reset) or not expected.returned:
            return Judgement(position, Verdict.AGREE)
        reset, events = self.run.reset(position)
        if not events.compilations:
            return Judgement(position, Verdict.AGREE, reset=reset, note="reset arm not compiled")
        difference = self.disagreement(expected, reset, position)
        if difference.grade < Grade.DIFFERENT:
            return Judgement(position, Verdict.AGREE, reset=reset)
        return self._alarm(Verdict.MASKED, position, difference, expected, expected, reset)

    def _disagreeing(
        self,
        position: int,
        expected: Observation,
        found: Observation,
        difference: Disagreement,
    ) -> Judgement:
        if difference.grade is Grade.UNCERTAIN:
            return Judgement(position, Verdict.UNCERTAIN)
        if expected.returned and not found.returned:
            rule = self._refused(found)
            if rule:
                return Judgement(position, Verdict.DOCUMENTED, note=rule)
        reset, events = self.run.reset(position)
        if expected.returned and not found.returned and reset.exception == found.exception:
            rule = self._refused(reset, fresh=True)
            if rule:
                return Judgement(position, Verdict.DOCUMENTED, reset=reset, note=rule)
        if not events.compilations and reset.returned:
            return Judgement(position, Verdict.NOT_COMPILED, reset=reset)
        to_eager = self.disagreement(expected, reset, position)
        if to_eager.grade is Grade.UNCERTAIN:
            return Judgement(position, Verdict.UNCERTAIN, reset=reset)
        if to_eager.grade <= Grade.CLOSE:
            rule = self._lifted(position, expected)
            if rule:
                return Judgement(position, Verdict.DOCUMENTED, reset=reset, note=rule)
            verdict = Verdict.STATEFUL
        else:
            lacking = "" if expected.returned else self.run.framework.cannot(expected)
            if lacking and found.returned:
                return Judgement(position, Verdict.NOT_COMPARABLE, reset=reset, note=lacking)
            alike = self._alike(reset, found)
            rule = self._lifted(position, expected, anew=True) if alike else ""
            if rule:
                return Judgement(position, Verdict.DOCUMENTED, reset=reset, note=rule)
            verdict = Verdict.STATELESS if alike else Verdict.SPLIT
        return self._alarm(verdict, position, difference, expected, found, reset)

    def _moving(self, position: int, expected: Observation) -> frozenset[str]:
        """Return the paths that eager itself does not show twice, EXCEPTION where it is the whole.

        A program that reads a clock, an address or a generator that no seed reaches gives other
        numbers each time: what compiled code gives then proves nothing. Only asked before an alarm
        is raised. Repetitions are compared with each other, and not with the first eager run: a
        compile lies between, and what it left behind in the process must stay an alarm.
        """
        first = self.run.repeated(0, position)
        if not self._differing(expected, first):
            return frozenset()
        return self._differing(first, self.run.repeated(1, position))

    def _differing(self, first: Observation, second: Observation) -> frozenset[str]:
        if first.exception != second.exception:
            return frozenset({EXCEPTION})
        mismatches = compare(first, second, lambda: None, ignored=self._ignored)
        # Atomic additions of a device differ in the last bits each time: tolerances are for those.
        return frozenset(each.path for each in mismatches if each.grade > Grade.CLOSE)

    def _alarm(
        self,
        verdict: Verdict,
        position: int,
        difference: Disagreement,
        expected: Observation,
        found: Observation,
        reset: Observation,
    ) -> Judgement:
        for each in (expected, found, reset):
            if ran_out := self.run.framework.exhausted(each):
                return Judgement(position, Verdict.NOT_COMPARABLE, reset=reset, note=ran_out)
        moving = self._moving(position, expected)
        if moving and (EXCEPTION in moving or not difference.exception):
            kept = [each for each in difference.mismatches if each.path not in moving]
            if EXCEPTION in moving or not kept or kept[0].grade < Grade.DIFFERENT:
                note = f"eager differs from itself in {', '.join(sorted(moving)[:3])}"
                return Judgement(position, Verdict.NOT_COMPARABLE, reset=reset, note=note)
            difference = _worst(kept)
        sequence, vocabulary = self.run.sequence, self.run.vocabulary
        identity = Identity(
            verdict=verdict.value,
            effect=difference.effect,
            backend=vocabulary.backends[sequence.options.backend],
            place=difference.place,
            # What came before is no part of an ordinary miscompilation.
            exposing=(
                NO_HISTORY
                if verdict is Verdict.STATELESS
                else cause_of(sequence, vocabulary, position)
            ),
            exception=difference.exception,
        )
        alarm = Alarm(position, identity, differences_of(difference, expected, found, reset))
        return Judgement(position, verdict, alarm, reset)


def _modes_left(difference: Disagreement) -> tuple[Mismatch, ...]:
    """Return where modes of the process differ."""
    return tuple(
        each
        for each in difference.mismatches
        if each.path.startswith("ambient.") and each.grade is Grade.DIFFERENT
    )


def _worst(mismatches: list[Mismatch]) -> Disagreement:
    """Return the disagreement that the first, most telling mismatch names."""
    if not mismatches:
        return Disagreement(Grade.EQUAL)
    worst = mismatches[0]
    return Disagreement(
        worst.grade, worst.effect, place_of(worst.path), mismatches=tuple(mismatches)
    )


def differences_of(
    difference: Disagreement, expected: Observation, found: Observation, reset: Observation
) -> tuple[Difference, ...]:
    """Return the paths that differ as short texts, the exception first where there is one."""
    rows: list[Difference] = []
    if difference.exception:
        texts = [
            f"{o.exception}: {o.message}" if o.exception else "returns"
            for o in (expected, found, reset)
        ]
        rows.append(Difference(EXCEPTION, difference.effect, *texts))
    for mismatch in difference.mismatches:
        if mismatch.grade < Grade.DIFFERENT or len(rows) >= SHOWN_DIFFERENCES:
            continue
        if difference.exception and mismatch.effect == "missing":
            continue
        leaves = [o.leaves.get(mismatch.path) for o in (expected, found, reset)]
        rows.append(
            Difference(
                mismatch.path,
                mismatch.effect,
                *(leaf_text(leaf, mismatch.effect) for leaf in leaves),
            )
        )
    return tuple(rows)


def leaf_text(leaf: Leaf | None, effect: str) -> str:
    """Return a leaf as a row of differences shows it."""
    if leaf is None:
        return "absent"
    if effect == "metadata":
        return ", ".join(f"{name}={value}" for name, value in leaf.meta)
    return leaf.brief()
