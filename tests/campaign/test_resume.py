"""Campaigns with a folder: continued exactly, shared, kept when killed or out of room."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

import msgpack
import pytest

from rondo._native.behaviour import BehaviourMap
from rondo.campaign import disk
from rondo.campaign.artifacts import Artifacts
from rondo.campaign.driver import Progress
from rondo.campaign.exchange import subtracted
from rondo.campaign.flags import parse
from rondo.campaign.folder import is_running, join, resume, save_settings
from rondo.campaign.graph import GraphError, Reader, Writer
from rondo.campaign.keeper import SUM, revisits
from rondo.findings.bucket import bucket_of_finding
from rondo.findings.reproducer import load
from rondo.oracle.result import Identity
from rondo.search.corpus import Corpus
from rondo.search.mcmc import Chain
from rondo.sequences.step import Call, Change
from tests.campaign.conftest import HARMLESS, STALE, TOY, VOCABULARY, toy_bytes
from tests.campaign.test_campaign import (
    SAFE,
    corpus_in,
    findings_in,
    seed,
    statistics,
)

Completed = subprocess.CompletedProcess[str]
LIMITS = ("-timeout=10", "-rss_limit_mb=200", "-print_final_stats=1")


@pytest.fixture
def campaign(rondo: Callable[..., Completed]) -> Callable[..., Completed]:
    """Run a campaign over the toy in the folder `c`, or another."""

    def run(*arguments: object, folder: str = "c", new: bool = True) -> Completed:
        begin = ("--framework", TOY, "-seed=7", SAFE) if new else ("--resume",)
        return rondo(f"--campaign={folder}", *begin, *LIMITS, *arguments, module="rondo.fuzz")

    return run


def launch(folder: Path, environment: dict[str, str], *flags: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "rondo.fuzz", "--campaign=c", *LIMITS, *flags]
    return subprocess.Popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)


def checkpoint(folder: Path, member: int = 1) -> dict[str, object]:
    path = folder / "members" / str(member) / "checkpoint"
    record = msgpack.unpackb(path.read_bytes()[SUM:], strict_map_key=False)
    assert isinstance(record, dict)
    return record


def counted(text: str) -> dict[str, str]:
    """Return the final statistics but for those that a clock or a machine decides."""
    timed = re.compile("seconds|per_sec|time_sec|rss")
    return {name: value for name, value in statistics(text).items() if not timed.search(name)}


def known_by(folder: Path) -> dict[str, object]:
    """Return what a checkpoint knows of the search, without times."""
    record = checkpoint(folder)
    wanted = ("corpus", "counts", "labels", "sampler", "alarms")
    return {name: record[name] for name in wanted}


@pytest.mark.parametrize("sampler", ["mcmc", "random"])
def test_a_continued_campaign_is_the_same_as_one_that_went_on(
    campaign: Callable[..., Completed], tmp_path: Path, sampler: str
) -> None:
    whole = campaign("-runs=120", f"--sampler={sampler}", folder="whole")
    for runs in (50, 83):
        assert campaign(f"-runs={runs}", f"--sampler={sampler}", new=runs == 50).returncode == 0
    last = campaign("-runs=120", new=False)
    assert last.returncode == whole.returncode == 0, last.stderr
    assert known_by(tmp_path / "c") == known_by(tmp_path / "whole")
    assert corpus_in(tmp_path / "c" / "corpus") == corpus_in(tmp_path / "whole" / "corpus") != {}
    found = findings_in(tmp_path / "c" / "findings")
    assert found == findings_in(tmp_path / "whole" / "findings") != {}
    alarms = repr(known_by(tmp_path / "c")["alarms"])
    assert "call(several)" in alarms, "one alarm to the search, whichever operands differ"
    assert not re.search(r"call\(\w+,", alarms)
    assert counted(last.stderr) == counted(whole.stderr)


@pytest.mark.parametrize(("event", "times"), [("FIND", 1), ("NEW", 1), ("NEW", 40)])
def test_a_killed_campaign_loses_nothing_and_ends_as_if_nothing_had_been(
    campaign: Callable[..., Completed],
    environment: dict[str, str],
    tmp_path: Path,
    event: str,
    times: int,
) -> None:
    """Right after a checkpoint, before the first one that is due, and long after the last."""
    whole = campaign("-runs=150", folder="whole")
    assert whole.returncode == 0
    begin = ("--framework", TOY, "-seed=7", SAFE, "-runs=150")
    process = launch(tmp_path, environment, *begin)
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += event in line
        if seen == times:
            break
    process.kill()
    process.communicate(timeout=30)
    before = findings_in(tmp_path / "c" / "findings"), corpus_in(tmp_path / "c" / "corpus")
    last = campaign("-runs=150", new=False)
    assert last.returncode == 0, last.stderr
    found = findings_in(tmp_path / "c" / "findings")
    assert found == findings_in(tmp_path / "whole" / "findings")
    assert before[0].items() <= found.items()
    kept = corpus_in(tmp_path / "c" / "corpus")
    assert before[1].items() <= kept.items()
    assert kept == corpus_in(tmp_path / "whole" / "corpus")
    assert known_by(tmp_path / "c") == known_by(tmp_path / "whole")
    assert counted(last.stderr) == counted(whole.stderr)
    assert event in line
    if event == "FIND":
        name = line.split(" (")[0].split("FIND")[1].strip()
        assert name not in last.stderr, "a finding is reported once"
    assert list((tmp_path / "tmp").iterdir()) == []


SAVING = """
import sys
from rondo.campaign import lines
from rondo.fuzz import main
lines.SAVE_EVERY = 1
sys.exit(main())
"""
"""Runs a campaign whose file of lines is newer than its checkpoint nearly always."""


def test_lines_that_steer_the_search_do_so_again_after_a_kill(
    rondo: Callable[..., Completed], environment: dict[str, str], tmp_path: Path
) -> None:
    """On Python 3.12 and later the sampler is told of them."""
    begin = ("--framework", "tests.campaign.traced_toy:TracedToy", "-seed=7", SAFE, "-runs=60")
    whole = rondo("--campaign=whole", *begin, *LIMITS, module="rondo.fuzz")
    assert "cov: " in whole.stderr
    process = subprocess.Popen(
        [sys.executable, "-c", SAVING, "--campaign=c", *LIMITS, *begin],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    seen = 0
    for line in process.stderr:
        seen += "NEW" in line
        if seen == 4:
            break
    process.kill()
    process.communicate(timeout=30)
    assert rondo("--campaign=c", "--resume", *LIMITS, module="rondo.fuzz").returncode == 0
    assert known_by(tmp_path / "c") == known_by(tmp_path / "whole")


DEADLY = """
import os, sys
from rondo.campaign import artifacts, keeper
from rondo.fuzz import main
link, figures = os.link, keeper.FolderKeeper._add_figures
def kill(*_):
    os.kill(os.getpid(), 9)
