"""rondo shrink, verify and bisect, as processes: what they print, write and leave with."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rondo.campaign.interpreters import _mend
from rondo.campaign.shrinking import Request, shrink_file
from rondo.campaign.stop import Stop
from rondo.campaign.verifying import judged
from rondo.errors import ArtifactError
from rondo.findings.reproducer import Reproducer, compose, load, save
from rondo.findings.trials import Trials
from rondo.oracle.result import Result
from rondo.oracle.run import execute
from tests.campaign.conftest import DYNAMIC, HARMLESS, ROOT, STALE, TOY, VOCABULARY, toy_bytes
from tests.findings.conftest import Invoke
from tests.findings.test_shorten import LONG
from tests.toy_framework import ToyFramework

Run = Callable[..., subprocess.CompletedProcess[str]]
SMALLEST = ["call(batch=2)", "stale_scale.set_factor(0)", "call(batch=2)"]
SLOW = """
import time
import tests.toy_framework as toy
call = toy.ToyProgram.call
def slow(self, *arguments, **options):
    time.sleep(0.02)
    return call(self, *arguments, **options)
toy.ToyProgram.call = slow
"""
FIXED = "import tests.toy_framework as toy\ntoy.NAMES['stale_scale'] = toy.Scale\n"
DYING = """
import os
import tests.toy_framework as toy
call = toy.ToyProgram.call
def dies(self, *arguments, **options):
    if "stale_scale" not in self.parts:
        os.kill(os.getpid(), 11)
    return call(self, *arguments, **options)
