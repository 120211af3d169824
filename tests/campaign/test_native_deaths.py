"""Deaths in native code, each from the first alarm to a reproducer that dies of the same.

The faults are those of `native_toy`: compiled C++, called with the interpreter's lock held.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.findings.reproducer import load
from rondo.oracle.result import Identity
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec, normalise
from tests.campaign.native_toy import LIBRARY, NativeFramework, build
from tests.campaign.test_campaign import CALL, seed, steps_by_bug

Completed = subprocess.CompletedProcess[str]
ADAPTER = "tests.campaign.native_toy:NativeFramework"
VOCABULARY = NativeFramework().vocabulary()
RSS_MB = 200
SLOT_SECONDS = 10.0
"""No slot may stay dead for longer."""


@dataclass(frozen=True)
class Expected:
    """What a fault's death is called, and a piece of the last words that are kept of it."""

    effect: str
    detail: str = ""
    said: str = ""


EXPECTED = {
    "overflow": Expected("crash", "SIGSEGV"),
    "spin": Expected("hang"),
    "broken": Expected("crash", "SIGABRT", "the kernel was made for one row"),
    "thrown": Expected("crash", "SIGABRT", "no such kernel"),
    "swell": Expected("memory"),
}


CALM_STEPS = (Call(value_seed=3), Change("program"), Call(sizes=(1,)))
"""Steps that have nothing to do with any fault."""


def fault(construct: str, extra: tuple[Step, ...] = CALM_STEPS) -> bytes:
    """Return a sequence that dies of `construct`, with `extra` around what it takes."""
    steps = (*extra, Change(construct), *(extra or (Call(),)))
    subject = SubjectSpec("chain", (construct,))
    return encode(normalise(Sequence(subject, Options(), steps), VOCABULARY))


CALM = encode(
    normalise(Sequence(SubjectSpec("chain", ("spin",)), Options(), (Call(),)), VOCABULARY)
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("native"))


@pytest.fixture
def environment(environment: dict[str, str], library: Path) -> dict[str, str]:
    return {**environment, LIBRARY: str(library)}


@pytest.fixture
def server(library: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv(LIBRARY, str(library))
    server = Server(ADAPTER)
    yield server
    server.close()


@pytest.mark.parametrize("construct", EXPECTED)
def test_it_is_named_and_its_slot_lives_again(server: Server, construct: str) -> None:
    expected = EXPECTED[construct]
    limits = Limits(seconds=1.0 if construct == "spin" else 60.0, resident_bytes=RSS_MB << 20)
    executor = Executor(server, limits, 16, lambda: None)
    assert executor.run(CALM).verdict == "agree"
    result = executor.run(fault(construct))
    died = time.monotonic()
    executor.limits = Limits()
    assert executor.run(CALM).verdict == "agree"
    assert time.monotonic() - died < SLOT_SECONDS
    (alarm,) = result.alarms
    assert result.verdict == "died"
    assert alarm.step == 4, "the call behind the change"
    assert alarm.identity == Identity(
        "died", expected.effect, "shallow", "retained", f"{construct}.arm", expected.detail
    )
    assert expected.said in alarm.differences[0].retained


@pytest.mark.parametrize("construct", EXPECTED)
def test_it_is_a_finding_whose_reproducer_dies_of_the_same(
    rondo: Callable[..., Completed], tmp_path: Path, construct: str
) -> None:
    """What the campaign's flags were, `rondo replay` knows from the file alone."""
    expected = EXPECTED[construct]
    # These cost their limit each time that they show, so they are short to begin with.
    extra = () if expected.effect in ("hang", "memory") else CALM_STEPS
    seed(tmp_path / "corpus", fault=fault(construct, extra))
    flags = ("-runs=0", "-timeout=1" if construct == "spin" else "-timeout=60")
    flags += (f"-rss_limit_mb={RSS_MB}",)
    done = rondo("corpus", "--framework", ADAPTER, *flags, module="rondo.fuzz")
    assert done.returncode == 0, done.stderr
    assert steps_by_bug(tmp_path / "findings") == {
        f"died {expected.effect} of {construct}": [f"{construct}.arm()", CALL]
    }
    (path,) = (tmp_path / "findings").glob("*/*.rondo")
    recorded = load(path)
    assert recorded.identity.exception == expected.detail
    assert expected.said in recorded.death
    options = ("--json", "--framework", ADAPTER)
    options += ("--timeout=1",) if construct == "spin" else ()
    replayed = rondo("replay", path, *options)
    assert replayed.returncode == 1, replayed.stdout + replayed.stderr
    shown = json.loads(replayed.stdout)
    assert shown["shows"]
    assert shown["verdict"] == "died"
    assert [alarm["identity"] for alarm in shown["alarms"]] == [shown["expected"]]
    if expected.effect == "memory":
        verified = rondo("verify", path, "--times=2", "--framework", ADAPTER)
        assert verified.returncode == 0, verified.stdout + verified.stderr
