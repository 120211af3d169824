"""The native tracer against the plain Python one, and against coverage.py."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import coverage
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rondo._native.tracer import MONITORING, LineTracer
from tests.native.programs import PROGRAMS, load, reload
from tests.native.reference import Pair, ReferenceTracer

MakeTracer = Callable[..., LineTracer]


def flat(lines: dict[str, list[int]]) -> set[Pair]:
    return {(name, number) for name, numbers in lines.items() for number in numbers}


@pytest.fixture(params=PROGRAMS, ids=lambda name: name.replace(" ", "-"))
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    load(path, PROGRAMS[request.param])
    return path


def reference(path: Path) -> set[Pair]:
    return ReferenceTracer({str(path)}).run(reload(path))


def test_lines_equal_those_of_the_reference(program: Path, tracer_for: MakeTracer) -> None:
    expected = reference(program)
    main = reload(program)
    tracer = tracer_for(program)
    main()
    tracer.stop()
    assert flat(tracer.lines()) == expected
    assert len(expected) > 3


def test_lines_equal_those_of_coverage(program: Path, tracer_for: MakeTracer) -> None:
    collector = coverage.Coverage(data_file=None, include=[str(program)], config_file=False)
    main = reload(program)
    collector.start()
    main()
    collector.stop()
    expected = set(collector.get_data().lines(str(program)) or ())
    main = reload(program)
    tracer = tracer_for(program)
    main()
    tracer.stop()
    assert set(tracer.lines()[str(program)]) == expected


def test_each_run_says_what_it_added_and_a_complete_one_all(
    program: Path, tracer_for: MakeTracer
) -> None:
    expected = reference(program)
    main = reload(program)
    tracer = tracer_for(program)
    tracer.begin_run()
    main()
    assert set(tracer.end_run()) == expected
    assert len(tracer.end_run()) == len(tracer.run_hashes()) == len(expected)
    tracer.begin_run()
    main()
    assert tracer.end_run() == []
    for _ in range(3):
        tracer.begin_run(complete=True)
        main()
        assert tracer.end_run() == []
        assert flat(tracer.run_lines()) == expected
    tracer.begin_run(complete=True)
    assert tracer.run_lines() == {}
    tracer.begin_run()
    main()
    with pytest.raises(ValueError, match="needs begin_run"):
        tracer.run_lines()
    assert flat(tracer.lines()) == expected


def test_new_code_objects_of_known_lines_add_nothing(program: Path, tracer_for: MakeTracer) -> None:
    tracer = tracer_for(program)
    reload(program)()
    tracer.begin_run()
    reload(program)()
    assert tracer.end_run() == []


@pytest.mark.skipif(not MONITORING, reason="on 3.11 the interpreter calls back for every frame")
def test_what_was_seen_once_costs_nothing(program: Path, tracer_for: MakeTracer) -> None:
    """The steady state, counted instead of timed: callbacks run only for code not met before."""
    main = reload(program)
    tracer = tracer_for(program)
    for _ in range(3):
        main()
    makes_code = any(word in program.read_text() for word in ("thread", "exec("))
    before = tracer.counts()["events"]
    main()
    after = tracer.counts()["events"]
    assert after - before <= (20 if makes_code else 2)


# ------------------------------------------------------------------------- generated programs

LEAVES = st.sampled_from(["x += 1", "x = f(x)", "pass", "continue", "break", "raise E", "return x"])


def _block(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _compound(children: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.one_of(
        st.builds(
            lambda a, b, n: [f"if x % {n}:", *_block(a), "else:", *_block(b)],
            children,
            children,
            st.integers(2, 4),
        ),
        st.builds(
            lambda a, b: ["for i in range(3):", *_block(a), "else:", *_block(b)], children, children
        ),
        st.builds(
            lambda a, b, c: [
                "try:",
                *_block(a),
                "except E:",
                *_block(b),
                "finally:",
                *_block(["x += 1", *c]),
            ],
            children,
            children,
            children,
        ),
        st.builds(lambda a: ["with m:", *_block(a)], children),
        st.builds(lambda a, b: a + b, children, children),
    )


BODIES = st.recursive(LEAVES.map(lambda leaf: [leaf]), _compound, max_leaves=12)
HEAD = """
import contextlib
E = ValueError
m = contextlib.suppress(E)
def f(x):
    return (x +
            1)
def body(x):
    while x < 9:
        x += 1