toy.ToyProgram.call = dies
"""
EXITING = """
import os
import tests.toy_framework as toy
toy.ToyFramework.session = lambda self, sequence: os._exit(3)
"""
FAULTY = "import tests.toy_framework as toy\ndel toy.NAMES['stale_scale']\n"


def finding(data: bytes) -> Reproducer:
    result = execute(data, ToyFramework())
    return compose(data, result.alarms[0], VOCABULARY, result=result)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "long.seq").write_bytes(LONG)
    (tmp_path / "harmless.seq").write_bytes(HARMLESS)
    stale = finding(STALE)
    save(stale, tmp_path / "stale.rondo")
    elsewhere = replace(stale, identity=replace(stale.identity, place="elsewhere"))
    save(elsewhere, tmp_path / "other.rondo")
    preloads = {"slow": SLOW, "fixed": FIXED, "faulty": FAULTY, "dying": DYING}
    for name, text in preloads.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_a_bucket_s_folder_stands_for_its_reproducer(invoke: Invoke, tmp_path: Path) -> None:
    bucket = tmp_path / "bucket"
    bucket.mkdir()
    refused = invoke("show", bucket)
    assert refused.exit_code == 2
    assert refused.stderr == f"error: {bucket} holds no reproducer\n"
    save(finding(STALE), bucket / "a.rondo")
    assert invoke("show", bucket).output == invoke("show", bucket / "a.rondo").output
    assert invoke("show", bucket).exit_code == 0
    save(finding(STALE), bucket / "b.rondo")
    assert invoke("show", bucket).stderr == f"error: {bucket} holds 2 reproducers: give one\n"
    save(finding(DYNAMIC), bucket / "reproducer.rondo")
    told = invoke("show", bucket).output
    assert told == invoke("show", bucket / "reproducer.rondo").output, "what was made of it is not"
    assert told != invoke("show", bucket / "a.rondo").output
    assert invoke("show", "x" * 5000).stderr.startswith("error: ")


def test_shrink_writes_a_minimal_reproducer(rondo: Run, files: Path) -> None:
    done = rondo("shrink", "long.seq", "--framework", TOY)
    assert done.returncode == 0, done.stderr
    short = load(files / "long.short.rondo")
    assert short.decoded["steps"] == SMALLEST
    assert (short.minimal, short.reason, short.original) == (True, "", LONG)
    assert short.environment == {"toy": "1", "device": "cpu"}
    assert (len(short.steps), short.step) == (3, 2)
    assert "10 -> 3 steps" in done.stdout
    assert "1-minimal: each of 4 single removals loses the bug" in done.stdout
    assert done.stderr.splitlines()[-1].startswith("3 steps after")
    assert sorted(path.name for path in files.glob("long*")) == ["long.seq", "long.short.rondo"]
    again = rondo("shrink", "long.short.rondo", "--framework", TOY, "--out", "again.rondo")
    assert "3 -> 3 steps" in again.stdout
    assert load(files / "again.rondo") == short


def test_the_result_does_not_depend_on_the_number_of_workers(rondo: Run, files: Path) -> None:
    for workers in (1, 3):
        out = f"{workers}.rondo"
        done = rondo("shrink", "long.seq", "--framework", TOY, "--workers", workers, "--out", out)
        assert done.returncode == 0, done.stderr
    assert (files / "1.rondo").read_bytes() == (files / "3.rondo").read_bytes()


def test_ctrl_c_keeps_the_best_and_resume_goes_on(
    rondo: Run, files: Path, environment: dict[str, str]
) -> None:
    arguments = ("shrink", "long.seq", "--framework", TOY, "--preload", "slow.py")
    process = subprocess.Popen(
        [sys.executable, "-m", "rondo", *arguments],
        env=environment,
        cwd=files,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if line.startswith("5 steps"):
            break
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    best = load(files / "long.short.rondo")
    assert (best.minimal, best.reason) == (False, "it was interrupted")
    assert 3 <= len(best.decoded["steps"]) <= 5
    assert "the same command with --resume goes on" in told
    assert (files / "long.seq.trials").exists()
    resumed = rondo(*arguments, "--resume", "--out", "resumed.rondo")
    whole = rondo(*arguments, "--out", "whole.rondo")
    assert (files / "resumed.rondo").read_bytes() == (files / "whole.rondo").read_bytes()
    assert executions(resumed.stdout) < executions(whole.stdout)


def test_what_cannot_be_judged_is_told_and_is_no_interruption(rondo: Run, files: Path) -> None:
    """Without the construct the process dies, so nobody can say that the construct must stay."""
    done = rondo("shrink", "stale.rondo", "--framework", TOY, "--preload", "dying.py")
    assert done.returncode == 0, done.stderr
    assert "not known to be minimal: 1 of 4 single removals cannot be judged" in done.stdout
    assert "the same command with --resume tries those again" in done.stderr
    assert (files / "stale.rondo.trials").exists()
    again = rondo("shrink", "stale.rondo", "--framework", TOY, "--resume")
    assert "1-minimal: each of 4 single removals loses the bug" in again.stdout
    assert not (files / "stale.rondo.trials").exists()


def test_a_full_disk_is_one_line_and_loses_no_trial(
    files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = Request(files / "long.seq", files / "out.rondo", TOY, resume=True)
    with monkeypatch.context() as patched:
        add = Trials.add

        def filled(self: Trials, *arguments: Any, **options: Any) -> None:
            if len(self) == 5 and self._file is not None:
                self._file.close()
                self._file = os.fdopen(os.open("/dev/full", os.O_WRONLY), "wb")
            add(self, *arguments, **options)

        patched.setattr(Trials, "add", filled)
        with pytest.raises(ArtifactError, match=r"No space left on device; .* --resume goes on"):
            shrink_file(request, Stop(), lambda steps, runs: None)
    assert not request.out.exists()
    resumed = shrink_file(request, Stop(), lambda steps, runs: None)
    assert (resumed.short.minimal, resumed.taken_over) == (True, 5)
    assert resumed.reproducer.decoded["steps"] == SMALLEST


def test_a_worker_that_always_dies_is_no_finding(rondo: Run, files: Path) -> None:
    """As on a full disk, or without memory: what dies without any step is no bug of these."""
    (files / "exits.py").write_text(EXITING)
    done = rondo("shrink", "harmless.seq", "--framework", TOY, "--preload", "exits.py")
    assert done.returncode == 2, done.stdout
    assert "workers die here whatever they run" in done.stderr.splitlines()[-1]
    assert not (files / "harmless.short.rondo").exists()


def test_a_file_is_shrunk_by_one_process_at_a_time(rondo: Run, files: Path) -> None:
    with (files / "long.seq").open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = rondo("shrink", "long.seq", "--framework", TOY)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == "error: long.seq is being shrunk by another process\n"
    assert rondo("shrink", "long.seq", "--framework", TOY).returncode == 0


def test_findings_of_a_campaign_are_minimal(rondo: Run, files: Path) -> None:
    (files / "corpus").mkdir()
    (files / "corpus" / "long.seq").write_bytes(LONG)
    done = rondo("fuzz", "corpus", "-runs=0", "--framework", TOY)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(rondo("triage", "findings", "--json").stdout)["rows"]
    assert (row["status"], row["steps"], row["minimal"]) == ("new", 3, True)


def test_campaigns_of_other_seeds_put_a_bug_into_the_same_bucket(rondo: Run, files: Path) -> None:
    for seed in (3, 4):
        (files / f"corpus{seed}").mkdir()
        done = rondo(
            "fuzz",
            f"corpus{seed}",
            f"-seed={seed}",
            "-runs=120",
            f"-artifact_prefix=campaigns/{seed}/",
            "--constructs=stale_scale,batch_mean,scale",
            *("--framework", TOY),
        )
        assert done.returncode == 0, done.stderr
    rows = json.loads(rondo("triage", "campaigns", "--json").stdout)["rows"]
    new = {row["bucket"].rpartition("-")[0]: row["count"] for row in rows if row["status"] == "new"}
    assert set(new) == {
        "stateful-value-batch-mean-call-sizes-shallow",
        "stateful-value-stale-scale-stale-scale-set-factor-shallow",
    }
    assert sum(new.values()) >= 3, "campaigns that hardly share a bug"


def executions(printed: str) -> int:
    (line,) = (line for line in printed.splitlines() if " runs; " in line)
    return int(line.split(" steps in ")[1].split(" runs")[0])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("shrink", "gone.seq"), "cannot read gone.seq"),
        (("shrink", "harmless.seq"), "the bug does not show here (agree); nothing to shrink"),
        (("shrink", "stale.rondo", "--preload", "fixed.py"), "the bug does not show here"),
        (("shrink", "stale.rondo", "--preload", "faulty.py"), "it cannot be executed: KeyError"),
        (("shrink", "long.seq", "--workers", "0"), "0 is not in the range"),
        (("shrink", "long.seq", "--out", "slow.py/x"), "cannot write slow.py/x"),
        (("verify", "gone.rondo"), "cannot read gone.rondo"),
        (("verify", "stale.rondo", "--times", "0"), "0 is not in the range"),
        (("bisect", "gone.rondo", "--python", "python3"), "cannot read gone.rondo"),
        (("bisect", "stale.rondo"), "Missing option '--python'"),
        (("export", "stale.rondo", "--issue"), "an issue is written for torch alone"),
        (("export", "stale.rondo", "--pytest"), "toy has no way to write this finding"),
        (("export", "other.rondo"), "does not show here (stateful: value in output on shallow"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(
    rondo: Run, files: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = rondo(*arguments, "--framework", TOY)
    assert done.returncode == 2, done.stderr
    assert says in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ")


def test_verify_wants_every_process_to_show_the_bug(rondo: Run, files: Path) -> None:
    done = rondo("verify", "stale.rondo", "--framework", TOY)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "verified: 10 of 10"
    assert len(done.stdout.splitlines()) == 11


@pytest.mark.parametrize(
    ("file", "preload", "says"),
    [
        ("stale.rondo", "fixed.py", "no bug (agree)"),
        ("stale.rondo", "faulty.py", "error: KeyError"),
        ("harmless.seq", "slow.py", "no bug (agree)"),
    ],
)
def test_verify_fails_closed(rondo: Run, files: Path, file: str, preload: str, says: str) -> None:
    options = ("--times", 2, "--json", "--preload", preload)
    done = rondo("verify", file, "--framework", TOY, *options)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    assert (told["verified"], told["shown"], told["times"]) == (False, 0, 2)
    assert all(says in outcome["told"] for outcome in told["outcomes"])


def test_a_hang_and_another_bug_are_no_pass(rondo: Run, files: Path) -> None:
    stale = finding(STALE)
    hang = replace(compose_for("hang"), identity=stale.identity)
    save(hang, files / "hang.rondo")
    options = ("--times", 1, "--timeout", 2)
    done = rondo("verify", "hang.rondo", "--framework", TOY, *options)
    assert done.returncode == 1
    assert "another bug: died: hang" in done.stdout
    assert done.stdout.splitlines()[-1] == "NOT verified: 0 of 1"
    other = replace(stale.identity, exposing="stale_scale.other")
    assert not judged(execute(STALE, ToyFramework()), other).shows
    assert not judged(Result("agree"), stale.identity).shows
    assert not judged(Result("agree"), None).shows


def compose_for(construct: str) -> Reproducer:
    """A reproducer over a sequence that this process must not run."""
    data = toy_bytes(construct)
    return compose(data, finding(STALE).alarm, VOCABULARY)


def test_a_recorded_death_is_verified_by_the_same_death(rondo: Run, files: Path) -> None:
    (files / "crash.seq").write_bytes(toy_bytes("crash"))
    shrunk = rondo("shrink", "crash.seq", "--framework", TOY)
    assert shrunk.returncode == 0, shrunk.stderr
    done = rondo("verify", "crash.short.rondo", "--framework", TOY, "--times", 2)
    assert done.returncode == 0, done.stdout
    assert "shows: died: crash in retained" in done.stdout
    assert load(files / "crash.short.rondo").minimal
    refused = rondo("export", "crash.short.rondo", "--framework", TOY)
    assert refused.returncode == 2
    assert "a process that dies (crash) says no verdict" in refused.stderr


def lone(tmp_path: Path) -> str:
    """A path that holds everything but Rondo: what it depends on, and the toy compiler."""
    (tmp_path / "lone").mkdir()
    (tmp_path / "lone" / "tests").symlink_to(ROOT / "tests")
    packages = [path for path in sys.path if path.endswith("-packages")]
    return os.pathsep.join([str(tmp_path / "lone"), *packages])


def without_rondo(*more: str) -> str:
    """A shell script: this Python without its packages and this checkout, but with `more`."""
    keep = f"tr : '\\n' | grep -vxF {ROOT} | paste -sd :"
    path = ":".join(['$(echo "$PYTHONPATH" | ' + keep + ")", *more])
    return f'PYTHONPATH="{path}" exec {sys.executable} -S "$@"'


def interpreter(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_triage_locates_what_nobody_has_located(rondo: Run, files: Path) -> None:
    finding = files / "found" / "stale" / "reproducer.rondo"
    finding.parent.mkdir(parents=True)
    finding.write_bytes((files / "stale.rondo").read_bytes())
    (files / "found" / "broken.rondo").write_bytes(b"nonsense")
    os.utime(finding, (86400, 86400))
    done = rondo("triage", "found", "--locate", "--framework", TOY)
    assert done.returncode == 0, done.stderr
    layer = load(finding).layer
    assert layer
    assert f"stale: {layer}: " in done.stderr
    assert f"layer {layer}" in done.stdout
    assert "1970-01-02" in done.stdout
    again = rondo("triage", "found", "--locate", "--framework", TOY)
    assert (again.stdout, "stale:" in again.stderr) == (done.stdout, False)


def test_triage_says_of_what_it_cannot_locate_why(rondo: Run, files: Path) -> None:
    finding = files / "found" / "stale" / "reproducer.rondo"
    finding.parent.mkdir(parents=True)
    finding.write_bytes((files / "stale.rondo").read_bytes())
    done = rondo("triage", "found", "--locate", "--framework", TOY, "--preload", "fixed.py")
    assert done.returncode == 0, done.stderr
    assert "not located: " in done.stderr
    assert "the bug does not show here" in done.stderr
    assert load(finding).layer == ""


def test_bisect_asks_every_interpreter(rondo: Run, files: Path) -> None:
    """One with Rondo, one that borrows it, and five that cannot tell and say why."""
    probe = '\'{"python": "%s", "rondo": true, "lacks": "%s", "version": "1"}\''
    fakes = {
        "borrows": without_rondo(lone(files)),
        "bare": without_rondo(),
        "old": f"echo {probe % ('3.9.1', '')}",
        "other": f"echo {probe % ('3.13.0', 'rondo._native.tracer')}",
        "mute": "echo oops >&2; exit 3",
    }
    paths = [interpreter(files / name, text) for name, text in fakes.items()]
    pythons = [sys.executable, *map(str, paths), "/nowhere/python"]
    arguments = [part for path in pythons for part in ("--python", path)]
    done = rondo("bisect", "stale.rondo", "--framework", TOY, *arguments, "--json")
    assert done.returncode == 2, done.stderr
    answers = json.loads(done.stdout)["answers"]
    assert [answer["shows"] for answer in answers] == [True, True, *[None] * 5], answers
    told = [answer["told"] for answer in answers[2:]]
    assert "is not installed there: " in told[0]
    assert told[1] == "Rondo needs Python 3.11 or newer"
    assert "no native extension for Python 3.13; build it: " in told[2]
    assert "setup.py build_ext --inplace" in told[2]
    assert told[3] == "is no Python 3 that runs: oops"
    assert told[4].startswith("cannot be run: ")


def test_bisect_tells_where_a_bug_is_gone(rondo: Run, files: Path) -> None:
    options = ("--framework", TOY, "--python", sys.executable)
    done = rondo("bisect", "stale.rondo", *options)
    assert (done.returncode, " shows " in done.stdout) == (1, True), done.stdout
    done = rondo("bisect", "stale.rondo", *options, "--preload", "fixed.py")
    assert done.returncode == 0, done.stdout
    assert "does not show  no bug (agree)" in done.stdout


def test_what_an_environment_lacks_is_told_with_the_remedy() -> None:
    assert _mend("msgpack._cmsgpack", "/x/python", "3.12.1") == (
        "msgpack._cmsgpack is not installed there: /x/python -m pip install msgpack"
    )
    assert f"cd {ROOT} && /x/python setup.py" in _mend("rondo._native.lines", "/x/python", "3.12.1")
