"""What libFuzzer calls: one execution, and the proposal of the next input.

The key insight: libFuzzer asks the mutator for a mutation of *its* pick, and need not be given one.
A chain that answers with its own proposal, and decides about it once that has run, keeps its
acceptance rule to the letter, while libFuzzer still collects what brought new features.

Behaviours have the lower half of libFuzzer's counters and lines the upper one, so that the tens of
thousands of lines cannot hide a behaviour.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterable
from random import Random

import numpy as np

from rondo._native import counters
from rondo._native.choose import choose_tracer
from rondo._native.sampling import SampledTracing
from rondo._native.tracer import LineTracer
from rondo.campaign.corpora import steps_that_fit
from rondo.frameworks.base import Framework
from rondo.libfuzzer.alarms import Alarms
from rondo.libfuzzer.budget import SEED_SHARE, Budget
from rondo.libfuzzer.flags import Options, TargetUsageError
from rondo.oracle.behaviours import as_sought
from rondo.oracle.result import Result
from rondo.oracle.run import execute
from rondo.report.record import FOLDER, Record
from rondo.search.corpus import Corpus
from rondo.search.mcmc import MarkovSampler
from rondo.search.plain import is_suspicious, why_nothing_compiles
from rondo.search.sampler import MAX_LENGTH, SearchState, on_backend
from rondo.sequences.codec import decode, encode
from rondo.sequences.mutate import MutationContext, apply_havoc
from rondo.sequences.step import Sequence

HALF = counters.SIZE // 2
NOTE_SECONDS = 5.0
"""A moment of the record at least so often, so that it tells how long nothing new was met."""
MOST_MUTATIONS = 6
"""Mutations stacked by `havoc`, as in the baselines of `rondo.fuzz`."""


class FuzzTarget:
    """One back end of one framework under libFuzzer. Raises TargetUsageError if there is none."""

    def __init__(
        self,
        framework: Framework,
        backend: str,
        options: Options,
        alarms: Alarms,
        budget: Budget,
    ) -> None:
        self.framework = framework
        self.vocabulary = framework.vocabulary()
        if backend not in self.vocabulary.backends:
            there_is = ", ".join(self.vocabulary.backends)
            raise TargetUsageError(f"no back end {backend!r}; there is {there_is}")
        self.backend = self.vocabulary.backends.index(backend)
        self.options = options
        self.alarms = alarms
        self.budget = budget
        length = min(MAX_LENGTH, max(1, steps_that_fit(options.max_len, self.vocabulary)))
        self.state = SearchState.begin(
            self.vocabulary, Corpus(None, self.vocabulary), max_length=length
        )
        self.sampler = MarkovSampler(self.state, backends=(self.backend,), sweep_share=0.0)
        self.context = MutationContext(self.state.distribution, self.state.library, (self.backend,))
        self.executions = 0
        self.lines = LineFeatures(framework, wanted=options.lines)
        self.record: Record | None = None
        if options.record:
            about = {"framework": framework.name, "backends": [backend]}
            about |= {"sampler": options.mutator, "trees": list(framework.source_trees())}
            self.record = Record(options.artifacts / FOLDER, about=about)
        self._begun = self._probed = False
        self._noted = 0.0

    # ------------------------------------------------------------------------------------ running

    def run_one(self, data: bytes) -> None:
        """Execute what `data` means. Raises ConfirmedBugError at a bug that is not known."""
        if not self.budget.admits(data):
            return
        sequence = on_backend(decode(data, self.vocabulary), self.backend)
        if not any(True for _ in sequence.calls()):
            return
        canonical = encode(sequence)
        began = time.process_time()
        result = self._execute(canonical)
        seconds = time.process_time() - began
        self.executions += 1
        identities = [as_sought(alarm.identity) for alarm in result.alarms]
        feedback = self.sampler.observe(sequence, result.behaviours, identities, work=result.work)
        show(result.behaviours, half=0)
        self.lines.after(
            lambda: self._execute(canonical), seconds, new_behaviours=bool(feedback.new)
        )
        if self.record is not None:
            self._note(new=bool(feedback.new))
        if result.alarms and self.options.alarms:
            if any(map(is_suspicious, result.alarms)):
                self._probe()
            self.alarms.examine(canonical, result, given=data)

    def _execute(self, data: bytes) -> Result:
        self.lines.begin()
        try:
            return execute(data, self.framework, vocabulary=self.vocabulary)
        except Exception:
            self.alarms.keep_fault(data, traceback.format_exc())
            return Result("fault")
        finally:
            self.lines.end()

    def _probe(self) -> None:
        """End the process, before the first alarm is believed, where nothing can be compiled."""
        if self._probed:
            return
        self._probed = True
        if why := why_nothing_compiles(self.vocabulary, self.backend, self._execute):
            self.alarms.refuse(why)

    def _note(self, *, new: bool) -> None:
        assert self.record is not None
        figures = {
            "executions": self.executions,
            "behaviours": len(self.state.ledger),
            "lines": self.lines.count,
            "corpus": len(self.state.corpus),
            "findings": self.alarms.findings,
            "alarms": sum(self.state.alarms.values()),
        }
        now = time.monotonic()
        if new or now - self._noted >= NOTE_SECONDS:
            self._noted = now
            self.record.note(figures)
        self.record.save_ledger_now_and_then(self.state.ledger)

    # ---------------------------------------------------------------------------------- proposing

    def mutate(self, data: bytes, max_size: int, seed: int) -> bytes:
        """Return the next input: a proposal of the chains, or with `havoc` a mutation of `data`.

        Now and then it is a seed for which there was no time.
        """
        self._begin(seed)
        if (put_off := self.budget.proposal(max_size)) is not None:
            return put_off
        if self.options.mutator == "havoc":
            return self._havoc(data, max_size, Random(seed))
        proposal = encode(self.sampler.propose())
        # Only a -max_len below a few steps, or -minimize_crash, comes to this: no chain moves then.
        return proposal if len(proposal) <= max_size else self._havoc(data, max_size, Random(seed))

    def crossover(self, data: bytes, other: bytes, max_size: int, seed: int) -> bytes:
        """Return the next input, for which blocks of `other` may be spliced in.

        A chain's own crossover is the move `splice_block`, which draws from a library of blocks and
        whose correction is exact. So libFuzzer's partner joins that library, and the chain proposes
        as it always does.
        """
        self.state.library.add(on_backend(decode(other, self.vocabulary), self.backend))
        return self.mutate(data, max_size, seed)

    def _begin(self, seed: int) -> None:
        """Let every choice of the chains follow libFuzzer's -seed, and tell of seeds put off."""
        if self._begun:
            return
        self._begun = True
        self.sampler.rng.seed(seed)
        if count := len(self.budget.deferred):
            half = f"{SEED_SHARE:.0%} of -max_total_time"
            self.alarms.say(f"{half} is over: {count} seeds come later, among the proposals")

    def _havoc(self, data: bytes, max_size: int, rng: Random) -> bytes:
        sequence = self._admitted(data, rng)
        count = 1 + rng.randrange(MOST_MUTATIONS)
        mutated, _ = apply_havoc(sequence, rng, self.context, count)
        encoded = encode(self.state.distribution.admit(mutated, rng))
        return encoded if len(encoded) <= max_size else data[:max_size]

    def _admitted(self, data: bytes, rng: Random) -> Sequence:
        sequence = on_backend(decode(data, self.vocabulary), self.backend)
        return self.state.distribution.admit(sequence, rng)


