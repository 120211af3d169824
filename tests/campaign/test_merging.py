"""Merging, minimising, looking at corpora; shortening one file; the figures of a campaign."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.findings.reproducer import load
from rondo.sequences.step import Call, Change
from tests.campaign.conftest import HARMLESS, STALE, TOY, toy_bytes
from tests.campaign.test_campaign import SAFE, corpus_in, seed

Run = Callable[..., subprocess.CompletedProcess[str]]
LONG = toy_bytes("scale", *[Call(), Change("scale", 0, 0)] * 4, Call())
"""Shows all that HARMLESS does, and hits besides."""


def behaviours(folder: Path) -> set[int]:
    """Return all that the sequences of a folder show, each in a process of its own."""
    server = Server(TOY)
    try:
        fresh = Executor(server, Limits(seconds=20, resident_bytes=200 << 20), 1, lambda: None)
        results = [fresh.run_fresh(data) for data in corpus_in(folder).values()]
    finally:
        server.close()
    return {hash_ for result in results for hash_ in result.behaviours}


@pytest.mark.parametrize("workers", ["-workers=1", "-workers=3"])
def test_a_merge_adds_what_the_first_folder_does_not_show(
    fuzz: Run, tmp_path: Path, workers: str
) -> None:
    first = seed(tmp_path / "first", harmless=HARMLESS)
    again = toy_bytes("scale", Call(value_seed=1), Change("scale", 0, 0), Call(value_seed=1))
    second = seed(tmp_path / "second", again=again, long=LONG, stale=STALE)
    done = fuzz("-merge=1", workers, second, corpus="first")
    assert done.returncode == 0, done.stderr
    assert "MERGE-OUTER: 1 new files" in done.stderr
    assert "1 with an alarm and 0 that cannot run were left out" in done.stderr
    assert sorted(corpus_in(first).values()) == sorted([HARMLESS, LONG])
    assert len(corpus_in(second)) == 3, "the others are left alone"
    assert "MERGE-OUTER: 0 new files" in fuzz("-merge=1", second, corpus="first").stderr


def test_a_minimised_corpus_is_smaller_and_shows_the_same(
    rondo: Run, fuzz: Run, tmp_path: Path
) -> None:
    assert fuzz("-seed=3", "-runs=120", "--sampler=random", SAFE).returncode == 0
    corpus = tmp_path / "corpus"
    before, shown = corpus_in(corpus), behaviours(corpus)
    copied = rondo("corpus", "minimise", "corpus", "--framework", TOY, "--out", "small")
    assert copied.returncode == 0, copied.stderr
    assert corpus_in(corpus) == before
    done = rondo("corpus", "minimise", "corpus", "--framework", TOY, "--workers", 2)
    assert f"of {len(before)} sequences show all {len(shown)} behaviours" in done.stdout
    assert corpus_in(corpus).items() < before.items()
    assert corpus_in(corpus) == corpus_in(tmp_path / "small")
    assert behaviours(corpus) == shown


def test_a_corpus_is_shown_and_counted(rondo: Run, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", harmless=HARMLESS, stale=STALE)
    shown = rondo("corpus", "show", "corpus", "--framework", TOY).stdout
    assert shown.index("harmless") < shown.index("stale  ")
    assert "  step 1: stale_scale.set_factor(0)" in shown
    figures = json.loads(rondo("corpus", "stats", "corpus", "--framework", TOY, "--json").stdout)
    assert figures["sequences"] == 2
    assert (figures["steps"], figures["calls"]) == (6, 4)
    assert figures["constructs"] == {"scale": 1, "stale_scale": 1}
    assert (
        "backends:        shallow 2"
        in rondo("corpus", "stats", "corpus", "--framework", TOY).stdout
    )


def test_minimize_crash_shortens_one_file(rondo: Run, tmp_path: Path) -> None:
    long = toy_bytes(
        "stale_scale", Call(value_seed=3), Call(), Change("stale_scale"), Call(), Call()
    )
    seed(tmp_path, crash=long)
    done = rondo("-minimize_crash=1", "crash.seq", "--framework", TOY, module="rondo.fuzz")
    assert done.returncode == 0, done.stderr
    assert "CRASH_MIN: 5 steps became 3" in done.stderr
    assert load(tmp_path / "findings" / "minimized-from-crash.rondo").data == STALE


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("-merge=1", "corpus"), "-merge=1 needs a folder to merge into"),
        (("-merge=1", "corpus", "gone"), "corpus folder gone does not exist"),
        (("-minimize_crash=1", "a", "b"), "-minimize_crash=1 needs one file"),
        (("-minimize_crash=1", "gone.seq"), "cannot read gone.seq"),
        (("-minimize_crash=1", "harmless.seq"), "the bug does not show here"),
    ],
)
def test_what_cannot_be_merged_or_shortened_is_one_line(
    rondo: Run, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "harmless.seq").write_bytes(HARMLESS)
    done = rondo(*arguments, "--framework", TOY, module="rondo.fuzz")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert says in line


def test_the_standing_of_a_campaign(rondo: Run, tmp_path: Path) -> None:
    for number in (1, 2):
        flags = ("--campaign=c", "--framework", TOY, SAFE, f"-seed={number}", "-runs=15")
        assert rondo(*flags, module="rondo.fuzz").returncode == 0
    with (tmp_path / "c" / "members" / "2" / "stats.jsonl").open("a") as file:
        file.write('{"executions": 9')  # a line that is being written
    table = rondo("stats", "c").stdout
    assert table.splitlines()[0].split()[:4] == ["member", "state", "seconds", "executions"]
    assert "executions:      30" in table
    data = json.loads(rondo("stats", "c", "--json").stdout)
    assert [each["executions"] for each in data["members"]] == [15, 15]
    assert not any(each["running"] for each in data["members"])
    assert rondo("stats", "corpus").returncode == 2
