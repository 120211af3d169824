"""Workers: results, deaths, limits, batches, preloads; a lost server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from rondo.campaign import pool
from rondo.campaign.executor import Executor
from rondo.campaign.pool import ExecutionFaultError, FrameworkError, Limits, Server
from rondo.campaign.processes import RunQueueTime, descendants
from rondo.campaign.stop import StoppedError
from rondo.errors import PreloadError, WorkerError
from rondo.oracle.result import Identity, Result
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests.campaign.conftest import DYNAMIC, HARMLESS, STALE, TOY, VOCABULARY, toy_bytes
from tests.campaign.slow_toy import SECONDS


def only_identity(result: Result) -> Identity:
    (alarm,) = result.alarms
    return alarm.identity


def test_the_server_tells_the_vocabulary(server: Server) -> None:
    assert server.vocabulary == VOCABULARY


def test_agreement_and_a_stateful_bug(executor: Executor) -> None:
    assert executor.run(HARMLESS).verdict == "agree"
    result = executor.run(STALE)
    assert result.verdict == "stateful"
    assert only_identity(result) == Identity(
        "stateful", "value", "shallow", "output", "stale_scale.set_factor"
    )
    assert executor.run(DYNAMIC).verdict == "stateful"


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize(
    ("construct", "effect", "detail"),
    [
        ("crash", "crash", "SIGSEGV"),
        ("quit", "exit", "3"),
        ("hang", "hang", ""),
        ("hunger", "memory", ""),
    ],
)
def test_deaths_are_classed_and_blamed_on_the_step(
    executor: Executor, construct: str, effect: str, detail: str, fresh: bool
) -> None:
    if construct == "hang":
        executor.limits = Limits(seconds=0.5)
    data = toy_bytes(construct, Call(), Call(), Change(construct), Call(), Call())
    result = (executor.run_fresh if fresh else executor.run)(data)
    assert result.verdict == "died"
    assert result.alarms[0].step == 3
    assert only_identity(result) == Identity(
        "died", effect, "shallow", "retained", f"{construct}.arm", detail
    )
    assert executor.run(HARMLESS).verdict == "agree"


def test_a_hang_is_a_step_that_does_not_end_and_many_slow_steps_are_none() -> None:
    server = Server("tests.campaign.slow_toy:SlowFramework")
    try:
        vocabulary = server.vocabulary
        subject = SubjectSpec("chain", ("plod",))

        def calls(count: int) -> bytes:
            sequence = Sequence(subject, Options(), (Call(),) * count)
            return encode(normalise(sequence, vocabulary))

        executor = Executor(server, Limits(seconds=2 * SECONDS), 16, lambda: None)
        assert executor.run(calls(3)).verdict == "agree"
        slow = executor.run(calls(12))
        assert (slow.verdict, slow.alarms) == ("slow", ())
        assert slow.work > executor.run(calls(3)).work
        executor.limits = Limits(seconds=SECONDS / 2)
        (alarm,) = executor.run(calls(1)).alarms
        assert (alarm.identity.verdict, alarm.identity.effect) == ("died", "hang")
    finally:
        server.close()


def test_time_on_a_run_queue_is_given_back(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine twice as crowded as it has cores gives half of the time; a hang is still found."""
    began = time.monotonic()
    monkeypatch.setattr(pool.RunQueueTime, "look", lambda self: (time.monotonic() - began) / 2)
    executor.limits = Limits(seconds=0.5)
    assert executor.run(toy_bytes("hang")).verdict == "died"
    assert time.monotonic() - began > 0.9


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the kernel keeps no account")
def test_waiting_for_a_core_is_counted_children_included() -> None:
    core = min(os.sched_getaffinity(0))
    spin = f"import os; os.sched_setaffinity(0, [{core}])\nwhile True: pass"
    shell = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}])"
    with ExitStack() as stack:
        rivals = []
        for code in (shell, spin):
            rivals.append(stack.enter_context(subprocess.Popen([sys.executable, "-c", code])))
            stack.callback(rivals[-1].kill)
        queue = RunQueueTime(rivals[0].pid)
        deadline = time.monotonic() + 60
        while queue.look() < 0.2:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        children = descendants(rivals[0].pid)
        for child in children:
            os.kill(child, signal.SIGKILL)
        rivals[0].wait()
        assert len(children) == 1
        assert descendants(rivals[0].pid) == []
        assert queue.look() >= 0.2  # what is gone has waited nevertheless


