"""What members of a campaign tell each other, one step at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rondo.campaign.artifacts import Artifacts
from rondo.campaign.corpora import Scope
from rondo.campaign.exchange import Exchange, Seen
from rondo.campaign.folder import join
from rondo.campaign.register import Register
from rondo.search.behaviour import BehaviourLedger
from rondo.search.corpus import Corpus
from rondo.search.mcmc import MarkovSampler
from rondo.search.sampler import SearchState
from tests.campaign.conftest import VOCABULARY

Members = tuple[Exchange, Exchange]


@pytest.fixture
def members(tmp_path: Path) -> Iterator[Members]:
    """Two members of one campaign that know nothing yet."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    both = join(tmp_path), join(tmp_path)
    for member in both:
        member.settings_file.write_text("{}")
    scope = Scope(VOCABULARY, (0, 1), 24, 0)

    def exchange(number: int) -> Exchange:
        corpus = Corpus(folder, VOCABULARY)
        corpus.written = both[number].written
        state = SearchState.begin(VOCABULARY, corpus)
        return Exchange(
            folder, both[number], scope, state, Artifacts(tmp_path / "findings"), Register()
        )

    yield exchange(0), exchange(1)
    for member in both:
        member.close()


def counted(executions: int) -> BehaviourLedger:
    """A ledger after so many executions, each of which showed behaviour 7."""
    ledger = BehaviourLedger()
    for _ in range(executions):
        ledger.record({7: "seven"})
    return ledger


def test_what_a_killed_member_repeats_is_counted_once(members: Members) -> None:
    killed, other = members
    for executions in (10, 4, 12):  # a checkpoint is older than the latest publication
        killed.state.ledger = counted(executions)
        killed.publish()
        other.take()
    assert (other.state.ledger.executions, other.state.ledger.counts.count(7)) == (12, 12)
    other.publish()
    killed.take()
    assert killed.state.ledger.executions == 12, "and nothing of it came back"


def test_what_a_sequence_showed_first_may_be_told_after_its_file_came(members: Members) -> None:
    finder, other = members
    sequence = MarkovSampler(finder.state, seed=3).propose()
    finder.state.corpus.add(sequence)
    assert other.take() == 1
    (entry,) = other.state.corpus
    assert not entry.first
    finder.state.ledger.record({7: "seven"})
    finder.state.corpus.note(sequence, first=[7], shown=[7])
    finder.publish()
    assert other.take() == 0
    assert [*entry.first] == [7]


def test_a_member_that_never_began_is_nobody(tmp_path: Path, members: Members) -> None:
    first, second = members
    dead = join(tmp_path)
    assert [folder.name for folder in first.member.siblings()] == [second.member.name]
    dead.close()


def test_own_files_are_found_again_while_nobody_else_is_there(members: Members) -> None:
    killed, other = members
    killed.state.corpus.add(MarkovSampler(killed.state, seed=3).propose())
    state = SearchState.begin(VOCABULARY, Corpus(None, VOCABULARY))
    continued = replace(killed, state=state, own=killed.member.own_files(), seen=Seen())
    other.member.settings_file.unlink()
    assert continued.take() == 0
    assert not continued.seen.files, "not lost to those who do not find it again"
    other.member.settings_file.write_text("{}")
    continued.corpus.joinpath("touched").mkdir()
    assert continued.take() == 1, "who hears from others does not repeat its search"


def test_a_member_knows_its_own_files(members: Members) -> None:
    finder, other = members
    finder.state.corpus.add(MarkovSampler(finder.state, seed=3).propose())
    names = {path.name for path in finder.corpus.iterdir()}
    assert finder.member.own_files() == names != set()
    assert other.member.own_files() == set()
