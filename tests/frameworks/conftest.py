"""The adapter tests run over every framework that is installed; the others are skipped by name."""

from __future__ import annotations

import pytest

from rondo.frameworks.base import Framework
from rondo.frameworks.registry import ADAPTERS, is_installed, load_framework
from rondo.sequences.vocabulary import Vocabulary


@pytest.fixture(scope="session", params=sorted(ADAPTERS))
def framework(request: pytest.FixtureRequest) -> Framework:
    if not is_installed(request.param):
        pytest.skip(f"{request.param} is not installed")
    adapter = load_framework(request.param)
    adapter.warm()
    return adapter


@pytest.fixture(scope="session")
def vocabulary(framework: Framework) -> Vocabulary:
    return framework.vocabulary()
