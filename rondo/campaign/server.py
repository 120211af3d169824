"""The server: has imported the framework, has compiled nothing, and forks workers on demand.

    driver -> {"do": "fork"}                 driver <- {"pid": ...} and the worker's connection
    driver -> {"do": "end", "pid": ...}      driver <- {"status": raw wait status}

The key insight: a process that has only imported can be copied in ten milliseconds, while importing
again takes seconds; but one that has run an OpenMP parallel region, started autograd's engine or
touched a GPU cannot be copied safely at all. So this process does nothing but import and fork. It
answers one question at a time and knows no deadlines: those are the driver's.
"""

from __future__ import annotations

import argparse
import gc
import os
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from rondo.campaign import wire
from rondo.campaign.loading import load
from rondo.campaign.processes import die_with_parent, kill_group, own_group
from rondo.errors import DeviceError, RondoError
from rondo.frameworks.base import CPU, Framework
from rondo.subjects.user import load_subject

REMOVALS = 100


@dataclass
class Server:
    """Forks workers for the driver at the other end of `connection` and waits on them."""

    connection: socket.socket
    framework: Framework
    folder: Path
    preloads: tuple[str, ...]
    workers: set[int] = field(default_factory=set)

    def serve(self) -> None:
        """Answer the driver until it is gone."""
        with suppress(wire.WireError, OSError):
            while True:
                request = wire.receive(self.connection)
                if request["do"] == "fork":
                    self.fork()
                else:
                    wire.send(self.connection, {"status": self.end(request["pid"])})

    def fork(self) -> None:
        """Start a worker in a folder of its own and hand its connection to the driver."""
        from rondo.campaign.worker import run_worker

        assert not self.framework.unforkable(), "something started the device since the last fork"
        ours, theirs = socket.socketpair()
        folder = Path(tempfile.mkdtemp(prefix="worker-", dir=self.folder))
        parent = os.getpid()
        pid = os.fork()
        if not pid:
            self.connection.close()
            ours.close()
            run_worker(
                theirs,
                self.framework,
                parent=parent,
                folder=folder,
                preloads=self.preloads,
            )
        own_group(pid)
        self.workers.add(pid)
        theirs.close()
        wire.send(self.connection, {"pid": pid, "folder": str(folder)})
        socket.send_fds(self.connection, [b"\0"], [ours.fileno()])
        ours.close()

    def end(self, pid: int) -> int:
        """Kill `pid` with all that it started, and return how it ended: by itself or by us.

        The worker stays a zombie until then, so its number cannot have gone to another process.
        """
        if pid not in self.workers:
            return 0
        kill_group(pid)
        status = 0
        # Our own end may come between the wait and the next line, and then waits once more.
        with suppress(ChildProcessError):
            _, status = os.waitpid(pid, 0)
        self.workers.discard(pid)
        return status

    def leave(self) -> NoReturn:
        """End every worker, remove the campaign's temporary files and end."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        for pid in tuple(self.workers):
            self.end(pid)
        # A worker whose fork a signal interrupted is in no list, and may be writing still.
        for _ in range(REMOVALS):
            shutil.rmtree(self.folder, ignore_errors=True)
            if not self.folder.exists():
                break
            time.sleep(0.02)
        os._exit(0)


def _vanish(folder: Path) -> NoReturn:
    """Remove the campaign's temporary files and end, before there is any worker."""
    shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def main(arguments: list[str] | None = None) -> None:
    """Run a server. Started by the driver, not by people."""
    parser = argparse.ArgumentParser(prog="rondo.campaign.server")
    parser.add_argument("--connection", type=int, required=True)
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--framework", required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--preload", action="append", default=[])
    parser.add_argument("--subject", default="")
    parser.add_argument("--device", default=CPU)
    parser.add_argument("--device-limit-mb", type=int, default=0)
    options = parser.parse_args(arguments)

    connection = socket.socket(fileno=options.connection)
    connection.set_inheritable(False)
    # Loading takes seconds, and a driver may be killed meanwhile.
    signal.signal(signal.SIGTERM, lambda *_: _vanish(options.folder))
    die_with_parent(options.parent, signal.SIGTERM)
    try:
        framework = load(options.framework)
        framework.use_device(options.device, limit_mb=options.device_limit_mb)
        if options.subject:
            framework.add_subject(load_subject(options.subject))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            framework.warm()
        vocabulary = wire.vocabulary_to_data(framework.vocabulary())
        trees = list(framework.source_trees())
        if reason := framework.unforkable():
            raise DeviceError(reason)
    except RondoError as error:
        with suppress(wire.WireError, OSError):
            wire.send(connection, {"error": str(error), "exit_code": error.exit_code})
        sys.exit(error.exit_code)
    import rondo.campaign.worker  # noqa: F401  (before the fork, so that workers share it)

    server = Server(connection, framework, options.folder, tuple(options.preload))
    signal.signal(signal.SIGTERM, lambda *_: server.leave())
    hello = {"vocabulary": vocabulary, "trees": trees, "device": framework.device}
    wire.send(connection, hello)
    gc.collect()
    gc.freeze()
    try:
        server.serve()
    except BaseException:
        traceback.print_exc()
    # Whatever ended it: an interpreter that just returns would leave workers and files behind.
    server.leave()


if __name__ == "__main__":
    main()
