"""The worker: a forked process that runs sequences until it is told to stop or does not survive.

                                   driver <- {"ready": pid} once the preloads have run
    driver -> {"data": bytes,      driver <- {"result": ...}, or {"fault": traceback}; with them
               "trace": bool,                {"cpu": seconds, "lines": new lines if traced}
               "always_reset": bool}
    driver -> {"environment": 1}   driver <- {"environment": names and values}
    driver -> {"layers": 1}        driver <- {"layers": what the compiler retains}
    driver -> {"data": bytes,      driver <- {"inspection": what that call relies on}
               "inspect": position}

The key insight: everything here may be the last thing the process does, so whatever the driver must
know afterwards - the bytes, the arm, the step, what was printed - is on disk beforehand.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from rondo._native.choose import choose_tracer
from rondo._native.tracer import LineTracer
from rondo.campaign import wire
from rondo.campaign.deaths import DEVICE_EXIT, DEVICE_LOST
from rondo.campaign.journal import Journal, journal_steps
from rondo.campaign.preload import run_preloads
from rondo.campaign.processes import die_with_parent, own_group
from rondo.errors import PreloadError
from rondo.findings.reproducer import DEVICE
from rondo.frameworks.base import Framework
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode
from rondo.sequences.vocabulary import Vocabulary

FOLDER_VARIABLE = "RONDO_WORKER_FOLDER"
"""Names the worker's own folder, which goes when it ends: the place for a compiler's caches."""


def run_worker(
    connection: socket.socket,
    framework: Framework,
    *,
    parent: int,
    folder: Path,
    preloads: tuple[str, ...],
) -> None:
    """Serve executions over `connection` until it is closed. Never returns: the process ends."""
    try:
        own_group()
        die_with_parent(parent, signal.SIGKILL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        _redirect(folder / "output")
        os.environ[FOLDER_VARIABLE] = str(folder)
        # Observations show the state of this source; drawn anew by each process at its start, it
        # would make equal campaigns write unequal findings.
        random.seed(0)
        try:
            run_preloads(preloads)
        except PreloadError as error:
            wire.send(connection, {"preload": str(error)})
        else:
            wire.send(connection, {"ready": os.getpid()})
            _serve(connection, framework, Journal(folder / "journal"))
    except wire.WireError:
        pass
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _redirect(path: Path) -> None:
    """Send what the program prints to `path`: compilers warn a lot, and a crash's last words count.

    Opened for appending, so that cutting the file short does not leave a hole.
    """
    output = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND | os.O_TRUNC, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)


def _serve(connection: socket.socket, framework: Framework, journal: Journal) -> None:
    journal_steps(framework, journal)
    framework.lose_device = _end_without_device
    vocabulary = framework.vocabulary()
    tracer: LineTracer | None = None
    while True:
        request = wire.receive(connection)
        os.ftruncate(1, 0)
        if "environment" in request:
            environment = {**framework.environment(), DEVICE: framework.device}
            wire.send(connection, {"environment": environment})
            continue
        if "layers" in request:
            wire.send(connection, {"layers": [asdict(layer) for layer in framework.layers()]})
            continue
        journal.begin(request["data"])
        answer: wire.Message
        began = _cpu_seconds()
        if request.get("trace"):
            tracer = tracer or _start_tracer(framework)
            if tracer is not None:
                tracer.begin_run()
        try:
            answer = _answer(request, framework, vocabulary)
        except Exception:
            answer = {"fault": traceback.format_exc()}
        answer["cpu"] = _cpu_seconds() - began
        if request.get("trace") and tracer is not None:
            tracer.end_run()
            answer["lines"] = tracer.export_new()
        sys.stdout.flush()
        wire.send(connection, answer)
        journal.end()


def _end_without_device(told: str) -> NoReturn:
    """End this process: its device does nothing more, and whatever came next would be blamed.

    What the device said is the last line of the output, from which the driver names the death. It
    is written below Python: a step's own prints are listened to when this is called.
    """
    os.write(1, f"\n{DEVICE_LOST}{' '.join(told.split())}\n".encode(errors="replace"))
    os._exit(DEVICE_EXIT)


def _answer(request: wire.Message, framework: Framework, vocabulary: Vocabulary) -> wire.Message:
    """Execute a sequence, or look at what its call at the position `inspect` relies on."""
    data = request["data"]
    if "inspect" in request:
        sequence = decode(data, vocabulary)
        return {"inspection": framework.inspect(sequence, request["inspect"])}
    settings = Settings(
        always_reset=request.get("always_reset", False),
        keep_reset=request.get("keep_reset", False),
        only_reset=request.get("only_reset"),
    )
    return {"result": execute(data, framework, settings=settings, vocabulary=vocabulary).to_data()}


def _start_tracer(framework: Framework) -> LineTracer | None:
    """Start tracing the compiler's lines in this worker; without a tracer, say why and go on."""
    choice = choose_tracer(framework.source_trees())
    if choice.tracer is None:
        print(choice.describe())
        return None
    choice.tracer.start()
    return choice.tracer


def _cpu_seconds() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