def kill_once_linked(source, target):
    link(source, target)
    kill()
def kill_once_remembered(self, campaign):
    figures(self, campaign)
    if campaign.stats.findings:
        kill()
place = sys.argv.pop(1)
if place == "remembered":
    keeper.FolderKeeper._add_figures = kill_once_remembered
else:
    artifacts.os.link = kill if place == "noted" else kill_once_linked
sys.exit(main())
"""
"""Runs a campaign that is killed at the first finding: before it is in place, once it is, and once
a checkpoint remembers it. Nobody was told in any of these cases."""


@pytest.fixture
def altered(environment: dict[str, str], tmp_path: Path) -> Callable[..., Completed]:
    """Run a program that alters Rondo and begins a campaign in the folder `c`."""

    def run(program: str, *arguments: str) -> Completed:
        """The first of `arguments` is the program's own, the others are flags."""
        begin = ("--campaign=c", "--framework", TOY, "-seed=7", SAFE, *LIMITS)
        return subprocess.run(
            [sys.executable, "-c", program, arguments[0], *begin, *arguments[1:]],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )

    return run


@pytest.fixture
def killed(altered: Callable[..., Completed]) -> Callable[..., None]:
    """Run a campaign in the folder `c` that is killed at some place."""

    def run(place: str, *flags: str) -> None:
        done = altered(DEADLY, place, "-runs=150", *flags)
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert "FIND" not in done.stderr

    return run


