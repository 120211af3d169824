"""Tests over torch start as workers do: compiler imported, kernel store in front of g++."""

from __future__ import annotations

import pytest

from rondo.frameworks.registry import load_framework


@pytest.fixture(scope="session", autouse=True)
def warm_framework() -> None:
    load_framework("torch").warm()
