"""What is shown: libFuzzer's shape for logs, everything at a glance on a terminal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from rondo.campaign.live import LiveStatus
from rondo.campaign.settings import Settings
from rondo.campaign.stats import Stats
from rondo.campaign.status import FindingNote, JsonStatus, PlainStatus, Snapshot, size_text
from rondo.oracle.result import Result, StepReport

NOW = Snapshot(
    executions=123,
    behaviours=456,
    corpus=30,
    corpus_bytes=2100,
    seconds=10.0,
    resident_bytes=512 << 20,
    findings=2,
    alarms=9,
    flaky=1,
    acceptance=0.25,
    findings_by_verdict={"stateful": 2},
    time_shares={"deep": 0.25, "shallow": 0.75},
)
NOTE = FindingNote("stateful: value", "findings/x/reproducer.rondo", 3, 120)


def test_a_line_is_libfuzzers() -> None:
    line = "#123\tNEW    beh: 456 corp: 30/2Kb exec/s: 12 rss: 512Mb finds: 2"
    assert NOW.line("NEW") == line
    assert "pulse  cov: 7 beh: 456" in replace(NOW, lines=7).line("pulse")
    assert "exec/s: 0.4 " in replace(NOW, executions=4).line("NEW")
    assert "exec/s: 0.0 " in replace(NOW, seconds=0).line("NEW")


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0b"), (1023, "1023b"), (1024, "1Kb"), (1 << 20, "1Mb"), (5 << 20, "5Mb")],
)
def test_sizes_are_written_as_libfuzzer_does(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(("verbosity", "lines"), [(0, 2), (1, 4), (2, 5)])
def test_verbosity(verbosity: int, lines: int) -> None:
    stream = io.StringIO()
    status = PlainStatus(verbosity=verbosity, stream=stream)
    status.info("Seed: 7")
    status.event("NEW", NOW)
    status.update(NOW, "running 4 steps")
    status.finding(NOTE, NOW)
    status.final({"calls": 5})
    status.close()
    said = stream.getvalue().splitlines()
    assert len(said) == lines
    assert said[-2] == "#120\tFIND   stateful: value (3 steps): findings/x/reproducer.rondo"
    assert said[-1] == "stat::calls:                     5"


def test_a_finding_that_was_not_shortened_says_so() -> None:
    assert replace(NOTE, shortened=False).size == "3 steps, not shortened"


def test_json_is_one_object_a_line() -> None:
    stream = io.StringIO()
    status = JsonStatus(stream=stream)
    status.event("NEW", NOW)
    status.update(NOW, "not shown")
    status.finding(NOTE, NOW)
    status.close()
    new, finding = map(json.loads, stream.getvalue().splitlines())
    assert (new["event"], new["executions"], new["acceptance"]) == ("new", 123, 0.25)
    assert (finding["event"], finding["path"], finding["steps"]) == ("finding", NOTE.path, 3)


def test_the_live_display_shows_everything_at_a_glance() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=120, height=30, color_system=None)
    status = LiveStatus(Settings((Path("c"),), max_total_time=20.0), console=console)
    status.info("Seed: 7")
    status.event("NEW", NOW)
    status.update(replace(NOW, seconds=15.0), "shortening")
    status._live.refresh()
    status.finding(NOTE, NOW)
    status.final({"calls": 5})
    said = stream.getvalue()
    for text in ("0:00:15", "123 (8.2/s)", "456", "30 (2Kb)", "0:00:05 ago", "stateful 2"):
        assert text in said
    for text in ("9, 1 flaky", "25%", "deep 25%, shallow 75%", "512 Mb", "not traced"):
        assert text in said
    assert "FIND stateful: value (3 steps) findings/x/reproducer.rondo" in said
    assert "\u2501" in said, "a bar, since there is a limit"
    assert said.endswith("stat::calls:                     5\n")


@pytest.mark.parametrize(
    ("limits", "share"),
    [
        ({}, None),
        ({"runs": 246}, 0.5),
        ({"max_total_time": 40.0}, 0.25),
        ({"runs": 246, "max_total_time": 12.5}, 0.8),
        ({"runs": 12}, 1.0),
    ],
)
def test_the_bar_shows_the_limit_that_comes_first(
    limits: dict[str, float], share: float | None
) -> None:
    console = Console(file=io.StringIO())
    status = LiveStatus(Settings((Path("c"),), **limits), console=console)  # type: ignore[arg-type]
    status.close()
    assert status._share(NOW) == share
    later = replace(NOW, seconds=NOW.seconds + 500, earlier_seconds=500)
    assert status._share(later) == share, "the limit is this command's"


def test_statistics_count_what_happened() -> None:
    stats = Stats()
    stats.count(Result("agree", calls=3, raised=1), "eager", 1.0, 10 << 20, work=2.0)
    stats.count(Result("not compiled", calls=1, uncertain=2), "inductor", 2.0, 5 << 20, work=12.0)
    steps = tuple(StepReport("call()", "documented", note="no hooks (https://x)") for _ in "ab")
    stats.count(Result("documented", steps=steps), "inductor", 1.0, 5 << 20, work=12.0)
    final = stats.final(8.0)
    assert final["number_of_executed_units"] == 3
    assert final["documented"] == 1
    assert stats.documented() == ["documented, 1 executions: no hooks (https://x)"]
    assert final["average_exec_per_sec"] == 0.4
    assert final["slowest_unit_time_sec"] == 2.0
    assert final["peak_rss_mb"] == 10
    assert (final["calls"], final["raised_share"]) == (4, 0.25)
    assert (final["not_compiled"], final["uncertain"]) == (1, 2)
    assert stats.time_shares() == {"eager": 0.25, "inductor": 0.75}
    stats.triage_seconds = 4.0
    assert stats.time_shares() == {"eager": 0.125, "inductor": 0.375, "triage": 0.5}
    assert stats.final(8.0)["triage_seconds"] == 4.0
    assert Stats().final(0.0)["average_exec_per_sec"] == 0.0
