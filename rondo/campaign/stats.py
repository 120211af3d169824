"""What a campaign counts, and how it says so at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rondo.campaign.deaths import Cause
from rondo.oracle.result import Result, Verdict

TRIAGE = "triage"
"""What confirming and shortening are called beside the back ends."""


@dataclass
class Stats:
    """Counters of one campaign; the driver fills them, status lines and reports read them."""

    executions: int = 0
    search_work: float = 0.0
    triage_work: float = 0.0
    triage_runs: int = 0
    triage_seconds: float = 0.0
    calls: int = 0
    raised: int = 0
    uncertain: int = 0
    alarms: int = 0
    confirmed: int = 0
    flaky: int = 0
    known: int = 0
    program_faults: int = 0
    faults: int = 0
    measured: int = 0
    findings: int = 0
    new_units: int = 0
    slowest_seconds: float = 0.0
    peak_bytes: int = 0
    verdicts: Counter[str] = field(default_factory=Counter)
    backend_seconds: dict[str, float] = field(default_factory=dict)
    backend_runs: Counter[str] = field(default_factory=Counter)
    findings_by_verdict: Counter[str] = field(default_factory=Counter)
    limitations: Counter[str] = field(default_factory=Counter)

    def count(
        self, result: Result, backend: str, seconds: float, resident_bytes: int, *, work: float
    ) -> None:
        """Count one execution of the search, on `backend`, in a worker of that memory.

        `work` is in units of a usual execution on the cheapest back end.
        """
        self.executions += 1
        self.search_work += work
        self.calls += result.calls
        self.raised += result.raised
        self.uncertain += result.uncertain
        self.verdicts[result.verdict] += 1
        met = {each.note for each in result.steps if each.verdict == Verdict.DOCUMENTED.value}
        self.limitations.update(met)
        self.backend_runs[backend] += 1
        self.backend_seconds[backend] = self.backend_seconds.get(backend, 0.0) + seconds
        self.slowest_seconds = max(self.slowest_seconds, seconds)
        self.peak_bytes = max(self.peak_bytes, resident_bytes)

    def adopt(self, findings: Counter[str]) -> None:
        """Count findings, by verdict, that this campaign made before it was killed."""
        self.confirmed += findings.total()
        self.findings += findings.total()
        self.findings_by_verdict.update(findings)

    @property
    def not_compiled(self) -> int:
        """Executions in which an arm that should have compiled did not."""
        return self.verdicts[Verdict.NOT_COMPILED.value]

    @property
    def raised_share(self) -> float:
        """Share of the calls that raised."""
        return self.raised / self.calls if self.calls else 0.0

    def time_shares(self) -> dict[str, float]:
        """Return the share of time that the search took on each back end, and that triage took."""
        spent = dict(sorted(self.backend_seconds.items()))
        if self.triage_seconds:
            spent[TRIAGE] = self.triage_seconds
        total = sum(spent.values())
        return {name: seconds / total if total else 0.0 for name, seconds in spent.items()}

    def documented(self) -> list[str]:
        """Return a line for each documented limitation that executions met, the commonest first."""
        return [
            f"documented, {count} executions: {name}"
            for name, count in self.limitations.most_common()
        ]

    def final(self, seconds: float) -> dict[str, int | float]:
        """Return the final statistics: libFuzzer's names first, then ours."""
        return {
            "number_of_executed_units": self.executions,
            "average_exec_per_sec": round(self.executions / seconds, 1) if seconds else 0.0,
            "new_units_added": self.new_units,
            "slowest_unit_time_sec": round(self.slowest_seconds, 1),
            "peak_rss_mb": self.peak_bytes >> 20,
            "calls": self.calls,
            "raised_share": round(self.raised_share, 3),
            "alarms": self.alarms,
            "confirmed": self.confirmed,
            "known": self.known,
            "flaky": self.flaky,
            "findings": self.findings,
            "not_compiled": self.not_compiled,
            "not_comparable": self.verdicts[Verdict.NOT_COMPARABLE.value],
            "uncertain": self.uncertain,
            "slow": self.verdicts[Cause.SLOWNESS.value],
            "documented": self.verdicts[Verdict.DOCUMENTED.value],
            "program_faults": self.program_faults,
            "harness_faults": self.faults,
            "triage_runs": self.triage_runs,
            "triage_seconds": round(self.triage_seconds, 1),
            "measured_fresh": self.measured,
        }
