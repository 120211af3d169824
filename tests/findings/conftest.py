"""Fixtures of the campaign's tests that these share: commands in a process of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rondo.cli import main
from tests.campaign.conftest import environment, rondo

__all__ = ["environment", "rondo"]

Invoke = Callable[..., Result]


@pytest.fixture
def invoke(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    """Call a command of `rondo` in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: object) -> Result:
        return CliRunner().invoke(main, [*map(str, arguments)])

    return call