def told_in(text: str) -> list[str]:
    return re.findall(r"FIND +(.*?) \(", text)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("place", ["noted", "linked", "remembered"])
def test_a_finding_that_a_killed_driver_did_not_tell_is_told_once(
    campaign: Callable[..., Completed],
    killed: Callable[..., None],
    tmp_path: Path,
    place: str,
    workers: int,
) -> None:
    killed(place, f"-fork={workers}")
    there = findings_in(tmp_path / "c" / "findings")
    assert len(there) == (place != "noted")
    shutil.copytree(tmp_path / "c", tmp_path / "copy")  # with other inodes
    last = campaign("-runs=150", new=False, folder="copy")
    assert last.returncode == 0, last.stderr
    told = told_in(last.stderr)
    found = findings_in(tmp_path / "copy" / "findings")
    assert len({*told}) == len(told) == len(found) >= 1
    assert there.items() <= found.items()
    assert list((tmp_path / "copy" / "findings" / "unconfirmed").glob("*")) == []
    if workers == 1:
        whole = campaign("-runs=150", folder="whole")
        assert whole.returncode == 0
        assert found == findings_in(tmp_path / "whole" / "findings")
        assert counted(last.stderr) == counted(whole.stderr)
        assert sorted(told) == sorted(told_in(whole.stderr))
    again = campaign("-runs=151", new=False, folder="copy")
    assert not {*told} & {*told_in(again.stderr)}


def test_several_workers_keep_and_tell_what_a_killed_driver_had_filed(
    campaign: Callable[..., Completed], killed: Callable[..., None], tmp_path: Path
) -> None:
    """They will not do the same again: they may never find it, or find another form of it."""
    killed("linked", "-fork=2")
    (filed,) = (tmp_path / "c" / "findings").glob("*/reproducer.rondo")
    bucket, before = str(bucket_of_finding(load(filed))), filed.stat().st_mtime_ns
    shutil.rmtree(tmp_path / "c" / "findings" / "unconfirmed")
    done = campaign("-runs=1", new=False)
    assert done.returncode == 0, done.stderr
    assert filed.stat().st_mtime_ns == before
    (first, *others) = told_in(done.stderr)
    assert first == bucket not in others
    assert statistics(done.stderr)["findings"] == 1 + len(others)


def test_what_several_workers_left_is_decided_by_one(
    campaign: Callable[..., Completed], killed: Callable[..., None], tmp_path: Path
) -> None:
    killed("linked", "-fork=2", "--constructs=scale,stale_scale")  # of one bug
    done = campaign("-runs=1", "-workers=1", new=False)
    assert done.returncode == 0, done.stderr
    assert "to be decided" in done.stderr
    assert len(told_in(done.stderr)) == len(findings_in(tmp_path / "c" / "findings")) == 1


