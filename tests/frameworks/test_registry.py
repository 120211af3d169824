"""The register of adapters: what counts as installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from rondo.frameworks.registry import ADAPTERS, is_installed, requirement

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_a_folder_of_that_name_is_no_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nosuchframework").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("nosuchframework")
    (tmp_path / "nosuchframework" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)  # (drops what the import system remembers)
    assert is_installed("nosuchframework")


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_what_to_install_is_what_the_package_s_extra_asks_for(name: str) -> None:
    """The package itself, and not an extra of ours: `rondo` may be another project's name."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    asked = project["optional-dependencies"].get(name, project["dependencies"])
    assert requirement(name) in asked
