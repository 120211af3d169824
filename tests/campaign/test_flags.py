"""The command line: what is understood, what is refused, and that refusals are one line."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rondo import fuzz as fuzz_module
from rondo.campaign.flags import (
    LIBFUZZER_FLAGS,
    OWN_FLAGS,
    SAMPLERS,
    UsageError,
    help_text,
    parse_flags,
)
from rondo.campaign.settings import Settings
from rondo.search import samplers
from tests.campaign.conftest import HARMLESS, TOY

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_the_samplers_are_those_that_there_are() -> None:
    assert set(SAMPLERS) == set(samplers.SAMPLERS)


def test_defaults_are_those_of_the_settings() -> None:
    assert parse_flags(["corpus"]) == Settings((Path("corpus"),))


EVERY_FLAG = """
one -runs=5 -max_total_time=2.5 -seed=9 -max_len=300 -timeout=1.5 -rss_limit_mb=100
-artifact_prefix=out/ -print_final_stats=1 -error_exitcode=77 -verbosity=2
--framework m:C --backends a,b --sampler=random --constructs=x,y,x
--architectures z two --preload p.py --preload=q.py --batch 1 --device cpu --json
"""


def test_every_flag_fills_its_setting() -> None:
    assert parse_flags(EVERY_FLAG.split()) == Settings(
        corpora=(Path("one"), Path("two")),
        framework="m:C",
        runs=5,
        max_total_time=2.5,
        seed=9,
        max_len=300,
        timeout=1.5,
        rss_limit_mb=100,
        artifact_prefix=Path("out"),
        print_final_stats=True,
        error_exitcode=77,
        verbosity=2,
        sampler="random",
        backends=("a", "b"),
        constructs=("x", "y"),
        architectures=("z",),
        preloads=("p.py", "q.py"),
        batch=1,
        device="cpu",
        json=True,
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ("", "no corpus folder given"),
        ("c -fork=2 -workers=2", "-fork does not go with -jobs or -workers"),
        ("c -workers=100000", "-workers=100000 is not usable: it must be at most 4096"),
        ("c -jobs=-1", "-jobs=-1 is not usable: it must be at least 0"),
        ("c --device_limit_mb=-1", "--device_limit_mb=-1 is not usable: it must be at least 0"),
        ("c -rnus=5", "unknown flag -rnus=5; did you mean -runs=?"),
        ("c --runs=5", "unknown flag --runs=5; did you mean -runs=?"),
        ("c -framework=torch", "unknown flag -framework=torch; did you mean --framework?"),
        ("c -zzz", "unknown flag -zzz; -help=1 lists all"),
        ("c -runs", "-runs needs a value: -runs=VALUE"),
        ("c -runs=", "-runs= is not usable: it must be not empty"),
        ("c -runs=many", "-runs=many is not usable: it must be a number"),
        ("c -runs=-2", "-runs=-2 is not usable: it must be at least -1"),
        ("c -timeout=nan", "-timeout=nan is not usable: it must be at least 0"),
        ("c -print_final_stats=yes", "it must be 0 or 1"),
        ("c --sampler best", "--sampler=best is not usable: it must be one of mcmc, random"),
        ("c --batch 0", "--batch=0 is not usable: it must be at least 1"),
        ("c --constructs ,", "names with commas"),
        ("c --preload", "--preload needs a value"),
    ],
)
def test_what_is_not_understood_is_refused(arguments: str, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_flags(arguments.split())
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("flag", ["-h", "--help", "-help=1"])
def test_help_lists_every_flag(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fuzz_module.main(["corpus", flag]) == 0
    said = capsys.readouterr().out
    assert said == help_text() + "\n"
    for name in (*LIBFUZZER_FLAGS, *OWN_FLAGS):
        assert f"-{name} " in said


def file_in_the_way(folder: Path) -> list[str]:
    (folder / "file").write_text("")
    return ["corpus", "-artifact_prefix=file/findings"]


def corrupt(folder: Path) -> list[str]:
    (folder / "corpus" / "bad.seq").write_bytes(HARMLESS[:-1] + b"\xff\xff")
    return ["corpus"]


def not_a_sequence(folder: Path) -> list[str]:
    (folder / "corpus" / "bad.seq").write_bytes(b"PK\x03\x04")
    return ["corpus"]


def faulty_preload(folder: Path) -> list[str]:
    (folder / "faulty.py").write_text("\n1/0\n")
    return ["corpus", "--preload", "faulty.py"]


def a_single_file(folder: Path) -> list[str]:
    (folder / "one.seq").write_bytes(HARMLESS)
    return ["one.seq"]


@pytest.mark.parametrize(
    ("prepare", "says"),
    [
        (lambda _: ["nowhere"], "corpus folder nowhere does not exist"),
        (lambda _: ["corpus", "nowhere"], "corpus folder nowhere does not exist"),
        (a_single_file, "one.seq is a file; run single ones with: rondo replay one.seq"),
        (corrupt, "corpus/bad.seq: damaged"),
        (not_a_sequence, "corpus/bad.seq: not a Rondo sequence"),
        (file_in_the_way, "cannot write into file/findings"),
        (lambda _: ["corpus", "-nonsense=1"], "unknown flag -nonsense=1"),
        (lambda _: ["corpus", "--constructs=nope"], "no construct 'nope'; there is scale, "),
        (lambda _: ["corpus", "--backends=nope"], "no back end 'nope'; there is shallow, deep"),
        (lambda _: ["corpus", "--architectures=x"], "no architecture 'x'; there is chain"),
        (lambda _: ["corpus", "-max_len=20"], "-max_len=20 leaves no room for a single call"),
        (lambda _: ["corpus", "--preload=gone.py"], "--preload gone.py is not a readable file"),
        (faulty_preload, "faulty.py, line 2: ZeroDivisionError: division by zero"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    rondo: Run, tmp_path: Path, prepare: Callable[[Path], list[str]], says: str
) -> None:
    (tmp_path / "corpus").mkdir()
    arguments = prepare(tmp_path)
    done = rondo(*arguments, "--framework", TOY, "-verbosity=0", "-runs=1", module="rondo.fuzz")
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: ")
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert list((tmp_path / "tmp").iterdir()) == []