def test_a_death_without_the_compiler_says_so(executor: Executor) -> None:
    assert only_identity(executor.run(toy_bytes("mulish"))).place == "eager"


def test_last_words_are_kept(executor: Executor, tmp_path: Path) -> None:
    preload = tmp_path / "preload.py"
    preload.write_text(
        "import tests.toy_framework as toy\n"
        "def harm(self):\n"
        "    print('about to', 'fail', flush=True)\n"
        "    import os; os.abort()\n"
        "toy.Crash.harm = harm\n"
    )
    server = Server(TOY, preloads=(str(preload),))
    try:
        died = Executor(server, Limits(), 16, lambda: None).run(toy_bytes("crash"))
    finally:
        server.close()
    assert only_identity(died).exception == "SIGABRT"
    assert died.alarms[0].differences[0].retained == "SIGABRT: about to fail"


def test_a_batch_shares_a_process_and_a_fresh_run_does_not(executor: Executor) -> None:
    flaky = toy_bytes("flaky_scale")
    assert executor.run(flaky).verdict == "agree"
    assert executor.run(flaky).verdict == "stateful", "the second of a process"
    assert executor.run(flaky).verdict == "agree", "an alarm ends the process"
    assert executor.run_fresh(flaky).verdict == "agree"
    assert executor.run_fresh(flaky).verdict == "agree"


def test_a_batch_ends_after_its_number(server: Server) -> None:
    executor = Executor(server, Limits(), 3, lambda: None)
    for _ in range(7):
        executor.run(HARMLESS)
    assert executor.forks == 3


