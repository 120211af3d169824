"""The OpenMetrics file: its format, and that a campaign keeps it."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from rondo.campaign.metrics import MetricsStatus, exposition
from rondo.campaign.status import FindingNote, PlainStatus, Snapshot
from tests.campaign.conftest import STALE
from tests.campaign.test_campaign import SAFE, seed

SNAPSHOT = Snapshot(
    7,
    3,
    2,
    100,
    1.5,
    1 << 20,
    1,
    40,
    findings_by_verdict={"stateful": 1},
    time_shares={"deep": 1.0},
)
LINE = re.compile(r'# (TYPE|HELP) rondo_\w+ .+|rondo_\w+(\{\w+="[\w ]+"\})? [0-9.e+-]+|# EOF')


def test_the_format_is_that_of_openmetrics() -> None:
    lines = exposition(SNAPSHOT).splitlines()
    assert all(LINE.fullmatch(line) for line in lines), lines
    assert lines[-1] == "# EOF"
    assert "rondo_executions_total 7" in lines
    assert 'rondo_findings_total{verdict="stateful"} 1' in lines
    assert 'rondo_time_share{backend="deep"} 1' in lines
    families = [line.split()[2] for line in lines if line.startswith("# TYPE")]
    assert len(families) == len(set(families))


def test_a_campaign_keeps_the_file(
    fuzz: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    seed(tmp_path / "corpus", stale=STALE)
    done = fuzz("-runs=15", "-seed=2", SAFE, "--openmetrics=out/rondo.prom")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "out" / "rondo.prom").read_text()
    assert "rondo_executions_total 15\n" in text
    assert 'rondo_findings_total{verdict="stateful"} ' in text
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["rondo.prom"]


def test_a_file_that_cannot_be_written_is_told_before_anything_runs(
    fuzz: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    done = fuzz("-runs=15", "--openmetrics=folder")
    assert done.returncode == 2
    assert done.stderr == "error: cannot write folder: Is a directory\n"


def test_everything_is_passed_on_and_a_full_disk_stops_nothing(tmp_path: Path) -> None:
    stream = StringIO()
    status = MetricsStatus(PlainStatus(verbosity=2, stream=stream), tmp_path / "file" / "x.prom")
    shutil.rmtree(tmp_path / "file")
    (tmp_path / "file").write_text("")
    status.event("NEW", SNAPSHOT)
    status.update(SNAPSHOT, "running")
    status.finding(FindingNote("bucket", "path", 2, 7), SNAPSHOT)
    status.info("told")
    status.final({"x": 1})
    status.close()
    said = stream.getvalue()
    for word in ("NEW", "running", "bucket", "told", "stat::x:"):
        assert word in said
