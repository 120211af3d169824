"""Targets under the real libFuzzer of atheris, each run in a process of its own.

Most run over the toy compiler; the real ones are only started, which takes a while by itself.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rondo.frameworks.registry import load_framework
from rondo.libfuzzer.flags import DEFAULT_MAX_LEN, TargetUsageError, parse
from rondo.libfuzzer.known import known_folders
from rondo.sequences.codec import encode
from rondo.sequences.writer import Writer
from tests.campaign.conftest import DYNAMIC, HARMLESS, ROOT, STALE

TOY = "tests.targets.tame_toy:TameToy"

TARGET = f"""#!{sys.executable}
import sys
from rondo.libfuzzer import fuzz

fuzz(sys.argv, framework={TOY!r}, backend="shallow")
"""
CRASH = 77
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def target(tmp_path: Path) -> Run:
    """Run the toy's target in a folder of its own; inputs are given by name."""
    pytest.importorskip("atheris", reason="atheris is not installed for this interpreter")
    script = tmp_path / "fuzz_toy.py"
    script.write_text(TARGET)
    script.chmod(0o755)
    (tmp_path / "tmp").mkdir(exist_ok=True)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "TMPDIR": str(tmp_path / "tmp")}

    def run(*arguments: str, **inputs: bytes) -> subprocess.CompletedProcess[str]:
        for folder in ("new", "seeds"):
            (tmp_path / folder).mkdir(exist_ok=True)
        for name, data in inputs.items():
            (tmp_path / "seeds" / name).write_bytes(data)
        return subprocess.run(
            [sys.executable, str(script), *arguments, "new", "seeds"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=180,
        )

    return run


def features(log: str) -> list[int]:
    return [int(number) for number in re.findall(r" ft: (\d+)", log)]


def findings(folder: Path) -> list[Path]:
    return sorted(folder.glob("findings/*/reproducer.rondo"))


def test_features_rise_and_the_end_is_clean(target: Run, tmp_path: Path) -> None:
    done = target("-runs=150", "-seed=1", "--keep-going=1", "--record=1", harmless=HARMLESS)
    assert done.returncode == 0, done.stderr
    assert "found LLVMFuzzerCustomMutator" in done.stderr
    seen = features(done.stderr)
    assert seen == sorted(seen)
    assert seen[-1] > 2 * seen[0] > 0
    assert re.search(r"NEW .* MS: \d+ Custom", done.stderr), "our proposals brought features"
    assert "CustomCrossOver" in done.stderr
    assert list((tmp_path / "new").iterdir()), "libFuzzer keeps what brought features"
    assert list((tmp_path / "findings" / "record").glob("*.jsonl"))


NO_COMPILER = """
from tests.toy_framework import ToyFramework

def broken(self, program):
    raise ZeroDivisionError("no compiler")

ToyFramework.compile = broken
"""


def test_a_back_end_that_compiles_nothing_is_one_line_and_no_bug(
    target: Run, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text(NO_COMPILER)
    done = target("-runs=3", "--preload=broken.py", harmless=HARMLESS)
    assert done.returncode == 2, done.stderr
    last = done.stderr.strip().splitlines()[-1]
    assert last == "error: back end 'shallow' cannot compile a single call: ZeroDivisionError"
    assert not findings(tmp_path)
    assert not list(tmp_path.glob("crash-*"))


SLOW = """
import time
from rondo.libfuzzer import target

quick = target.execute

def execute(*arguments, **options):
    time.sleep(0.5)
    return quick(*arguments, **options)

target.execute = execute
"""
"""A preload that makes every execution take as long as one of a real compiler."""


def test_more_seeds_than_there_is_time_for_leave_half_of_it(target: Run, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    seeds = {f"seed{n}": HARMLESS + b"\0\0" * n for n in range(40)}
    done = target(
        "-max_total_time=5", "-seed=1", "--alarms=0", "--lines=0", "--preload=slow.py", **seeds
    )
    assert done.returncode == 0, done.stderr
    (left,) = re.findall(r"RONDO: 50% .*: (\d+) seeds come later", done.stderr)
    assert int(left) >= 40 - 5, "half a second each, half of five seconds"
    assert re.search(r"NEW .* MS: \d+ Custom", done.stderr), "the other half was for proposals"


def test_equal_seeds_propose_equal_inputs(target: Run, tmp_path: Path) -> None:
    kept = []
    for _ in range(2):
        done = target("-runs=60", "-seed=7", "--keep-going=1", "--lines=0", harmless=HARMLESS)
        assert done.returncode == 0, done.stderr
        kept.append({path.name for path in (tmp_path / "new").iterdir()})
        for path in (tmp_path / "new").iterdir():
            path.unlink()
    assert kept[0] == kept[1]
    assert len(kept[0]) > 3


@pytest.mark.parametrize("mutator", ["havoc", "libfuzzer"])
def test_other_mutators_run(target: Run, mutator: str) -> None:
    done = target(
        "-runs=80", "-seed=1", "--keep-going=1", f"--mutator={mutator}", harmless=HARMLESS
    )
    assert done.returncode == 0, done.stderr
    assert ("found LLVMFuzzerCustomMutator" in done.stderr) == (mutator == "havoc")
    assert features(done.stderr)[-1] > features(done.stderr)[0]


def test_a_confirmed_bug_is_a_crash_file_that_replays(
    target: Run, tmp_path: Path, rondo: Run
) -> None:
    done = target("-runs=5", "-seed=1", stale=STALE)
    assert done.returncode == CRASH, done.stderr
    assert "ConfirmedBugError: stateful: value in output on shallow" in done.stdout
    (crash,) = tmp_path.glob("crash-*")
    assert crash.read_bytes() == STALE
    replayed = rondo("replay", crash, "--framework", TOY)
    assert replayed.returncode == 1, replayed.stderr
    (found,) = findings(tmp_path)
    assert rondo("replay", found, "--framework", TOY).returncode == 1


def test_a_known_bug_is_no_crash(target: Run, tmp_path: Path) -> None:
    assert target("-runs=1", stale=STALE).returncode == CRASH
    (tmp_path / "findings").rename(tmp_path / "known")
    for crash in tmp_path.glob("crash-*"):
        crash.unlink()
    done = target("-runs=1", "--known=known", stale=STALE)
    assert done.returncode == 0, done.stderr
    assert not findings(tmp_path)
    assert not list(tmp_path.glob("crash-*"))


def test_alarms_may_be_counted_only(target: Run, tmp_path: Path) -> None:
    done = target("-runs=1", "--alarms=0", "--record=1", stale=STALE)
    assert done.returncode == 0, done.stderr
    assert not findings(tmp_path)
    (record,) = (tmp_path / "findings" / "record").glob("*.jsonl")
    assert '"alarms": 1' in record.read_text().splitlines()[-1]


def test_a_corpus_is_merged(target: Run, tmp_path: Path) -> None:
    inputs = {f"again{n}": HARMLESS for n in range(3)}
    done = target("-merge=1", "--alarms=0", stale=STALE, harmless=HARMLESS, **inputs)
    assert done.returncode == 0, done.stderr
    kept = {path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert kept <= {STALE, HARMLESS}
    assert kept


def test_keep_going_reports_each_bug_once(target: Run, tmp_path: Path) -> None:
    again = STALE + STALE[-4:]  # one more step of the same kind
    done = target("-runs=1", "--keep-going=1", again=again, stale=STALE, dynamic=DYNAMIC)
    assert done.returncode == 0, done.stderr
    assert len(findings(tmp_path)) == 2, "one for each planted bug"
    told = re.findall(r"RONDO: (\w+).*crash file: (\S+)", done.stderr)
    assert [word for word, _ in told] == ["stateful", "stateful"]
    assert all((tmp_path / path).is_file() for _, path in told)


def test_an_input_that_is_not_canonical_leaves_a_crash_file_that_is(
    target: Run, tmp_path: Path, rondo: Run
) -> None:
    done = target("-runs=1", stale=STALE + b"\0\1\0")  # one more call, with a zero too many
    assert done.returncode == CRASH, done.stderr
    crashes = list(tmp_path.glob("crash-*"))
    assert len(crashes) == 2
    codes = {rondo("replay", crash, "--framework", TOY).returncode for crash in crashes}
    assert codes == {1, 2}, "libFuzzer's own is refused, ours shows the bug"


def test_temporary_files_go_with_the_process(target: Run, tmp_path: Path) -> None:
    import time

    assert target("-runs=1", stale=STALE).returncode == CRASH
    deadline = time.monotonic() + 30
    while list((tmp_path / "tmp").iterdir()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--mutator=best", "--mutator=best: one of chain, havoc, libfuzzer"),
        ("--known=nowhere", "--known=nowhere: a folder that exists"),
        ("--keep-going", "--keep-going needs a value"),
        ("--keep-going=yes", "--keep-going=yes: 0 or 1"),
        ("--preload=missing.py", "--preload=missing.py: a readable file"),
        ("--colour=1", "unknown flag --colour=1"),
        ("-max_total_time=soon", "-max_total_time=soon: a number of seconds"),
        ("-max_len=0", "-max_len=0: a positive number"),
    ],
)
def test_a_wrong_flag_is_one_line(flag: str, message: str) -> None:
    with pytest.raises(TargetUsageError) as caught:
        parse(["target", flag])
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_short_max_len_is_kept(target: Run, tmp_path: Path) -> None:
    done = target("-runs=40", "-seed=1", "-max_len=20", "--alarms=0", harmless=HARMLESS)
    assert done.returncode == 0, done.stderr
    assert all(len(path.read_bytes()) <= 20 for path in (tmp_path / "new").iterdir())


def test_another_back_end_may_be_named(target: Run, tmp_path: Path) -> None:
    done = target("-runs=2", "--backend=deep", "--record=1", harmless=HARMLESS)
    assert done.returncode == 0, done.stderr
    (record,) = (tmp_path / "findings" / "record").glob("*.jsonl")
    assert '"backends": ["deep"]' in record.read_text().splitlines()[0]


def test_an_unknown_back_end_is_one_line(target: Run) -> None:
    done = target("-runs=1", "--backend=bottomless")
    assert done.returncode == 2
    last = done.stderr.strip().splitlines()[-1]
    assert last == "error: no back end 'bottomless'; there is shallow, deep"


def test_flags_of_both_kinds_are_read_and_passed_on(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text("")
    preload = f"--preload={tmp_path / 'p.py'}"
    given = ["target", preload, "-artifact_prefix=out/", "-timeout=30", "--lines=0", "corpus"]
    options, passed_on = parse(given, known=(tmp_path, tmp_path / "missing"))
    assert options.preload == (str(tmp_path / "p.py"),)
    assert options.known == (tmp_path,)
    assert options.artifacts == Path("out/findings")
    assert (options.timeout, options.lines) == (30, False)
    assert passed_on == [*given, f"-max_len={DEFAULT_MAX_LEN}"]
    assert parse(["target", "-max_len=99"])[1] == ["target", "-max_len=99"]


def test_the_shipped_targets_are_executable_and_name_their_back_end() -> None:
    for backend in ("eager", "aot_eager", "inductor"):
        path = ROOT / "fuzz_targets" / f"fuzz_torch_{backend}.py"
        assert os.access(path, os.X_OK)
        assert f'backend="{backend}"' in path.read_text()
    assert ROOT / "fuzz_targets" / "known" in known_folders(str(path))
    assert ROOT / "bench" / "bugs" / "torch" in known_folders(str(path))


def run_shipped(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run the target for back end eager in `folder`."""
    pytest.importorskip("atheris", reason="atheris is not installed for this interpreter")
    return subprocess.run(
        [sys.executable, str(ROOT / "fuzz_targets" / "fuzz_torch_eager.py"), *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=900,
    )


@pytest.mark.slow
def test_a_seeded_fault_of_torch_is_a_crash_file_that_replays(tmp_path: Path, rondo: Run) -> None:
    """One seed is shipped, the other pokes the faulty mechanism; a sound torch passes both."""
    fault = ROOT / "bench" / "faults" / "guard_number.py"
    vocabulary = load_framework("torch").vocabulary()
    writer = Writer(vocabulary, "identity", "float_attribute")
    poke = writer.call().change("float_attribute", "set_factor", 0).call().sequence()
    seeds = tmp_path / "seeds"
    seeds.mkdir()
    (seeds / "poke").write_bytes(encode(poke))
    shutil.copy(ROOT / "corpus" / "torch" / "batch_sizes.seq", seeds)
    sound = run_shipped(tmp_path, "-runs=3", "-seed=1", seeds)
    assert sound.returncode == 0, sound.stderr
    assert features(sound.stderr)[-1] > 0
    faulty = run_shipped(tmp_path, "-runs=3", "-seed=1", f"--preload={fault}", seeds)
    assert faulty.returncode == CRASH, faulty.stderr
    (crash,) = tmp_path.glob("crash-*")
    assert crash.read_bytes() == encode(poke)
    assert rondo("replay", crash, "--preload", fault).returncode == 1
    assert rondo("replay", crash).returncode == 0
