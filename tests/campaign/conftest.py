"""Fixtures: sequences for the toy compiler, campaigns in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests.toy_framework import ToyFramework

ROOT = Path(__file__).parents[2]
TOY = "tests.toy_framework:ToyFramework"
VOCABULARY = ToyFramework().vocabulary()
Toy = Callable[..., bytes]


def toy_bytes(construct: str, *steps: Call | Change, backend: int = 0) -> bytes:
    """Return a sequence over one construct; by default it calls, changes it and calls again."""
    steps = steps or (Call(), Change(construct, 0, 0), Call())
    subject = SubjectSpec("chain", (construct,))
    return encode(normalise(Sequence(subject, Options(backend), steps), VOCABULARY))


STALE = toy_bytes("stale_scale")
HARMLESS = toy_bytes("scale")
DYNAMIC = toy_bytes("batch_mean", *(Call(sizes=(size,)) for size in (0, 1, 2, 0)))


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(TOY)
    yield server
    server.close()


@pytest.fixture
def executor(server: Server) -> Executor:
    return Executor(server, Limits(seconds=20, resident_bytes=200 << 20), 16, lambda: None)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment of commands: their temporary files are seen by the test, and by no other."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": path, "COLUMNS": "200"}


@pytest.fixture
def rondo(
    environment: dict[str, str], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a module of Rondo as a command, in a folder of its own."""

    def run(*arguments: object, module: str = "rondo") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", module, *map(str, arguments)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=120,
        )

    return run


@pytest.fixture
def fuzz(
    rondo: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Fuzz the toy, with limits that a test can wait for and folders below `tmp_path`."""

    def run(*arguments: object, corpus: str = "corpus") -> subprocess.CompletedProcess[str]:
        (tmp_path / corpus).mkdir(exist_ok=True)
        limits = ("-timeout=10", "-rss_limit_mb=200", "--framework", TOY)
        return rondo(corpus, *limits, *arguments, module="rondo.fuzz")

    return run
