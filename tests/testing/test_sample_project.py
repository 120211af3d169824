"""`pytest --rondo` on a project whose back end has a seeded stale state, and on a sound one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SAMPLE = Path(__file__).parent / "sample"
FAULTY_KEY = "node.name for node"
WHOLE_KEY = "(node.name, str(node.args), str(node.kwargs)) for node"


def run_pytest(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:rondo", "-p", "rondo.pytest_plugin"),
            *("-p", "no:cacheprovider", "--rootdir", str(project), "-c", os.devnull),
            *("--rondo", "--rondo-executions=40", "test_acme.py", *arguments),
        ],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(ROOT), "RONDO_FINDINGS": str(project / "findings")},
        capture_output=True,
        text=True,
        timeout=1800,
    )


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("acme_backend.py", "acme_model.py"):
        shutil.copy(SAMPLE / name, tmp_path)
    shutil.copy(SAMPLE / "checks.py", tmp_path / "test_acme.py")
    return tmp_path


@pytest.mark.slow
def test_a_stale_back_end_fails_with_a_short_script(project: Path) -> None:
    done = run_pytest(project, "-n", "1", "-k", "test_model_is_stateless")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed" in done.stdout
    scripts = list(project.glob("findings/*/*/script.py"))
    assert len(scripts) == 1, done.stdout
    (script,) = scripts
    text = script.read_text()
    assert len(text.splitlines()) <= 40
    assert 'torch.compile(model, backend="acme")' in text
    assert "class Model(nn.Module):" in text, "the user's own code is in it"
    assert "rondo: stateful: value in output on acme" in done.stdout
    for line in text.splitlines():
        assert line in done.stdout
    ran = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith("BUG: ")


@pytest.mark.slow
def test_without_the_fault_it_passes(project: Path) -> None:
    backend = project / "acme_backend.py"
    text = backend.read_text()
    assert FAULTY_KEY in text
    backend.write_text(text.replace(FAULTY_KEY, WHOLE_KEY))
    done = run_pytest(project, "-k", "not is_stateless")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert not list((project / "findings").iterdir())
