"""Damaged files of a campaign folder: one kind of error, bounded, never anything else."""

from __future__ import annotations

from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

from rondo.campaign.artifacts import Artifacts
from rondo.campaign.corpora import Scope
from rondo.campaign.disk import Disk
from rondo.campaign.driver import Keeper, Progress
from rondo.campaign.exchange import Exchange, Seen
from rondo.campaign.folder import join
from rondo.campaign.keeper import SUM, Checkpoint, write_checkpoint
from rondo.campaign.register import Register
from rondo.campaign.settings import Settings
from rondo.campaign.stop import Stop
from rondo.errors import CampaignError
from rondo.search.corpus import Corpus
from rondo.search.mcmc import MarkovSampler
from rondo.search.sampler import SearchState
from tests.campaign.conftest import VOCABULARY

MUTANTS = 2000


class Standing:
    """What a checkpoint takes of a campaign."""

    def __init__(self) -> None:
        self.vocabulary = VOCABULARY
        self.state = SearchState.begin(VOCABULARY, Corpus(None, VOCABULARY))
        self.sampler = MarkovSampler(self.state, seed=1, backends=(0, 1))
        for number in range(30):
            sequence = self.sampler.propose()
            self.sampler.observe(sequence, {number % 7: "a label"}, ["alarm"] * (number % 5 == 0))
        self.progress = Progress.begin(entry.sequence for entry in self.state.corpus)
        self.stop = Stop()
        self.settings = Settings(())
        self.keeper = Keeper(Disk((), limit=0))
        self.lines = SimpleNamespace(told=lambda: {"/t/a.py": b"\x06"})


def packed(standing: Standing) -> bytes:
    """Return a checkpoint of `standing`."""
    file = BytesIO()
    write_checkpoint(file, standing, Seen())  # type: ignore[arg-type]
    return file.getvalue()


def mutant(data: bytes, rng: Random) -> bytes:
    """Return `data` with bits flipped, cut short, or with hostile sizes written into it."""
    changed = bytearray(data)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(changed[: rng.randrange(len(changed))])
    for _ in range(1 + rng.randrange(4)):
        at = rng.randrange(len(changed))
        if kind == 1:
            changed[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            changed[at : at + 5] = rng.choice((b"\xdd", b"\xdf", b"\xc6", b"\xdb")) + b"\xff" * 4
        else:
            changed[at : at + 1] = rng.randbytes(rng.randrange(4))
    return bytes(changed)


def test_a_damaged_checkpoint_is_a_campaign_error(tmp_path: Path) -> None:
    whole = packed(Standing())
    path = tmp_path / "checkpoint"
    rng = Random(1)
    for _ in range(MUTANTS):
        damaged = mutant(whole, rng)
        if damaged == whole:
            continue
        path.write_bytes(damaged)
        with pytest.raises(CampaignError, match="is damaged: its checksum") as caught:
            Checkpoint(path, VOCABULARY)
        assert "\n" not in str(caught.value)


def test_a_forged_checkpoint_is_a_campaign_error_or_harmless(tmp_path: Path) -> None:
    """The checksum is right, what follows is not: only data can come of it."""
    body = packed(Standing())[SUM:]
    path = tmp_path / "checkpoint"
    rng, refused = Random(1), 0
    for _ in range(MUTANTS):
        forged = mutant(body, rng)
        path.write_bytes(blake2b(forged, digest_size=SUM).digest() + forged)
        try:
            checkpoint = Checkpoint(path, VOCABULARY)
            state = checkpoint.search(Corpus(None, VOCABULARY), max_length=24)
            checkpoint.restore(MarkovSampler(state, seed=1, backends=(0, 1)), state)
        except CampaignError:
            refused += 1
    assert refused > MUTANTS / 3


def test_a_whole_checkpoint_restores_the_sampler(tmp_path: Path) -> None:
    standing = Standing()
    path = tmp_path / "checkpoint"
    path.write_bytes(packed(standing))
    checkpoint = Checkpoint(path, VOCABULARY)
    state = checkpoint.search(Corpus(None, VOCABULARY), max_length=24)
    sampler = MarkovSampler(state, seed=5, backends=(0, 1))
    progress, _ = checkpoint.restore(sampler, state)
    assert progress.lines == {"/t/a.py": b"\x06"}
    ours = [standing.sampler.propose() for _ in range(20)]
    assert [sampler.propose() for _ in range(20)] == ours


def test_lines_that_are_none_are_damage(tmp_path: Path) -> None:
    standing = Standing()
    path = tmp_path / "checkpoint"
    for wrong in ({"/t/a.py": 6}, {6: b""}, [6]):
        standing.lines = SimpleNamespace(told=lambda wrong=wrong: wrong)
        path.write_bytes(packed(standing))
        checkpoint = Checkpoint(path, VOCABULARY)
        state = checkpoint.search(Corpus(None, VOCABULARY), max_length=24)
        with pytest.raises(CampaignError, match="is damaged"):
            checkpoint.restore(MarkovSampler(state, seed=1, backends=(0, 1)), state)


def test_damaged_publications_are_passed_over(tmp_path: Path) -> None:
    one, two = join(tmp_path), join(tmp_path)
    one.settings_file.write_text("{}")
    scope = Scope(VOCABULARY, (0, 1), 24, 0)
    exchanges = [
        Exchange(
            tmp_path / "corpus", member, scope,
            Standing().state, Artifacts(tmp_path / "findings"), Register(),
        )
        for member in (one, two)
    ]  # fmt: skip
    exchanges[0].publish()
    whole = one.published.read_bytes()
    rng = Random(2)
    before = exchanges[1].state.ledger.executions
    for _ in range(300):
        one.published.write_bytes(mutant(whole, rng))
        exchanges[1].take()
    one.published.write_bytes(whole)
    exchanges[1].take()
    assert exchanges[1].state.ledger.executions >= before
    for member in (one, two):
        member.close()


def test_what_others_showed_first_is_claimed_once() -> None:
    corpus = Corpus(None, VOCABULARY)
    source = MarkovSampler(SearchState.begin(VOCABULARY, Corpus(None, VOCABULARY)), seed=3)
    first, second = source.propose(), source.propose()
    assert corpus.adopt([first, second, first]) == [first, second]
    names = [entry.name for entry in corpus.in_order()]
    corpus.claim({names[0]: [1, 2], "no entry": [5]})
    corpus.claim({names[0]: [4], names[1]: [2, 3]})
    assert [{*entry.first} for entry in corpus.in_order()] == [{1, 2}, {3}]
    corpus.check_invariants()


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"corpora": 3}', b"\xff\xfe", b"[" * 200_000]
)
def test_damaged_settings_are_one_line(tmp_path: Path, content: bytes) -> None:
    from rondo.campaign.folder import resume

    member = join(tmp_path)
    member.settings_file.write_bytes(content)
    member.close()
    with pytest.raises(CampaignError, match=r"settings\.json is damaged"):
        resume(tmp_path, Settings(()), frozenset())
