from __future__ import annotations

import pytest

from rondo.search.corpus import Corpus
from rondo.search.sampler import SearchState
from tests import toys


@pytest.fixture
def state() -> SearchState:
    """A campaign over the toy vocabulary with an empty corpus in memory."""
    vocabulary = toys.toy_vocabulary()
    return SearchState.begin(vocabulary, Corpus(None, vocabulary))
