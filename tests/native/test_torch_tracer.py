"""The tracer on torch: it sees what coverage.py sees, and changes nothing that Dynamo does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rondo._native.behaviour import hash64
from rondo._native.tracer import LineTracer

torch = pytest.importorskip("torch", reason="torch is not installed for this interpreter")

BENCH = Path(__file__).resolve().parents[2] / "bench" / "tracer.py"
BACKENDS = ["eager", "aot_eager", "inductor"]
TREES = ["_dynamo", "_functorch", "_inductor", "fx", "_guards.py", "_subclasses"]
# Fields of a compile record that are equal in every process; times and paths are not.
FIELDS = [
    "co_name",
    "cache_size",
    "guard_count",
    "shape_env_guard_count",
    "graph_op_count",
    "graph_node_count",
    "graph_input_count",
    "fail_type",
    "restart_reasons",
    "recompile_reason",
    "num_graph_breaks",
    "is_forward",
]


@pytest.fixture(scope="module", autouse=True)
def deterministic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Inductor's caches off, so that a compile is the same the second time; kernels are kept."""
    import torch._functorch.config
    import torch._inductor.config

    before = os.environ.get("TORCHINDUCTOR_CACHE_DIR")
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(tmp_path_factory.mktemp("kernels"))
    with (
        torch._inductor.config.patch(fx_graph_cache=False, compile_threads=1),
        torch._functorch.config.patch(enable_autograd_cache=False),
    ):
        yield
    torch._dynamo.reset()
    if before is None:
        del os.environ["TORCHINDUCTOR_CACHE_DIR"]
    else:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = before


def trees() -> list[str]:
    root = Path(os.path.realpath(torch.__file__)).parent
    return [str(root / tree) for tree in TREES]


class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.scale = 1

    def forward(self, x: Any) -> Any:
        y = self.linear(x) * self.scale
        if y.sum() > 1e6:
            return y
        return torch.relu(y) + x.shape[0]


def scenario(backend: str) -> tuple[list[int], list[bytes]]:
    """A compile, recompiles for several reasons, a graph break: behaviours and results."""
    from torch._dynamo.utils import clear_compilation_metrics, get_compilation_metrics

    torch._dynamo.reset()
    clear_compilation_metrics()
    torch.manual_seed(0)
    model = Model()
    compiled = torch.compile(model, backend=backend)
    results = []
    for batch, scale in ((2, 1), (2, 1), (3, 1), (5, 1), (5, 2), (1, 2)):
        model.scale = scale
        out = compiled(torch.arange(batch * 4.0).reshape(batch, 4) / 7)
        out.sum().backward()
        results.append(out.detach().numpy().tobytes() + model.linear.weight.grad.numpy().tobytes())
    behaviours = [
        hash64(repr([getattr(record, field, None) for field in FIELDS]).split("  #")[0])
        for record in get_compilation_metrics()
    ]
    return behaviours, results


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_tracer_changes_no_behaviour_and_no_result(
    backend: str, tracer_for: Callable[..., LineTracer]
) -> None:
    scenario(backend)  # lazy imports, once
    off = scenario(backend)
    tracer = tracer_for(*trees())
    tracer.begin_run()
    on = scenario(backend)
    added = tracer.end_run()
    tracer.begin_run(complete=True)
    complete = scenario(backend)
    whole = tracer.run_lines()
    tracer.stop()
    assert on == off
    assert complete == off
    assert len(off[0]) >= 4
    assert len(added) > 3000
    assert sum(map(len, whole.values())) > 3000


@pytest.mark.parametrize("backend", BACKENDS[:2])
def test_lines_equal_those_of_coverage_on_a_compile(backend: str) -> None:
    """No exception to the rule was needed: not one line differs.

    In a process of its own, or the finalizers of an earlier test's compiles would run in one of the
    two and not in the other; by the bench, so that what it claims is what is tested.
    """
    job = {"backend": backend, "units": 1, "turns": ["none"], "lines": True}
    result = subprocess.run(
        [sys.executable, str(BENCH), "--job", json.dumps(job)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    lines = json.loads(result.stdout.splitlines()[-1])["lines"]
    assert lines["only_coverage"] == lines["only_rondo"] == []
    assert lines["rondo"] == lines["coverage"] > 3000


def test_a_compile_on_another_thread_is_seen(tracer_for: Callable[..., LineTracer]) -> None:
    tracer = tracer_for(*trees())
    thread = threading.Thread(target=scenario, args=("eager",))
    tracer.begin_run()
    thread.start()
    thread.join()
    assert len(tracer.end_run()) > 3000
