"""The site builds without a warning, and the page of commands is what the commands say."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "docs" / "build.py"


def test_the_page_of_commands_is_up_to_date() -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-c"),
            "import importlib.util as u, sys; s = u.spec_from_file_location('build', sys.argv[1]);"
            "m = u.module_from_spec(s); s.loader.exec_module(m); print(m.cli_page(), end='')",
            str(BUILD),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs" / "cli.md").read_text()
    assert page == done.stdout, "run docs/build.py --write"
    for word in ("## rondo replay", "## rondo report", "## rondo coverage html", "--keep-going"):
        assert word in page


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    if importlib.util.find_spec("material") is None:
        pytest.skip("mkdocs-material is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
