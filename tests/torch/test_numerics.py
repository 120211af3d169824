"""A few operators under Inductor: nothing alarms, and seeded errors in real outputs are caught."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from rondo.frameworks.torch import state

BENCH = Path(__file__).parents[2] / "bench" / "numerics.py"


@pytest.fixture(scope="module")
def numerics() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_numerics", BENCH)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_sixty_operators_of_every_family(numerics: ModuleType) -> None:
    assert len(numerics.OPERATORS) >= 60
    x, y = (torch.randn(numerics.ROWS, numerics.COLUMNS, dtype=torch.float64) for _ in range(2))
    leaves = numerics.reference(numerics.OPERATORS, x, y, "float32")
    single = {next(iter(leaf.families), "exact") for leaf in leaves.values()}
    assert single >= {
        "exact",
        "selection",
        "arithmetic",
        "transcendental",
        "activation",
        "reduction",
        "softmax",
        "contraction",
        "composite",
    }
    assert all(leaves[name].ranking is not None for name in ("argmax", "argmin", "topk indices"))


@pytest.mark.slow
@pytest.mark.usefixtures("warm_framework")
def test_no_false_alarm_and_nothing_escapes(
    numerics: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numerics, "DTYPES", {"bfloat16": torch.bfloat16})
    wanted = ("relu", "argmax", "add", "gelu", "softmax", "mm", "sum")
    operators = {name: numerics.OPERATORS[name] for name in wanted}
    with state.configured(disk=False):
        quiet = numerics.quiet_on(operators)
        seeded = numerics.caught(128)
    assert quiet["false_alarms"] == []
    assert quiet["cases"] == len(wanted) * len(numerics.KINDS)
    assert seeded["seeded"] == 14
    assert seeded["caught"] == seeded["seeded"], seeded["rows"]
    torch._dynamo.reset()


def test_a_percent_is_a_percent_of_its_dtype(numerics: ModuleType) -> None:
    for dtype in numerics.DTYPES.values():
        for value in (1.0, -1.5, 1e-3, 1000.0):
            held = float(torch.tensor(value, dtype=dtype))
            moved = numerics.off_by_a_percent(held, dtype)
            assert 0.01 <= abs(moved - held) / abs(held) < 0.02
            assert float(torch.tensor(moved, dtype=dtype)) == moved
