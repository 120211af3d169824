"""What a campaign was asked to do: one frozen record, every default in one place."""

from __future__ import annotations

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
    seed: int = 0
    max_len: int = 0
    timeout: float = 60.0
    rss_limit_mb: int = 4096
    artifact_prefix: Path = Path("findings")
    print_final_stats: bool = False
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
    device: str = "cpu"
    json: bool = False
