"""Lines of the compiler that a campaign reaches: when to trace, where they go.

The key insight: lines are a second opinion on what behaviours say, so they may cost only what the
interpreter lets them. On Python 3.12 and later every execution is traced where it runs, and the
sampler is told what it reaches. On 3.11 the policy of `rondo._native.sampling` has a share of
executions run again under the tracer, in a worker of its own, so that what is judged stays
untraced; clocks choose which ones, so nothing may follow from what they reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from coverage.exceptions import CoverageException
from coverage.numbits import numbits_to_nums, nums_to_numbits

from rondo._native.lines import LineStore
from rondo._native.sampling import SampledTracing
from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError
from rondo.campaign.stop import StoppedError
from rondo.report.coverage import DATA_FILE, FOLDER, read_file, write_data

SAVE_EVERY = 64
"""Executions between two writings of the data file: what a killed campaign may lose."""


@dataclass
class LineCoverage:
    """The driver's lines: asks the policy after each execution and keeps the data file.

    Campaigns that share a folder have a file each, named after the `member`; one that continues
    goes on from its own. Where the sampler is told of lines it goes on from those that its
    checkpoint has, `known`, as numbits by file: the search must continue exactly, and repeats what
    else the file says.
    """

    executors: tuple[Executor, ...]
    folder: Path
    wanted: bool = True
    member: str = ""
    known: Mapping[str, bytes] = field(default_factory=dict)
    policy: SampledTracing = field(default_factory=SampledTracing)
    _traced_cpu: float = 0.0
    _since_save: int = 0

    def __post_init__(self) -> None:
        self.store = LineStore(self.executors[0].server.trees if self.wanted else ())
        self.active = bool(self.store.trees)
        for executor in self.executors if self.active else ():
            executor.store = self.store
            executor.trace_inline = self.policy.always
        if self.active and self.policy.always:
            self.store.add_lines((path, numbits_to_nums(n)) for path, n in self.known.items())
        elif self.active and self.member:
            with suppress(OSError, CoverageException):
                self.store.add_lines(read_file(self.path).items())

    @property
    def path(self) -> Path:
        """The data file."""
        suffix = f".member-{self.member}" if self.member else ""
        return self.folder / FOLDER / f"{DATA_FILE}{suffix}"

    @property
    def count(self) -> int:
        """Lines reached so far; 0 when they are not traced."""
        return self.store.line_count if self.active else 0

    def told(self) -> dict[str, bytes]:
        """Return the lines, as numbits by file, where the sampler is told of them; else nothing."""
        if not (self.active and self.policy.always):
            return {}
        return {path: nums_to_numbits(lines) for path, lines in self.store.lines().items()}

    def after(
        self, executor: Executor, data: bytes, cpu_seconds: float, *, new_behaviours: bool
    ) -> None:
        """Note an execution of `data`; run it again under the tracer if the policy says so."""
        if not self.active:
            return
        if not self.policy.always and self.policy.should_trace(
            new_behaviours,
            spent_traced_cpu=self._traced_cpu,
            spent_total_cpu=sum(each.cpu_seconds for each in self.executors),
            execution_cpu=cpu_seconds,
        ):
            # What a traced run shows is not judged: the same bytes were, untraced.
            with suppress(ExecutionFaultError):
                self._traced_cpu += executor.run_traced(data)
        self._since_save += 1
        if self._since_save >= SAVE_EVERY:
            self.save()

    def save(self) -> None:
        """Write the data file that coverage.py and `rondo coverage html` read."""
        self._since_save = 0
        if self.active and self.store.line_count:
            with suppress(OSError, StoppedError):
                write_data(self.path, self.store.lines())