def test_a_crowded_worker_is_replaced(server: Server) -> None:
    executor = Executor(server, Limits(), 16, lambda: None)
    executor.run(HARMLESS)
    executor.limits = Limits(resident_bytes=executor.resident_bytes * 3 // 2)
    executor.run(HARMLESS)
    assert executor.forks == 1, "it had not grown when it was taken"
    executor.run(HARMLESS)
    assert executor.forks == 2


def test_nothing_is_left_when_the_server_is_closed(environment: dict[str, str]) -> None:
    server = Server(TOY)
    executor = Executor(server, Limits(), 16, lambda: None)
    executor.run(HARMLESS)
    worker = executor._worker
    assert worker is not None
    server.close()
    assert not server.folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


def test_a_killed_server_is_restarted_and_the_sequence_run_again(executor: Executor) -> None:
    assert executor.run(HARMLESS).verdict == "agree"
    os.kill(executor.server._process.pid, signal.SIGKILL)
    assert executor.run(STALE).verdict == "stateful"
    assert executor.server.restarts == 1
    os.kill(executor.server._process.pid, signal.SIGKILL)
    assert executor.run_fresh(DYNAMIC).verdict == "stateful"
    assert executor.server.restarts == 2


def test_a_server_that_is_killed_while_it_loads_is_started_once_more(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait, kills = executor.server._wait_for_hello, iter([True, False])

    def killed_first() -> None:
        if next(kills):
            os.kill(executor.server._process.pid, signal.SIGKILL)
        wait()

    monkeypatch.setattr(executor.server, "_wait_for_hello", killed_first)
    os.kill(executor.server._process.pid, signal.SIGKILL)
    assert executor.run(STALE).verdict == "stateful"
    assert executor.server.restarts == 2


def test_a_server_that_is_lost_again_and_again_is_given_up(
    executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    restart = executor.server.restart

    def restart_and_lose(lost: int) -> None:
        restart(lost)
        os.kill(executor.server._process.pid, signal.SIGKILL)

    monkeypatch.setattr(executor.server, "restart", restart_and_lose)
    os.kill(executor.server._process.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="lost 4 times"):
        executor.run(HARMLESS)


def test_a_stop_does_not_wait_for_the_execution(server: Server) -> None:
    began = time.monotonic()

    def interrupted() -> None:
        if time.monotonic() > began + 0.2:
            raise StoppedError

    executor = Executor(server, Limits(seconds=30), 16, interrupted)
    with pytest.raises(StoppedError):
        executor.run(toy_bytes("hang"))
    assert time.monotonic() - began < 25


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("x = 1\nraise ValueError('two\\nlines')", r", line 2: ValueError: two lines$"),
        ("def broken(:", r", line 1: SyntaxError: "),
        ("import no_such_module", r"line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import sys; sys.exit(4)", r"called sys.exit\(4\)$"),
        ("import os; os._exit(5)", r"ended the worker \(exit 5\)$"),
        ("import os; os.kill(os.getpid(), 11)", r"ended the worker \(crash SIGSEGV\)$"),
        ("while True: pass", r"ended the worker \(hang\)$"),
    ],
)
def test_a_faulty_preload_is_one_clear_line(tmp_path: Path, source: str, says: str) -> None:
    path = tmp_path / "faulty.py"
    path.write_text(source)
    server = Server(TOY, preloads=(str(path),))
    try:
        with pytest.raises(PreloadError, match=says) as caught:
            Executor(server, Limits(ready_seconds=0.5), 16, lambda: None).start()
        assert "\n" not in str(caught.value)
    finally:
        server.close()


def test_preloads_run_in_order_before_anything_else(tmp_path: Path) -> None:
    first, second = tmp_path / "first.py", tmp_path / "second.py"
    first.write_text("import tests.toy_framework as toy\ntoy.order = ['first']\n")
    second.write_text(
        "import sys, tests.toy_framework as toy\n"
        "assert toy.order == ['first'] and toy.sessions_of_process == 0\n"
        "class Fixed(toy.Scale): pass\n"
        "assert sys.modules[Fixed.__module__].Fixed is Fixed\n"
        "toy.NAMES['stale_scale'] = Fixed\n"
    )
    server = Server(TOY, preloads=(str(first), str(second)))
    try:
        assert Executor(server, Limits(), 16, lambda: None).run(STALE).verdict == "agree"
    finally:
        server.close()


def test_every_worker_starts_with_the_same_random_state(tmp_path: Path) -> None:
    preload = tmp_path / "preload.py"
    log = tmp_path / "log"
    preload.write_text(
        f"import random\nwith open({str(log)!r}, 'a') as file: print(random.random(), file=file)\n"
    )
    for _ in range(2):
        server = Server(TOY, preloads=(str(preload),))
        try:
            Executor(server, Limits(), 16, lambda: None).run(HARMLESS)
        finally:
            server.close()
    first, second = log.read_text().split()
    assert first == second


def test_an_exception_of_the_harness_is_a_fault_and_not_a_finding(tmp_path: Path) -> None:
    preload = tmp_path / "preload.py"
    preload.write_text(
        "import tests.toy_framework as toy\n"
        "def run(self, values): raise LookupError('not a bug')\n"
        "toy.Scale.run = run\n"
    )
    server = Server(TOY, preloads=(str(preload),))
    try:
        executor = Executor(server, Limits(), 16, lambda: None)
        with pytest.raises(ExecutionFaultError, match="LookupError: not a bug"):
            executor.run(HARMLESS)
        assert executor.run(STALE).verdict == "stateful"
    finally:
        server.close()


@pytest.mark.parametrize(
    ("framework", "says"),
    [
        ("nosuch", "no framework 'nosuch'; there is "),
        ("tests.toy_framework:Nothing", "no framework 'tests.toy_framework:Nothing'"),
        ("tests.toy_framework:Trace", "no framework"),
        ("no.module:Thing", "no framework"),
    ],
)
def test_an_unknown_framework_is_one_clear_line(framework: str, says: str) -> None:
    with pytest.raises(FrameworkError, match=says) as caught:
        Server(framework)
    assert caught.value.exit_code == 2


def test_a_server_that_dies_at_its_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(WorkerError, match="could not be loaded: AssertionError: broken adapter"):
        Server("tests.campaign.odd_adapters:BrokenFramework")


def test_the_environment_comes_from_a_worker(executor: Executor) -> None:
    assert executor.environment() == {"toy": "1", "device": "cpu"}
    os.kill(executor.server._process.pid, signal.SIGKILL)
    assert executor.environment() == {"device": "cpu"}
    assert executor.run(HARMLESS).verdict == "agree"
