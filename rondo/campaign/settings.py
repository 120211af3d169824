"""What a campaign was asked to do: one frozen record, every default in one place."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Settings:
    """A campaign's settings, named as their flags are."""

    corpora: tuple[Path, ...]
    framework: str = "torch"
    runs: int = UNLIMITED
    max_total_time: float = 0.0
    workers: int = 0
    jobs: int = 0
    fork: int = 0
    merge: bool = False
    minimize_crash: bool = False
    seed: int = 0
    max_len: int = 0
    timeout: float = 60.0
    rss_limit_mb: int = 4096
    artifact_prefix: Path = Path("findings")
    print_final_stats: bool = False
    show_documented: bool = False
    error_exitcode: int = 0
    verbosity: int = 1
    sampler: str = "mcmc"
    backends: tuple[str, ...] = ()
    constructs: tuple[str, ...] = ()
    architectures: tuple[str, ...] = ()
    preloads: tuple[str, ...] = ()
    subject: str = ""
    batch: int = 16
    lines: bool = True
    device: str = "auto"
    device_limit_mb: int = 0
    json: bool = False
    campaign: Path | None = None
    resume: bool = False
    max_disk_mb: int = 0
    openmetrics: Path | None = None
    ray: str = ""
    decide_at_once: bool = False
    """Whether alarms are looked into as they come, whatever that takes: for who needs but one."""

    @property
    def slots(self) -> int:
        """How many workers run at once: -fork, else -workers, else as libFuzzer for its -jobs."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
        automatic = min(self.jobs, max(1, cores // 2)) or 1
        return self.fork or self.workers or automatic

    @property
    def total_runs(self) -> int:
        """Executions in all: -runs, for each of the -jobs."""
        return self.runs * max(self.jobs, 1) if self.runs != UNLIMITED else UNLIMITED

    @property
    def total_seconds(self) -> float:
        """Seconds in all: -max_total_time, for each round of -jobs that -workers run at once."""
        return self.max_total_time * math.ceil(max(self.jobs, 1) / self.slots)
