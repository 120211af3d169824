"""Seeded faults break what they say, and only what is retained."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.errors import PreloadError
from rondo.oracle.result import Result, Verdict
from rondo.sequences.codec import encode

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

from seeded import LAYERS, Fault, Workers, all_faults  # noqa: E402  (a script of the bench)

FAULTS = all_faults()
PARAMETERS = [
    pytest.param(each, id=each.name, marks=[pytest.mark.slow] * (each.backend == "inductor"))
    for each in FAULTS
]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.close()


def show(fault: Fault, workers: Workers, *, seeded: bool) -> Result:
    """Run the fault's sequence in a fresh process, with the fault or without it."""
    workers.choose(fault if seeded else None)
    return workers.executor.run_fresh(encode(fault.sequence(workers.vocabulary)))


@pytest.mark.parametrize("fault", PARAMETERS)
def test_a_fault_shows_as_declared_and_is_gone_without_its_module(
    fault: Fault, workers: Workers
) -> None:
    clean = show(fault, workers, seeded=False)
    assert clean.verdict == Verdict.AGREE.value, clean.alarms
    assert clean.raised == 0
    broken = show(fault, workers, seeded=True)
    assert broken.verdict == fault.verdict, broken.steps
    assert broken.alarms[0].identity.effect == fault.effect, broken.alarms[0]
    calls = [row.verdict for row in broken.steps if row.text.startswith("call")]
    assert len(calls) == 1 or calls[0] == Verdict.AGREE.value, "wrong without any history"


def test_faults_are_spread_over_what_torch_compile_retains() -> None:
    assert len(FAULTS) >= 22
    assert {fault.layer for fault in FAULTS} == set(LAYERS)
    assert Counter(fault.layer for fault in FAULTS).most_common(1)[0][1] <= len(FAULTS) / 2
    for fault in FAULTS:
        assert fault.about.startswith(f"{fault.name}: ")
        assert all(word in fault.about for word in ("Mechanism:", "Broken:", "Established by"))
        assert Verdict(fault.verdict).alarms


def test_each_fault_has_its_row_in_the_documentation() -> None:
    page = (BENCH.parent / "docs" / "faults.md").read_text()
    for fault in FAULTS:
        said = " ".join(fault.about.split("\n\n")[0].split()).partition(": ")[2].rstrip(".")
        row = f"| `{fault.name}` | {said} | {fault.effect} | {fault.layer} | {fault.backend} |"
        assert row in page, row


def test_reading_a_declaration_breaks_nothing() -> None:
    script = "import seeded, sys; seeded.all_faults(); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=BENCH, check=False)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("name", "gone", "missing"),
    [
        ("guard_function", "guards.GuardBuilder", "CLOSURE_MATCH"),
        ("rng_offset_reused", "output_graph.OutputGraph", "call_user_compiler"),
    ],
)
def test_a_fault_refuses_a_torch_without_what_it_breaks(
    name: str, gone: str, missing: str, tmp_path: Path
) -> None:
    module, _, owner = gone.partition(".")
    earlier = tmp_path / "earlier.py"
    earlier.write_text(
        f"from torch._dynamo.{module} import {owner}\ndelattr({owner}, {missing!r})\n"
    )
    server = Server("torch", preloads=(str(earlier), str(BENCH / "faults" / f"{name}.py")))
    try:
        executor = Executor(server, Limits(60.0), batch=1, interrupted=lambda: None)
        with pytest.raises(PreloadError, match=rf"{name}\.py, line \d+: .*{missing}"):
            executor.start()
    finally:
        server.close()
