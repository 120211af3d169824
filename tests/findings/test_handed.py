"""The handed bugs, shortened: hardly one larger than four steps, no two in a bucket, still there.

`handed/` holds what `rondo shrink` made of every case of `bench/bugs/cases.py` with an alarm.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest
import torch

from rondo.campaign.pool import Server
from rondo.findings import replay
from rondo.findings.bucket import bucket_of, bucket_of_finding, find_alarm
from rondo.findings.known import KnownBuckets
from rondo.findings.reproducer import load
from rondo.frameworks.registry import load_framework
from rondo.oracle.run import execute
from rondo.sequences.codec import decode

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "bugs")]

import cases as known  # noqa: E402  (scripts of the bench, not packages)
import shorten as bench  # noqa: E402

HANDED = Path(__file__).parent / "handed"
FINDINGS = {path.stem: load(path) for path in sorted(HANDED.glob("*.rondo"))}
CHEAP = [name for name, finding in FINDINGS.items() if finding.identity.backend != "inductor"]
HERE = torch.__version__.startswith(known.TORCH)


def test_every_handed_bug_is_there_and_small() -> None:
    alarming = {case.name for case in known.CASES if {*case.verdicts} & {*bench.ALARMING}}
    assert set(FINDINGS) == alarming
    assert len(FINDINGS) >= 13
    assert all(finding.minimal for finding in FINDINGS.values())
    larger = {name for name, finding in FINDINGS.items() if len(finding.decoded["steps"]) > 4}
    assert larger == {"aotcache_stale_guards_expr"}, (
        "two programs that each mark a size: five steps"
    )


def test_different_bugs_never_share_a_bucket() -> None:
    buckets = {bucket_of_finding(finding) for finding in FINDINGS.values()}
    assert len(buckets) == len({bucket.name for bucket in buckets}) == len(FINDINGS)


def test_the_list_of_known_bugs_has_their_reports() -> None:
    listed = KnownBuckets(ROOT / "bench" / "bugs" / "known.json").buckets
    reports = {case.name: case.report for case in known.CASES}
    expected = {
        bucket_of_finding(finding).name: reports[name]
        for name, finding in FINDINGS.items()
        if reports[name]
    }
    assert {name: listed[name].url for name in expected} == expected


@pytest.mark.skipif(not HERE, reason="bugs come and go")
@pytest.mark.parametrize("name", CHEAP)
def test_they_still_show_and_mean_what_they_meant(name: str) -> None:
    framework = load_framework("torch")
    vocabulary = framework.vocabulary()
    finding = FINDINGS[name]
    replay.check_vocabulary(replay.Replayable(finding.data, finding.framework, finding), vocabulary)
    result = execute(finding.data, framework, vocabulary=vocabulary)
    assert find_alarm(result, finding.identity, strict=True) is not None
    assert bucket_of(finding.identity, decode(finding.data, vocabulary)) == (
        bucket_of_finding(finding)
    )


@pytest.mark.slow
@pytest.mark.skipif(not HERE, reason="bugs come and go")
def test_a_bug_hidden_in_thirty_steps_ends_in_its_own_bucket() -> None:
    server = Server("torch")
    try:
        runs = bench.Bench(server)
        (bug,) = runs.bugs(False, ("rng_random_object",))
        own = bucket_of_finding(FINDINGS["rng_random_object"]).name
        row = runs.measure(bug, own, Random(7))
    finally:
        server.close()
    assert row is not None
    assert (row.steps, row.bucket, row.left) == (2, own, ())
