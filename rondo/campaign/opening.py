"""Beginning a campaign, or continuing one: the search, how far it is, and who keeps it.

The key insight: a campaign that continues differs from one that begins in where its state comes
from and in nothing else, so that choice is made once, here, and the driver never asks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rondo.campaign.artifacts import Artifacts
from rondo.campaign.corpora import Scope, open_corpus
from rondo.campaign.disk import Disk
from rondo.campaign.driver import Job, Keeper, Progress
from rondo.campaign.exchange import Exchange, Seen
from rondo.campaign.filings import Filings
from rondo.campaign.flags import CORPUS
from rondo.campaign.folder import Member, join, resume, save_settings, stored_settings
from rondo.campaign.keeper import Checkpoint, FolderKeeper, revisits
from rondo.campaign.settings import Settings
from rondo.errors import CampaignError
from rondo.search.corpus import Corpus
from rondo.search.sampler import Sampler, SearchState
from rondo.search.samplers import create_sampler
from rondo.sequences.vocabulary import Vocabulary


@dataclass
class Opened:
    """A search, ready to go on."""

    state: SearchState
    sampler: Sampler
    progress: Progress
    seen: Seen = field(default_factory=Seen)
    left: deque[Job] = field(default_factory=deque)


def enter(settings: Settings, given: frozenset[str]) -> tuple[Member, Settings]:
    """Return this process's place in the campaign folder, and the settings that hold there."""
    assert settings.campaign is not None, "only a campaign with a folder can be entered"
    if not settings.resume:
        return join(settings.campaign), settings
    return resume(settings.campaign, settings, given)


def company(member: Member, settings: Settings) -> Iterator[str]:
    """Yield what whoever begins a campaign where others are, or were, should be told."""
    siblings = member.siblings()
    if siblings:
        yield f"member {member.name} of this folder; --resume continues an earlier one"
    for sibling in siblings:
        with suppress(CampaignError):
            if stored_settings(sibling).seed == settings.seed:
                yield f"member {sibling.name} has the same seed: both propose much the same"


def open_search(
    settings: Settings,
    vocabulary: Vocabulary,
    scope: Scope,
    member: Member | None,
    artifacts: Artifacts,
    info: Callable[[str], None],
) -> Opened:
    """Return the search of `settings`: from its checkpoint where there is one, else from seeds.

    Raises CorpusError or CampaignError on files that are damaged.
    """
    if member is not None and settings.resume and member.checkpoint.exists():
        return _continued(settings, vocabulary, scope, member, artifacts, info)
    corpus, left_out = open_corpus(
        settings, vocabulary, scope, damaged=lambda text: info(f"left alone: {text}")
    )
    info(f"{len(corpus)} seeds" + (f", {left_out} out of scope" if left_out else ""))
    state = SearchState.begin(scope.vocabulary, corpus, max_length=scope.max_length)
    progress = Progress.begin(entry.sequence for entry in corpus)
    if member is not None:
        artifacts.filings = Filings.begin(member.filed)
    if settings.resume and member is not None:
        info(f"member {member.name} has no checkpoint: it begins anew, from the same corpus")
        _take_up(progress, revisits(artifacts, progress, scope.vocabulary), info)
    return Opened(state, _sampler(settings, scope, state), progress)


def _continued(
    settings: Settings,
    vocabulary: Vocabulary,
    scope: Scope,
    member: Member,
    artifacts: Artifacts,
    info: Callable[[str], None],
) -> Opened:
    checkpoint = Checkpoint(member.checkpoint, vocabulary)
    assert settings.campaign is not None, "a member belongs to a campaign"
    corpus = Corpus(None, scope.vocabulary)
    state = checkpoint.search(corpus, max_length=scope.max_length)
    corpus.directory = settings.corpora[0]
    sampler = _sampler(settings, scope, state)
    progress, seen = checkpoint.restore(sampler, state)
    info(f"member {member.name} continued after {progress.stats.executions} executions")
    remembered = {bucket.name for bucket in progress.register.buckets}
    artifacts.filings = Filings(member.filed, remembered)
    again = revisits(artifacts, progress, scope.vocabulary)
    # One worker that hears from nobody repeats what came after the checkpoint, and so meets them
    # again by itself, at the same place, unless a limit was changed; others may not.
    slots = max(settings.slots, stored_settings(member.folder).slots)
    if slots == 1 and not member.siblings():
        return Opened(state, sampler, progress, seen, left=deque(again))
    progress.stats.adopt(artifacts.adopt())
    _take_up(progress, again, info)
    return Opened(state, sampler, progress, seen)


def _take_up(progress: Progress, undecided: list[Job], info: Callable[[str], None]) -> None:
    """Have the alarms looked into first that a killed driver left undecided."""
    progress.waiting.extendleft(reversed(undecided))
    if undecided:
        count = len(undecided)
        info(f"{count} {'alarm is' if count == 1 else 'alarms are'} still to be decided")


def _sampler(settings: Settings, scope: Scope, state: SearchState) -> Sampler:
    return create_sampler(settings.sampler, state, seed=settings.seed, backends=scope.backends)


def open_keeper(
    settings: Settings,
    temporary: Path,
    scope: Scope,
    member: Member | None,
    artifacts: Artifacts,
    opened: Opened,
) -> Keeper:
    """Return who saves the campaign and watches the disk."""
    limit = settings.max_disk_mb << 20
    if member is None or settings.campaign is None:
        folders = (settings.artifact_prefix, settings.corpora[0], temporary)
        return Keeper(Disk(folders, limit=limit))
    save_settings(settings, member)
    if settings.slots == 1:
        opened.state.corpus.written = member.written
    exchange = Exchange(
        settings.campaign / CORPUS,
        member,
        scope,
        opened.state,
        artifacts,
        opened.progress.register,
        opened.seen,
        # What one worker wrote after the checkpoint is found again, and not taken for somebody
        # else's. Several workers, or one who hears from others, find other things the second time.
        own=member.own_files() if settings.slots == 1 else set(),
    )
    reserve = member.folder / "reserve"
    disk = Disk((settings.campaign, temporary), limit=limit, reserve=reserve)
    return FolderKeeper(disk, member=member, exchange=exchange)