def test_a_log_of_findings_that_nobody_wrote_says_nothing(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    assert campaign("-runs=5").returncode == 0
    log = tmp_path / "c" / "members" / "1" / "filed"
    log.write_bytes(b"filed a\0b 12\nfiled\n\xff\xfe\ntold ../x\nfiled ../../x 1\n" + b"\0" * 99)
    assert campaign("-runs=9", new=False).returncode == 0


def test_without_its_checkpoint_a_campaign_begins_anew_and_tells_what_it_finds(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    whole = campaign("-runs=60")
    shutil.rmtree(tmp_path / "c" / "findings")
    (tmp_path / "c" / "members" / "1" / "checkpoint").unlink()
    again = campaign("-runs=150", new=False)
    assert {*told_in(whole.stderr)} & {*told_in(again.stderr)}
    assert "INFO: member 1 has no checkpoint: it begins anew" in again.stderr


STOPPING = """
import os, sys
from rondo.campaign.triage import Triage
from rondo.fuzz import main
confirm, left = Triage._confirm, [int(sys.argv.pop(1))]
def stop_and_confirm(self, data, identity):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), 15)
    return confirm(self, data, identity)
Triage._confirm = stop_and_confirm
sys.exit(main())
"""
"""Runs a campaign that gets a signal when it is about to confirm its n-th alarm."""


@pytest.mark.parametrize("alarm", [1, 2])
def test_a_signal_while_an_alarm_is_decided_counts_nothing_twice(
    campaign: Callable[..., Completed],
    altered: Callable[..., Completed],
    tmp_path: Path,
    alarm: int,
) -> None:
    whole = campaign("-runs=100", folder="whole")
    first = altered(STOPPING, str(alarm), "-runs=100")
    assert first.returncode == 143, first.stderr
    last = campaign("-runs=100", new=False)
    assert last.returncode == 0, last.stderr
    assert counted(last.stderr) == counted(whole.stderr)
    assert findings_in(tmp_path / "c" / "findings") == findings_in(tmp_path / "whole" / "findings")


WAITING = """
import os, sys
from rondo.campaign import driver
from rondo.fuzz import main
driver.TRIAGE_HEAD = driver.TRIAGE_SHARE = 0.0
last, step = int(sys.argv.pop(1)), driver.Campaign._step
def kill_at_last(self, slot, job):
    if self.stats.executions == last:
        os.kill(os.getpid(), 9)
    step(self, slot, job)
driver.Campaign._step = kill_at_last
sys.exit(main())
"""
"""Runs a campaign that lets alarms wait until its search is over, and is killed at an execution."""


def test_alarms_that_wait_are_decided_when_the_search_is_over(
    campaign: Callable[..., Completed], altered: Callable[..., Completed], tmp_path: Path
) -> None:
    done = altered(WAITING, "-1", "-runs=60")
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stderr.splitlines() if "FIND" in line]
    assert found
    assert all(line.startswith("#60") for line in found)
    assert list((tmp_path / "c" / "findings" / "unconfirmed").glob("*")) == []
    assert campaign("-runs=60", folder="whole").returncode == 0
    folders = (tmp_path / name / "findings" for name in ("c", "whole"))
    assert len({frozenset(findings_in(folder)) for folder in folders}) == 1, "in any order"


def test_alarms_that_wait_outlive_a_kill(
    campaign: Callable[..., Completed], altered: Callable[..., Completed], tmp_path: Path
) -> None:
    assert altered(WAITING, "50", "-runs=60").returncode == -signal.SIGKILL
    findings = tmp_path / "c" / "findings"
    assert list((findings / "unconfirmed").glob("*.seq"))
    last = campaign("-runs=60", new=False)
    assert last.returncode == 0, last.stderr
    assert list((findings / "unconfirmed").glob("*")) == []
    assert len({*told_in(last.stderr)}) == len(findings_in(findings)) >= 1


def test_what_a_repeated_search_does_not_meet_again_is_decided_after_it(
    campaign: Callable[..., Completed], altered: Callable[..., Completed], tmp_path: Path
) -> None:
    """A limit was changed, or chance had a hand in it."""
    assert altered(WAITING, "30", "-runs=40").returncode == -signal.SIGKILL
    findings = tmp_path / "c" / "findings"
    artifacts = Artifacts(findings)
    chance, bug = HARMLESS, toy_bytes("batch_mean", *(Call(sizes=(size,)) for size in (1, 0)))
    for data in (chance, bug):
        artifacts.keep("unconfirmed", data, "what it was\n")
    last = campaign("-runs=40", new=False)
    assert last.returncode == 0, last.stderr
    assert list((findings / "unconfirmed").glob("*")) == []
    assert any("batch-mean" in name for name in findings_in(findings))
    assert artifacts.holds("flaky", chance)
    flaky = artifacts.keep("flaky", chance)
    assert artifacts.notes_of(flaky) == ["what it was"]


AT_ONCE = """
import sys
from pathlib import Path
from rondo.campaign import driver
from rondo.campaign.settings import Settings
from rondo.fuzz import run
driver.TRIAGE_HEAD = driver.TRIAGE_SHARE = 0.0
constructs = ("scale", "stale_scale", "batch_mean")
sys.exit(run(Settings((Path("c"),), framework=sys.argv[1], runs=60, seed=7, constructs=constructs,
                      lines=False, decide_at_once=sys.argv[2] == "True")))
"""


@pytest.mark.parametrize("at_once", [True, False])
def test_who_needs_but_one_finding_does_not_wait(
    environment: dict[str, str], tmp_path: Path, at_once: bool
) -> None:
    (tmp_path / "c").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE, TOY, str(at_once)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    found = [line for line in done.stderr.splitlines() if "FIND" in line]
    assert found
    assert all(line.startswith("#60") for line in found) != at_once


@pytest.mark.parametrize("found", ["seed", "nowhere else"])
def test_an_alarm_that_another_stands_for_is_decided_with_it(
    altered: Callable[..., Completed], tmp_path: Path, found: str
) -> None:
    """A killed driver left two of one kind, one of which is a seed that waits."""
    longer = toy_bytes("stale_scale", Call(), Call(), Change("stale_scale", 0, 0), Call())
    first, other = (STALE, longer) if found == "seed" else (longer, STALE)
    seed(tmp_path / "c" / "corpus", first=first)
    assert altered(WAITING, "1", "-runs=2").returncode == -signal.SIGKILL
    findings = tmp_path / "c" / "findings"
    unconfirmed = findings / "unconfirmed"
    assert [path.read_bytes() for path in unconfirmed.glob("*.seq")] == [first]
    Artifacts(findings).keep("unconfirmed", other)
    last = altered(WAITING, "-1", "-runs=1", "-fork=2", "--resume")
    assert last.returncode == 0, last.stderr
    assert "1 alarm is still to be decided" in last.stderr
    assert len(told_in(last.stderr)) == len(findings_in(findings)) == 1
    assert list(unconfirmed.iterdir()) == []


def test_of_two_campaigns_the_one_that_is_meant_is_continued(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    assert campaign("-runs=5").returncode == 0
    joined = campaign("-runs=6", "-seed=8")
    assert "member 2 of this folder; --resume continues an earlier one" in joined.stderr
    assert "same seed" not in joined.stderr
    done = campaign("-runs=9", "-seed=8", new=False)
    assert done.returncode == 0, done.stderr
    assert "Seed: 8" in done.stderr
    assert "continued after 6 executions" in done.stderr
    assert "continued after 5 executions" in campaign("-runs=9", new=False).stderr
    assert "continued after 9 executions" in campaign(new=False).stderr, "both have done theirs"
    done = campaign("-runs=9", "-seed=9", new=False)
    assert done.returncode == 2
    assert "error: seed was 7 and cannot change" in done.stderr


def test_the_one_that_began_from_the_same_seeds_is_meant(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    for name in ("a", "b"):
        seed(tmp_path / name, harmless=HARMLESS)
        assert campaign(name, f"-runs={5 if name == 'a' else 6}").returncode == 0
    done = campaign("b", "-runs=9", new=False)
    assert "continued after 6 executions" in done.stderr, done.stderr


def test_whoever_looks_whether_a_campaign_runs_is_in_nobodys_way(tmp_path: Path) -> None:
    member = join(tmp_path)
    save_settings(parse([f"--campaign={tmp_path}"])[0], member)
    member.close()
    done = threading.Event()

    def look() -> None:
        while not done.is_set():
            is_running(member.folder)

    watchers = [threading.Thread(target=look) for _ in range(2)]
    for watcher in watchers:
        watcher.start()
    try:
        for _ in range(50):
            resume(tmp_path, *parse([f"--campaign={tmp_path}", "--resume"]))[0].close()
    finally:
        done.set()
        for watcher in watchers:
            watcher.join()


def test_without_a_word_the_one_continues_that_has_not_done_its_runs(
    campaign: Callable[..., Completed], environment: dict[str, str], tmp_path: Path
) -> None:
    assert campaign("-runs=5").returncode == 0
    process = launch(tmp_path, environment, "--framework", TOY, "-seed=8", SAFE, "-runs=100000")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("#8"):
            break
    process.kill()
    process.communicate(timeout=30)
    done = campaign("-max_total_time=1", new=False)
    assert done.returncode == 0, done.stderr
    assert "Seed: 8" in done.stderr


def test_an_alarm_that_was_being_decided_when_the_driver_was_killed_is_decided(
    campaign: Callable[..., Completed], environment: dict[str, str], tmp_path: Path
) -> None:
    hang = toy_bytes("hang")
    corpus = seed(tmp_path / "c" / "corpus", hang=hang)
    process = launch(tmp_path, environment, "--framework", TOY, "-timeout=2", "-runs=0", "-fork=2")
    unconfirmed = tmp_path / "c" / "findings" / "unconfirmed"
    deadline = time.monotonic() + 60
    while not list(unconfirmed.glob("*.seq")) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.communicate(timeout=30)
    assert [path.read_bytes() for path in unconfirmed.glob("*.seq")] == [hang]
    (corpus / "hang.seq").unlink()
    done = campaign("-runs=0", "-timeout=2", new=False)
    assert done.returncode == 0, done.stderr
    assert "died: hang" in done.stderr
    assert list(unconfirmed.iterdir()) == []


def test_the_search_cannot_change_when_a_campaign_continues(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    assert campaign("-runs=5").returncode == 0
    done = campaign("-runs=6", "-seed=8", new=False)
    assert done.returncode == 2
    assert "error: seed was 7 and cannot change when a campaign continues" in done.stderr
    assert campaign("-runs=6", "-workers=2", new=False).returncode == 0


def test_the_same_command_continues_it_where_its_folder_is_now(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    """The disk was full, so the folder went to another one; the command came from the history."""
    (tmp_path / "setup.py").write_text("")
    seed(tmp_path / "seeds", harmless=HARMLESS)
    flags = ("seeds", "--preload", "setup.py", "-fork=2")
    assert campaign("-runs=20", *flags).returncode == 0
    shutil.move(tmp_path / "c", tmp_path / "moved")
    before = set(corpus_in(tmp_path / "moved" / "corpus"))
    done = campaign("-runs=150", *flags, "--resume", folder="moved")
    assert done.returncode == 0, done.stderr
    assert "continued after 20 executions" in done.stderr
    assert before < set(corpus_in(tmp_path / "moved" / "corpus"))
    assert findings_in(tmp_path / "moved" / "findings")
    assert not (tmp_path / "c").exists()


def test_what_is_given_anew_replaces_what_it_excludes(tmp_path: Path) -> None:
    member = join(tmp_path / "c")
    begun = [f"--campaign={tmp_path / 'c'}", "-fork=4", "-seed=0"]
    save_settings(replace(parse(begun)[0], seed=99), member)
    asked = [f"--campaign={tmp_path / 'c'}", "-workers=1", "-seed=0", "--resume"]
    member.close()
    member, continued = resume(tmp_path / "c", *parse(asked))
    member.close()
    assert continued.slots == 1
    assert continued.seed == 99, "0 asks for any"


def test_only_what_a_continued_campaign_finds_itself_decides_its_exit_code(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    seed(tmp_path / "c" / "corpus", stale=STALE)
    assert campaign("-runs=2", "-error_exitcode=77").returncode == 77
    assert campaign("-runs=2", "-error_exitcode=77", new=False).returncode == 0


def test_a_member_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    member = join(tmp_path)
    member.close()
    assert list((tmp_path / "members").iterdir()) == []
    member = join(tmp_path)
    save_settings(parse(["corpus"])[0], member)
    member.close()
    assert [path.name for path in (tmp_path / "members").iterdir()] == ["1"]


def test_there_must_be_something_to_continue(campaign: Callable[..., Completed]) -> None:
    done = campaign(new=False)
    assert done.returncode == 2
    assert "error: c holds no campaign to continue; leave --resume out" in done.stderr


@pytest.mark.parametrize("damage", [b"", b"\x81\xa6format\xa1x", b"\xc1", None])
def test_a_damaged_checkpoint_is_one_clear_line(
    campaign: Callable[..., Completed], tmp_path: Path, damage: bytes | None
) -> None:
    assert campaign("-runs=5").returncode == 0
    path = tmp_path / "c" / "members" / "1" / "checkpoint"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    done = campaign("-runs=6", new=False)
    assert done.returncode == 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("error"))
    assert "checkpoint is damaged" in line


def test_two_campaigns_share_a_folder_and_what_they_find(
    campaign: Callable[..., Completed], environment: dict[str, str], tmp_path: Path
) -> None:
    first = launch(tmp_path, environment, "--framework", TOY, "-seed=7", SAFE, "-runs=400")
    other = launch(tmp_path, environment, "--framework", TOY, "-seed=8", SAFE, "-runs=400")
    said = [process.communicate(timeout=100)[1] for process in (first, other)]
    assert first.returncode == other.returncode == 0, said
    told = [re.findall(r"FIND +(.*?) \(", text) for text in said]
    assert len(set(told[0] + told[1])) == len(told[0] + told[1]), "no bug is told twice"
    assert len(told[0] + told[1]) == len(findings_in(tmp_path / "c" / "findings")) >= 2
    assert any("taken over from the corpus folder" in text for text in said)
    counts = [BehaviourMap.from_bytes(published(tmp_path, n)["map"]) for n in (1, 2)]
    assert [each.executions for each in counts] == [400, 400], "nobody publishes another's counts"
    Corpus(tmp_path / "c" / "corpus", VOCABULARY).check_invariants()


def published(folder: Path, member: int) -> dict[str, bytes]:
    data = (folder / "c" / "members" / str(member) / "published").read_bytes()
    record = msgpack.unpackb(data, strict_map_key=False)
    assert isinstance(record, dict)
    return record


def test_a_damaged_file_in_a_shared_corpus_is_told_and_left_alone(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    assert campaign("-runs=20").returncode == 0
    bad = tmp_path / "c" / "corpus" / "bad.seq"
    bad.write_bytes(HARMLESS[:-1] + b"\xff\xff")
    joined = campaign("-runs=60")
    assert joined.returncode == 0, joined.stderr
    assert "left alone: corpus file" in joined.stderr
    continued = campaign("-runs=80", new=False)
    assert continued.returncode == 0, continued.stderr
    assert bad.exists()


def test_a_campaign_stops_when_it_uses_too_much_and_continues(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    (tmp_path / "c" / "corpus").mkdir(parents=True)
    (tmp_path / "c" / "README").write_bytes(b"x" * (3 << 20))
    done = campaign("--max-disk=2", "-runs=400")
    assert done.returncode == 4
    assert "error: stopped, nothing more can be written: the campaign uses" in done.stderr
    assert "DONE" in done.stderr
    (tmp_path / "c" / "README").unlink()
    done = campaign("--max-disk=100", "-runs=60", new=False)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_nothing_found_is_lost_when_files_cannot_be_written(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    """The corpus folder turns into a wall while the campaign runs; then it is opened again."""
    wall = tmp_path / "preload.py"
    corpus = tmp_path / "c" / "corpus"
    corpus.mkdir(parents=True)
    (corpus / "a.seq").write_bytes(HARMLESS)
    (corpus / "b.seq").write_bytes(STALE)
    wall.write_text(
        "import os, tests.toy_framework as toy\n"
        "trace = toy.StaleScale.trace\n"
        "def build(self, tracing):\n"
        f"    if not os.path.exists({str(corpus)!r} + '.done'):\n"
        f"        open({str(corpus)!r} + '.done', 'w').close()\n"
        f"        os.rename({str(corpus)!r}, {str(corpus)!r} + '.away')\n"
        f"        open({str(corpus)!r}, 'w').close()\n"
        "    return trace(self, tracing)\n"
        "toy.StaleScale.trace = build\n"
    )
    done = campaign("-runs=40", "--preload", wall)
    assert done.returncode == 4, done.stderr
    assert "DONE" in done.stderr
    unsaved = checkpoint(tmp_path / "c")["unsaved"]
    assert isinstance(unsaved, list)
    assert unsaved
    corpus.unlink()
    os.rename(f"{corpus}.away", corpus)
    done = campaign("-runs=40", new=False)
    assert done.returncode == 0, done.stderr
    assert {f"{name}.seq" for name in unsaved} <= set(corpus_in(corpus))


def test_the_figures_over_time_are_lines_of_json(
    campaign: Callable[..., Completed], tmp_path: Path
) -> None:
    assert campaign("-runs=30").returncode == 0
    lines = (tmp_path / "c" / "members" / "1" / "stats.jsonl").read_text().splitlines()
    last = json.loads(lines[-1])
    assert last["executions"] == 30
    assert last["time"] > 1e9


# --------------------------------------------------------------------------------- the parts alone


@pytest.mark.parametrize(
    ("noted", "left"), [(("output",), 0), (("output", "grad"), 1), (("grad",), 1), ((), 1)]
)
def test_bytes_are_decided_once_all_their_alarms_are(
    tmp_path: Path, noted: tuple[str, ...], left: int
) -> None:
    identities = [Identity("stateful", "value", "eager", place, "x") for place in noted]
    artifacts, progress = Artifacts(tmp_path / "findings"), Progress()
    decided = Identity("stateful", "value", "eager", "output", "x")
    progress.register.met.add((decided, "chain", ("stale_scale",)))
    kept = artifacts.keep("unconfirmed", STALE, "".join(f"{each}\n" for each in identities))
    assert len(revisits(artifacts, progress, VOCABULARY)) == left
    assert kept.exists() == bool(left)


def through(value: object) -> object:
    data = msgpack.packb(Writer({}).write(value))
    return Reader({}, VOCABULARY).read(msgpack.unpackb(data, strict_map_key=False))


def test_what_a_search_holds_survives_being_written() -> None:
    identity = Identity("stateful", "value", "eager", "output", "x")
    chain = Chain(1, moves=3)
    value = {"a": [1, 2.5, None, (b"x", "y")], identity: {1, 2}, "chains": [chain, chain]}
    again = through(value)
    assert again == value
    assert isinstance(again, dict)
    assert again["chains"][0] is again["chains"][1], "shared objects stay shared"


def test_a_random_source_goes_on_where_it_was() -> None:
    source = Random(3)
    source.random()
    again = through(source)
    assert isinstance(again, Random)
    assert [again.random() for _ in range(5)] == [source.random() for _ in range(5)]


@pytest.mark.parametrize(
    "data",
    [
        ["record", 0, "os", "system"],
        ["record", 0, "rondo.campaign.pool", "subprocess"],
        ["record", 0, "rondo.search.mcmc", "deque"],
        ["record", 0, "rondo.search.nowhere", "Chain"],
        ["enum", "rondo.search.mcmc", "Chain", "x"],
        ["record", 0, "rondo.search.mcmc", "Chain", "fruitless"],
        ["record", 0, "rondo.search.mcmc", "Chain", "backend", 0],
        ["record", 0, "rondo.search.mcmc", "Chain", "nothing", 1],
        ["nothing"],
        ["again", 7],
        ["outside", "x"],
        ["random", 3, [1], None],
        ["map", b"x"],
        [],
    ],
)
def test_data_cannot_name_code(data: list[object]) -> None:
    with pytest.raises(GraphError):
        Reader({}, VOCABULARY).read(data)


def test_foreign_objects_are_not_kept() -> None:
    with pytest.raises(GraphError, match=r"subprocess\.CompletedProcess cannot be kept"):
        Writer({}).write(subprocess.CompletedProcess([], 0))


def test_own_counts_are_all_less_those_of_others() -> None:
    both, own, others = BehaviourMap(), BehaviourMap(), BehaviourMap()
    for hash_ in (1, 1, 2, 1 << 63):
        own.add(hash_)
    for hash_ in (1, 3):
        others.add(hash_)
    own.note_execution()
    others.note_execution()
    both.merge(own)
    both.merge(others)
    assert subtracted(both, [others]) == own
    assert subtracted(both, [others, own]) == BehaviourMap()


def test_too_little_room_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watched = disk.Disk([tmp_path], limit=0, reserve=tmp_path / "reserve")
    assert disk.used_bytes(tmp_path) >= disk.RESERVE
    watched.check()
    monkeypatch.setattr(disk, "free_bytes", lambda _: 1 << 20)
    watched = disk.Disk([tmp_path], limit=0)
    with pytest.raises(disk.DiskFullError, match="only 1 Mb are free"):
        watched.check()


def test_a_signal_keeps_the_campaign_so_that_it_continues(
    campaign: Callable[..., Completed], environment: dict[str, str], tmp_path: Path
) -> None:
    whole = campaign("-runs=100", folder="whole")
    assert whole.returncode == 0
    process = launch(tmp_path, environment, "--framework", TOY, "-seed=7", SAFE, "-runs=100")
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("#2"):
            break
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode in (0, 130)
    assert campaign("-runs=100", new=False).returncode == 0
    assert known_by(tmp_path / "c") == known_by(tmp_path / "whole")