def show(hashes: Iterable[int], *, half: int) -> None:
    """Hit the counters of `hashes` (64-bit) in one half of the array."""
    keys = np.fromiter(hashes, dtype=np.uint64)
    if keys.size:
        counters.hit_many(keys % np.uint64(HALF) + np.uint64(half * HALF))


class LineFeatures:
    """Lines of the compiler as features: all of them where that is free, else of a sample.

    On Python 3.12 and later every execution is traced. On 3.11 some are run again under the tracer,
    so that what is judged is never the traced run, and the whole costs a tenth at most
    (`rondo._native.sampling`). Either way an execution shows the lines that it is the first to
    reach, since a line seen before brings libFuzzer nothing.
    """

    def __init__(self, framework: Framework, *, wanted: bool) -> None:
        self.tracer: LineTracer | None = None
        self.policy = SampledTracing()
        self._spent = self._spent_traced = 0.0
        if wanted:
            self.tracer = choose_tracer(framework.source_trees()).tracer
        if self.tracer is not None and self.policy.always:
            self.tracer.start()

    @property
    def count(self) -> int:
        """Lines reached so far."""
        return self.tracer.line_count if self.tracer is not None else 0

    def begin(self) -> None:
        """Mark the start of an execution, where each is traced."""
        if self.tracer is not None and self.policy.always:
            self.tracer.begin_run()

    def end(self) -> None:
        """Show the lines of an execution, where each is traced."""
        if self.tracer is not None and self.policy.always:
            show(self.tracer.run_hashes(), half=1)

    def after(self, again: Callable[[], object], seconds: float, *, new_behaviours: bool) -> None:
        """Run an execution `again` under the tracer, if the policy says so, and show its lines."""
        tracer = self.tracer
        if tracer is None or self.policy.always:
            return
        self._spent += seconds
        if not self.policy.should_trace(
            new_behaviours,
            spent_traced_cpu=self._spent_traced,
            spent_total_cpu=self._spent,
            execution_cpu=seconds,
        ):
            return
        began = time.process_time()
        tracer.start()
        tracer.begin_run()
        try:
            again()
        finally:
            show(tracer.run_hashes(), half=1)
            tracer.stop()
        spent = time.process_time() - began
        self._spent += spent
        self._spent_traced += spent
