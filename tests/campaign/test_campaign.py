"""Whole campaigns over the toy compiler: what they find, keep, repeat and leave behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from rondo.campaign.triage import CONFIRMATIONS, SHORTENING_HANGS
from rondo.findings.reproducer import load
from rondo.search.corpus import Corpus
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests.campaign.conftest import DYNAMIC, HARMLESS, STALE, TOY, VOCABULARY, toy_bytes
from tests.campaign.slow_toy import SECONDS, SlowFramework

Completed = subprocess.CompletedProcess[str]
Fuzz = Callable[..., Completed]
SAFE = "--constructs=scale,stale_scale,batch_mean"
OTHERS = {f"other{n}": toy_bytes("scale", Call(value_seed=n)) for n in range(8)}
"""Seeds are run in the order of their hashes, so some of these come before any given one."""


def findings_in(folder: Path) -> dict[str, bytes]:
    """Return the sequences of all findings by bucket."""
    return {path.parent.name: load(path).data for path in sorted(folder.glob("*/*.rondo"))}


def corpus_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def timeless(text: str) -> str:
    """Return status lines without the figures that time and the machine make."""
    return re.sub(
        r"(exec/s|rss): \S+|stat::(average|slowest|peak|triage_seconds)\S* +\S+", "", text
    )


def statistics(text: str) -> dict[str, float]:
    return {n: float(v) for n, v in re.findall(r"^stat::(\w+): +(\S+)$", text, re.MULTILINE)}


def seed(folder: Path, **sequences: bytes) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in sequences.items():
        (folder / f"{name}.seq").write_bytes(data)
    return folder


CALL = "call(batch=2)"
PLANTED = {
    "stateful value of stale_scale": [CALL, "stale_scale.set_factor(0)", CALL],
    "stateful value of batch_mean": [CALL, "call(batch=3)", "call(batch=1)", CALL],
    "died crash of crash": ["crash.arm()", CALL],
    "died exit of quit": ["quit.arm()", CALL],
    "died memory of hunger": ["hunger.arm()", CALL],
}
"""What is planted in the toy compiler, each with its known minimal sequence."""


def steps_by_bug(folder: Path) -> dict[str, list[str]]:
    """Return the steps of every finding by what it is; no two may be the same."""
    bugs: dict[str, list[str]] = {}
    for found in map(load, folder.glob("*/*.rondo")):
        identity, constructs = found.identity, ",".join(found.decoded["constructs"])
        name = f"{identity.verdict} {identity.effect} of {constructs}"
        assert name not in bugs
        bugs[name] = found.decoded["steps"]
    return bugs


def test_every_planted_bug_is_found_once_and_shortened_to_its_minimum(
    fuzz: Fuzz, tmp_path: Path
) -> None:
    extra = (Call(value_seed=3), Change("program"), Change("compiler"), Call(sizes=(1,)))
    deadly = ("crash", "quit", "hunger", "mulish")
    long = {name: toy_bytes(name, *extra, Change(name), *extra, backend=1) for name in deadly}
    seed(tmp_path / "corpus", stale=STALE, dynamic=DYNAMIC, **long)
    again = toy_bytes("stale_scale", *extra, Call(), Change("stale_scale"), Call(), backend=1)
    seed(tmp_path / "corpus", again=again)
    done = fuzz("-runs=0", "-print_final_stats=1")
    assert done.returncode == 0, done.stderr
    assert steps_by_bug(tmp_path / "findings") == PLANTED
    counted = statistics(done.stderr)
    assert counted["findings"] == len(PLANTED)
    assert counted["program_faults"] == 1
    assert counted["known"] >= 1
    assert counted["triage_seconds"] > 0
    assert counted["alarms"] == counted["findings"] + counted["known"] + 1


def test_a_hang_is_shortened_with_few_executions(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", hang=toy_bytes("hang", Call(), Call(), Change("hang"), Call()))
    done = fuzz("-runs=0", "-timeout=1", "-print_final_stats=1")
    assert steps_by_bug(tmp_path / "findings") == {"died hang of hang": ["hang.arm()", CALL]}
    assert statistics(done.stderr)["triage_runs"] <= 1 + SHORTENING_HANGS + 2 * CONFIRMATIONS


def test_what_only_takes_its_time_is_no_finding_and_is_waited_for_once(
    rondo: Callable[..., Completed], tmp_path: Path
) -> None:
    vocabulary = SlowFramework().vocabulary()
    for name, steps in (("one", (Call(),)), ("two", (Call(value_seed=1), Call()))):
        sequence = Sequence(SubjectSpec("chain", ("crawl",)), Options(), steps)
        seed(tmp_path / "corpus", **{name: encode(normalise(sequence, vocabulary))})
    flags = ("-runs=0", f"-timeout={2 * SECONDS}", "-print_final_stats=1")
    adapter = "tests.campaign.slow_toy:SlowFramework"
    done = rondo("corpus", "--framework", adapter, *flags, module="rondo.fuzz")
    assert done.returncode == 0, done.stderr
    counted = statistics(done.stderr)
    assert (counted["alarms"], counted["findings"], counted["flaky"]) == (2, 0, 1)
    assert (counted["known"], counted["triage_runs"]) == (1, 1)


def test_a_campaign_finds_the_planted_bugs_by_itself(fuzz: Fuzz, tmp_path: Path) -> None:
    done = fuzz("-seed=7", "-runs=400", SAFE, "-print_final_stats=1")
    assert done.returncode == 0, done.stderr
    guilty = {
        name
        for data in findings_in(tmp_path / "findings").values()
        for name in decode(data, VOCABULARY).subject.constructs
    }
    assert guilty == {"stale_scale", "batch_mean"}
    assert statistics(done.stderr)["number_of_executed_units"] == 400
    Corpus(tmp_path / "corpus", VOCABULARY).check_invariants()
    assert len(corpus_in(tmp_path / "corpus")) == statistics(done.stderr)["new_units_added"]


@pytest.mark.parametrize("sampler", ["mcmc", "random", "stateless"])
def test_equal_commands_do_equal_things(fuzz: Fuzz, tmp_path: Path, sampler: str) -> None:
    flags = ("-seed=7", "-runs=80", "-print_final_stats=1", f"--sampler={sampler}")
    flags += ("--constructs=scale,stale_scale,batch_mean,flaky_scale,crash",)
    one = fuzz(*flags, "-artifact_prefix=one", corpus="first")
    other = fuzz(*flags, "-artifact_prefix=two", corpus="second")
    assert one.returncode == other.returncode == 0, one.stderr
    assert timeless(one.stderr).replace("one/", "two/") == timeless(other.stderr)
    assert findings_in(tmp_path / "one") == findings_in(tmp_path / "two")
    assert corpus_in(tmp_path / "first") == corpus_in(tmp_path / "second") != {}


def test_another_seed_does_other_things(fuzz: Fuzz, tmp_path: Path) -> None:
    for number in (1, 2):
        assert fuzz(f"-seed={number}", "-runs=20", SAFE, corpus=f"{number}").returncode == 0
    assert corpus_in(tmp_path / "1") != corpus_in(tmp_path / "2")


def test_a_flaky_alarm_is_kept_apart_and_never_reported(fuzz: Fuzz, tmp_path: Path) -> None:
    flaky = toy_bytes("flaky_scale")
    seed(tmp_path / "corpus", flaky=flaky, **OTHERS)
    done = fuzz("-runs=0", "-print_final_stats=1")
    assert findings_in(tmp_path / "findings") == {}
    assert statistics(done.stderr)["flaky"] == 1
    (kept,) = (tmp_path / "findings" / "flaky").glob("*.seq")
    assert kept.read_bytes() == flaky
    assert "stateful: value in output" in kept.with_suffix(".txt").read_text()


def test_with_a_process_for_each_execution_nothing_is_flaky(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", flaky=toy_bytes("flaky_scale"), **OTHERS)
    done = fuzz("-runs=0", "--batch=1", "-print_final_stats=1")
    assert statistics(done.stderr)["alarms"] == 0


def test_a_known_bug_is_counted_and_not_reported_again(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", stale=STALE)
    first = fuzz("-runs=0", "-print_final_stats=1")
    before = (tmp_path / "findings").stat().st_mtime_ns
    second = fuzz("-runs=0", "-print_final_stats=1")
    assert "FIND" in first.stderr
    assert "FIND" not in second.stderr
    assert statistics(first.stderr)["findings"] == 1
    assert statistics(second.stderr)["known"] == 1
    assert statistics(second.stderr)["findings"] == 0
    assert (tmp_path / "findings").stat().st_mtime_ns >= before


def test_a_damaged_finding_in_the_folder_is_found_anew(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", stale=STALE)
    fuzz("-runs=0")
    (path,) = (tmp_path / "findings").glob("*/*.rondo")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "FIND" in fuzz("-runs=0").stderr
    assert load(path).data == STALE


def test_error_exitcode_tells_of_findings(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "clean", harmless=HARMLESS)
    seed(tmp_path / "dirty", stale=STALE)
    assert fuzz("-runs=0", "-error_exitcode=77", corpus="clean").returncode == 0
    assert fuzz("-runs=0", "-error_exitcode=77", corpus="dirty").returncode == 77


def test_new_entries_go_to_the_first_folder_only(fuzz: Fuzz, tmp_path: Path) -> None:
    shipped = seed(tmp_path / "shipped" / "toy", harmless=HARMLESS)
    assert fuzz("-seed=1", "-runs=30", SAFE, tmp_path / "shipped", corpus="own").returncode == 0
    assert corpus_in(shipped) == {"harmless.seq": HARMLESS}
    own = corpus_in(tmp_path / "own")
    assert own
    assert HARMLESS not in own.values()


def test_a_folder_with_one_for_the_framework_stands_for_that(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus" / "toy", harmless=HARMLESS)
    seed(tmp_path / "corpus" / "other", not_ours=b"whatever another framework keeps")
    assert fuzz("-seed=1", "-runs=20", SAFE).returncode == 0
    assert len(corpus_in(tmp_path / "corpus" / "toy")) > 1


def test_seeds_follow_the_scope(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", stale=STALE, harmless=HARMLESS)
    done = fuzz("-runs=0", "--constructs=scale", "--backends=deep", "-print_final_stats=1")
    assert "1 seeds, 1 out of scope" in done.stderr
    assert statistics(done.stderr)["alarms"] == 0
    done = fuzz("-runs=0", "--backends=deep")
    assert "2 seeds" in done.stderr
    (finding,) = findings_in(tmp_path / "findings").values()
    assert decode(finding, VOCABULARY).options.backend == 0, "shortened to the cheapest"


def test_max_len_bounds_what_is_kept(fuzz: Fuzz, tmp_path: Path) -> None:
    assert fuzz("-seed=3", "-runs=60", "-max_len=80", SAFE).returncode == 0
    sizes = [len(data) for data in corpus_in(tmp_path / "corpus").values()]
    assert sizes
    assert max(sizes) <= 80


def test_json_lines_tell_the_same(fuzz: Fuzz, tmp_path: Path) -> None:
    seed(tmp_path / "corpus", stale=STALE)
    done = fuzz("-runs=3", "-seed=5", "--json", "-print_final_stats=1", SAFE)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    events = [line["event"] for line in lines]
    assert done.stderr == ""
    assert events[:2] == ["info", "info"]
    assert events[-2:] == ["done", "stats"]
    (finding,) = (line for line in lines if line["event"] == "finding")
    assert finding["findings_by_verdict"] == {"stateful": 1}
    assert Path(tmp_path, finding["path"]).exists()


def test_a_sequence_that_cannot_be_executed_is_kept_with_its_traceback(
    fuzz: Fuzz, tmp_path: Path
) -> None:
    preload = tmp_path / "preload.py"
    preload.write_text(
        "import tests.toy_framework as toy\n"
        "def run(self, values): raise LookupError('not a bug')\n"
        "toy.Scale.run = run\n"
    )
    seed(tmp_path / "corpus", a=HARMLESS, stale=STALE)
    done = fuzz("-runs=0", "--preload", preload, "-print_final_stats=1")
    assert done.stderr.count("could not be executed (LookupError: not a bug)") == 1
    (kept,) = (tmp_path / "findings" / "faults").glob("*.txt")
    assert "Traceback" in kept.read_text()
    assert statistics(done.stderr)["findings"] == 1


def launch(tmp_path: Path, environment: dict[str, str], *flags: str) -> subprocess.Popen[str]:
    """Start an endless campaign."""
    (tmp_path / "corpus").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "rondo.fuzz", "corpus", "-seed=7", *flags]
    return subprocess.Popen(
        command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
    )


def start(
    tmp_path: Path, environment: dict[str, str], *flags: str, until: str = "INITED"
) -> subprocess.Popen[str]:
    """Start an endless campaign over the toy and return once it has said `until`."""
    process = launch(tmp_path, environment, "--framework", TOY, *flags)
    assert process.stderr is not None
    for line in process.stderr:
        if until in line:
            return process
    raise AssertionError(f"the campaign ended: {process.wait()}")


def family_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the processes below a campaign, once there are a server and a worker."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        family = psutil.Process(process.pid).children(recursive=True)
        if len(family) >= 2:
            return family
        time.sleep(0.02)
    raise AssertionError("no worker came")


def assert_gone(processes: list[psutil.Process], within: float) -> None:
    _, alive = psutil.wait_procs(processes, timeout=within)
    left = [p for p in alive if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert left == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_while_the_framework_loads(
    environment: dict[str, str], tmp_path: Path, number: int, code: int
) -> None:
    framework = "tests.campaign.odd_adapters:SlowFramework"
    process = launch(tmp_path, environment, "--framework", framework)
    assert process.stderr is not None
    assert "Seed" in process.stderr.readline()
    time.sleep(0.3)
    family = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert_gone(family, within=30)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("flags", [(SAFE,), ("--constructs=hang", "-timeout=60")])
def test_a_signal_ends_it_cleanly(
    environment: dict[str, str], tmp_path: Path, number: int, code: int, flags: tuple[str, ...]
) -> None:
    # A proposal that hangs shows nothing new: a seed that does not is what makes this one begin.
    seed(tmp_path / "seeds", calm=toy_bytes("hang", Call()), harmless=HARMLESS)
    process = start(tmp_path, environment, "seeds", *flags, until="NEW")
    family = family_of(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == code, said
    assert re.search(r"^#\d+\tDONE ", said, re.MULTILINE)
    executed = statistics(said)["number_of_executed_units"]
    assert executed >= 1
    Corpus(tmp_path / "corpus", VOCABULARY).check_invariants()
    assert len(corpus_in(tmp_path / "corpus")) == statistics(said)["new_units_added"]
    assert_gone(family, within=30)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_second_signal_ends_it_at_once(environment: dict[str, str], tmp_path: Path) -> None:
    process = start(tmp_path, environment, "--constructs=hang", "-timeout=60")
    family = family_of(process)
    os.kill(process.pid, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGCONT)
    process.communicate(timeout=60)
    assert process.returncode in (130, 143)
    assert_gone(family, within=30)


def test_the_time_limit_ends_it_cleanly(fuzz: Fuzz, tmp_path: Path) -> None:
    began = time.monotonic()
    done = fuzz("-max_total_time=1", "-timeout=60", "--constructs=hang", "-print_final_stats=1")
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 40
    assert "DONE" in done.stderr
    assert list((tmp_path / "tmp").iterdir()) == []


def test_an_alarm_that_the_end_leaves_undecided_is_kept(fuzz: Fuzz, tmp_path: Path) -> None:
    hang = toy_bytes("hang")
    seed(tmp_path / "corpus", hang=hang)
    done = fuzz("-timeout=3", "-max_total_time=5")
    assert done.returncode == 0, done.stderr
    (kept,) = (tmp_path / "findings" / "unconfirmed").glob("*.seq")
    assert kept.read_bytes() == hang


def test_a_finding_that_the_end_leaves_long_is_written_all_the_same(
    fuzz: Fuzz, tmp_path: Path
) -> None:
    seed(tmp_path / "corpus", hang=toy_bytes("hang"))
    done = fuzz("-timeout=1", "-max_total_time=8")
    assert "FIND" in done.stderr
    assert findings_in(tmp_path / "findings")


def test_orphans_vanish_when_the_driver_is_killed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start(tmp_path, environment, "--constructs=hang", "-timeout=60")
    family = family_of(process)
    process.kill()
    process.communicate(timeout=60)
    assert_gone(family, within=30)
    deadline = time.monotonic() + 30
    while list((tmp_path / "tmp").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_a_killed_server_does_not_end_a_campaign(
    environment: dict[str, str], tmp_path: Path
) -> None:
    process = start(tmp_path, environment, SAFE)
    (server,) = psutil.Process(process.pid).children()
    server.kill()
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = psutil.Process(process.pid).children()
        if children and children[0].pid != server.pid:
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "died" not in said, "nothing of the sequence's doing"


@pytest.mark.parametrize("plain_compiles", [False, True])
def test_a_back_end_that_compiles_nothing_is_refused(
    rondo: Fuzz, tmp_path: Path, plain_compiles: bool
) -> None:
    """As Inductor without a C++ compiler: one clear line, not a bug for each sequence."""
    seed(tmp_path / "corpus", harmless=HARMLESS)
    preload = tmp_path / "preload.py"
    preload.write_text(
        "from tests.toy_framework import ToyFramework\n"
        "compile = ToyFramework.compile\n"
        "def refuse(self, program):\n"
        "    code = compile(self, program)\n"
        f"    if {plain_compiles} and not program.order():\n"
        "        return code\n"
        "    def fail(values):\n"
        "        raise ZeroDivisionError('no compiler')\n"
        "    return fail\n"
        "ToyFramework.compile = refuse\n"
    )
    flags = ("corpus", "-runs=0", "--framework", TOY, "--preload", preload)
    done = rondo(*flags, module="rondo.fuzz")
    found = list((tmp_path / "findings").glob("*/*.rondo"))
    if plain_compiles:
        assert (done.returncode, len(found)) == (0, 1), done.stderr
    else:
        assert done.returncode == 2
        assert "cannot compile a single call: ZeroDivisionError; leave it out" in done.stderr
        assert found == []