"""


@settings(
    max_examples=min(60, settings().max_examples),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(BODIES)
def test_generated_programs_agree_with_the_reference(tmp_path: Path, body: list[str]) -> None:
    text = HEAD + "\n".join(_block(_block(body))) + "\n    return x\n"
    text += "def main():\n    for n in range(4):\n        try: body(n)\n        except E: pass\n"
    path = tmp_path / "generated.py"
    load(path, text)
    expected = reference(path)
    main = reload(path)
    tracer = LineTracer([path])
    tracer.start()
    try:
        for complete in (False, True, True):
            tracer.begin_run(complete=complete)
            main()
            if complete:
                assert flat(tracer.run_lines()) == expected
    finally:
        tracer.stop()
    assert flat(tracer.lines()) == expected


# ------------------------------------------------------------------------------------ threads


def test_threads_that_were_there_before_are_traced(tmp_path: Path, tracer_for: MakeTracer) -> None:
    path = tmp_path / "program.py"
    main = load(path, "def main():\n    x = 1\n    return x\n")
    go, stop = threading.Event(), threading.Event()

    def wait() -> None:
        go.wait(10)
        main()
        stop.set()

    thread = threading.Thread(target=wait)
    thread.start()
    tracer = tracer_for(path)
    go.set()
    assert stop.wait(10)
    thread.join()
    assert tracer.lines() == {str(path): [2, 3]}


def test_raw_threads_are_traced_from_the_next_run_on(
    tmp_path: Path, tracer_for: MakeTracer
) -> None:
    """`_thread` is below `threading`, as a C++ thread pool is."""
    import _thread

    path = tmp_path / "program.py"
    main = load(path, "def main():\n    x = 1\n    return x\n")
    tracer = tracer_for(path)
    go, done, running = threading.Event(), threading.Event(), threading.Event()

    def wait() -> None:
        running.set()
        go.wait(10)
        main()
        done.set()

    _thread.start_new_thread(wait, ())
    assert running.wait(10)
    tracer.begin_run()
    go.set()
    assert done.wait(10)
    assert [line for _, line in tracer.end_run()] == [2, 3]


def test_many_threads_at_once_lose_nothing(tmp_path: Path, tracer_for: MakeTracer) -> None:
    mains = [load(tmp_path / f"p{i}.py", "def main():\n" + "    x = 1\n" * 200) for i in range(8)]
    tracer = tracer_for(tmp_path)
    threads = [threading.Thread(target=lambda m=m: [m() for _ in range(50)]) for m in mains]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert tracer.line_count == 8 * 200
    assert tracer.counts()["dropped"] == 0


def test_a_frame_that_runs_already_is_traced(tmp_path: Path, tracer_for: MakeTracer) -> None:
    path = tmp_path / "program.py"
    main = load(path, "def main():\n    tracer = start()\n    x = 1\n    return tracer\n")
    main.__globals__["start"] = lambda: tracer_for(path)
    assert main().lines() == {str(path): [3, 4]}


def test_running_out_of_stack_does_not_end_tracing(tmp_path: Path, tracer_for: MakeTracer) -> None:
    """Python's own tracer is removed when it hits the limit; a C callback has no frame to lack."""
    path = tmp_path / "program.py"
    text = "def deep():\n    deep()\ndef main():\n    try:\n        deep()\n"
    main = load(path, text + "    except RecursionError:\n        return 1\n")
    tracer = tracer_for(path)
    main()
    assert tracer.lines() == {str(path): [2, 4, 5, 6, 7]}


# --------------------------------------------------------------- code objects that come and go


def test_reused_addresses_do_not_confuse(tmp_path: Path, tracer_for: MakeTracer) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    tracer = tracer_for(inside)
    addresses: list[int] = []
    for i in range(300):
        folder = inside if i % 2 else outside
        code = compile(f"\n\nx = {i}\ny = x\n", str(folder / f"f{i}.py"), "exec")
        addresses.append(id(code))
        tracer.begin_run()
        exec(code, {})
        assert [line for _, line in tracer.end_run()] == ([3, 4] if i % 2 else [])
        del code
    if os.environ.get("PYTHONMALLOC") != "malloc":  # memory checkers keep freed blocks back
        assert len(set(addresses)) < len(addresses) / 2, "no reuse: the test proves nothing"
    gc.collect()
    assert tracer.counts()["code_objects"] == 0
    assert tracer.line_count == 300


def test_a_record_dies_with_its_code_even_after_the_tracer(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    for _ in range(20):
        tracer = LineTracer([path])
        tracer.start()
        main = load(path, "def main():\n    return 1\n")
        main()
        tracer.stop()
        assert tracer.line_count == 2
        del tracer
        main()
    tracer = LineTracer([path])
    tracer.start()
    main()
    tracer.stop()
    assert tracer.lines() == {str(path): [2]}


# -------------------------------------------------------------------------------- reference counts


def test_reference_counts_and_memory_are_stable_over_a_million_events(
    tmp_path: Path, tracer_for: MakeTracer
) -> None:
    path = tmp_path / "program.py"
    main = load(path, "def main():\n" + "    x = 1\n" * 2000)
    tracer = tracer_for(path)
    watched = [main, main.__code__, main.__globals__, tracer, str(path)]
    if MONITORING:
        watched.append(sys.__dict__["monitoring"].DISABLE)

    def counts() -> list[int]:
        gc.collect()
        return [sys.getrefcount(thing) for thing in watched]

    def events(rounds: int) -> int:
        for _ in range(rounds):
            tracer.begin_run(complete=True)
            main()
        return rounds * 2000

    events(20)
    before, blocks = counts(), sys.getallocatedblocks()
    assert events(500) == 1_000_000
    assert len(tracer.run_lines()[str(path)]) == 2000
    assert counts() == before
    assert abs(sys.getallocatedblocks() - blocks) < 500


def test_uninteresting_events_leave_no_trace(tracer_for: MakeTracer, tmp_path: Path) -> None:
    def work(n: int) -> int:
        return n + 1

    tracer = tracer_for(tmp_path)
    for i in range(1000):
        work(i)
    references, blocks = sys.getrefcount(work.__code__), sys.getallocatedblocks()
    for i in range(200_000):
        work(i)
    # Taken outside the assertions: pytest's rewriting holds references to what they mention.
    after = sys.getrefcount(work.__code__), sys.getallocatedblocks()
    assert after[0] == references
    assert abs(after[1] - blocks) < 200
    assert tracer.line_count == 0
