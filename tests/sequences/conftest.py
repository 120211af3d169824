from __future__ import annotations

import pytest

from rondo.sequences.distribution import SequenceDistribution
from rondo.sequences.vocabulary import Vocabulary
from tests import toys


@pytest.fixture(scope="session")
def toy() -> Vocabulary:
    return toys.toy_vocabulary()


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> SequenceDistribution:
    """A distribution over so few sequences that all of them can be listed."""
    toys.make_choices_tiny(monkeypatch)
    return SequenceDistribution(toys.tiny_vocabulary(), max_length=2)
