"""A user's own model, from the factory to a campaign's final stats."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULE = """
import rondo
import torch
import torch._dynamo


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 3)

    def forward(self, x, scale):
        return {"y": self.linear(x.to(self.linear.weight.dtype)) * scale}


def factory():
    return rondo.subject(Model, torch.ones(2, 6), 0.5)


@torch._dynamo.register_backend
def broken(graph, inputs):
    raise ZeroDivisionError("never compiles")


def refused():
    return rondo.subject(Model, torch.ones(2, 6), 0.5, backends=["broken"])


def wrong():
    return Model()
"""


def fuzz(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    (folder / "users_model.py").write_text(MODULE)
    (folder / "corpus").mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "rondo.fuzz", "corpus", "--backends=eager", *flags],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
    )


@pytest.mark.slow
def test_a_campaign_over_a_users_model(tmp_path: Path) -> None:
    flags = ("-runs=5", "-seed=1", "-print_final_stats=1")
    done = fuzz(tmp_path, "--subject=users_model:factory", *flags)
    assert done.returncode == 0, done.stderr
    assert "stat::alarms:                    0" in done.stderr
    assert list((tmp_path / "corpus").glob("*.seq"))


@pytest.mark.slow
def test_a_model_that_never_compiles_is_a_finding_of_its_own(tmp_path: Path) -> None:
    """No other model is there to tell whether the back end works: the alarm is believed."""
    flags = ("--backends=broken", "-runs=2", "-seed=1")
    done = fuzz(tmp_path, "--subject=users_model:refused", *flags)
    assert done.returncode == 0, done.stderr
    assert list((tmp_path / "findings").glob("stateless-exception-*/reproducer.rondo"))


@pytest.mark.slow
def test_a_factory_that_describes_nothing_is_one_line(tmp_path: Path) -> None:
    done = fuzz(tmp_path, "--subject=users_model:wrong")
    assert done.returncode == 2
    assert done.stderr.strip().splitlines()[-1].startswith("error: users_model:wrong returned a")
