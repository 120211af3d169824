"""The register of adapters: what counts as installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.frameworks.registry import is_installed


def test_a_folder_of_that_name_is_no_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nosuchframework").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    assert not is_installed("nosuchframework")
    (tmp_path / "nosuchframework" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)  # (drops what the import system remembers)
    assert is_installed("nosuchframework")
