"""The server by itself: it leaves nothing behind, whenever its driver goes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rondo.campaign import wire
from rondo.campaign.server import Server
from tests.campaign.conftest import ROOT, TOY
from tests.toy_framework import ToyFramework


@pytest.mark.parametrize("requests", [0, 1, 8])
def test_nothing_is_left_when_the_end_of_the_driver_is_told_twice(
    tmp_path: Path, requests: int
) -> None:
    """Its connection ends and the kernel's signal comes, in either order and at any moment."""
    folder = tmp_path / "server"
    folder.mkdir()
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "rondo.campaign.server", "--framework", TOY]
    command += ["--connection", str(theirs.fileno()), "--parent", str(os.getpid())]
    server = subprocess.Popen(
        [*command, "--folder", str(folder)], pass_fds=[theirs.fileno()], cwd=ROOT
    )
    theirs.close()
    assert "vocabulary" in wire.receive(ours)
    for _ in range(requests):
        wire.send(ours, {"do": "fork"})
    ours.close()
    while server.poll() is None:
        server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=30) == 0
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not folder.exists()


def test_a_server_whose_driver_goes_while_it_loads_goes_at_once(tmp_path: Path) -> None:
    """A framework takes seconds to import, a loaded machine minutes."""
    folder, told = tmp_path / "server", tmp_path / "told"
    folder.mkdir()
    slow = f"import pathlib, time\npathlib.Path({str(told)!r}).touch()\ntime.sleep(600)\n"
    (tmp_path / "slow_to_import.py").write_text(slow)
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "rondo.campaign.server", "--framework", "slow_to_import:X"]
    command += ["--connection", str(theirs.fileno()), "--parent", str(os.getpid())]
    path = os.pathsep.join([str(ROOT), str(tmp_path)])
    server = subprocess.Popen(
        [*command, "--folder", str(folder)],
        pass_fds=[theirs.fileno()],
        env={**os.environ, "PYTHONPATH": path},
    )
    theirs.close()
    deadline = time.monotonic() + 60
    while not told.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    server.send_signal(signal.SIGTERM)
    assert server.wait(timeout=30) == 0
    assert not folder.exists()
    ours.close()


def test_a_worker_that_was_waited_for_already_can_be_ended_again(tmp_path: Path) -> None:
    """As when the signal of the driver's death comes just after the wait for a worker."""
    with socket.socket() as connection:
        server = Server(connection, ToyFramework(), tmp_path, ())
        worker = subprocess.Popen(["true"])
        worker.wait(timeout=10)
        server.workers.add(worker.pid)
        assert server.end(worker.pid) == 0
        assert not server.workers
