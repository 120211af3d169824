"""The corpus of a campaign: read from several folders, kept to what was asked for, saved in one.

The key insight: a seed is worth having even where the campaign is narrower than its author thought.
One of another back end is taken over to an allowed one; only one that needs a subject which was
left out is left out too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from rondo.campaign.flags import CORPUS, UsageError
from rondo.campaign.folder import MEMBERS
from rondo.campaign.settings import Settings
from rondo.errors import CorpusError
from rondo.findings.reproducer import write_atomically
from rondo.search.corpus import SUFFIX, Corpus, Entry
from rondo.sequences.codec import HEADER, encode
from rondo.sequences.step import CALL_CHOICES, OPTION_CHOICES, Call, Sequence
from rondo.sequences.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Scope:
    """What a campaign may speak of: the vocabulary, back ends and lengths that were asked for."""

    vocabulary: Vocabulary
    backends: tuple[int, ...]
    max_length: int
    max_bytes: int

    @classmethod
    def of(cls, settings: Settings, full: Vocabulary, *, usual_length: int) -> Scope:
        """Return the scope of `settings`. Raises UsageError on names that there are not."""
        constructs = _known("construct", settings.constructs, (c.name for c in full.constructs))
        architectures = _known(
            "architecture", settings.architectures, (a.name for a in full.architectures)
        )
        backends = _known("back end", settings.backends, full.backends)
        vocabulary = full.restricted(
            constructs=frozenset(constructs) if constructs else None,
            architectures=frozenset(architectures) if architectures else None,
        )
        chosen = tuple(sorted(full.backends.index(name) for name in backends or full.backends))
        most = min(usual_length, full.limits["steps"])
        if settings.max_len:
            most = min(most, steps_that_fit(settings.max_len, full))
            if most < 1:
                raise UsageError(f"-max_len={settings.max_len} leaves no room for a single call")
        return cls(vocabulary, chosen, most, settings.max_len)

    def admit(self, sequence: Sequence) -> Sequence | None:
        """Return `sequence` as this scope can say it, or None."""
        subject = sequence.subject
        known = self.vocabulary.targets_by_name
        if subject.architecture not in self.vocabulary.architectures_by_name:
            return None
        if any(name not in known for name in subject.constructs):
            return None
        if self.max_bytes and len(encode(sequence)) > self.max_bytes:
            return None
        if sequence.options.backend not in self.backends:
            options = replace(sequence.options, backend=self.backends[0])
            sequence = replace(sequence, options=options)
        return sequence


def _known(what: str, names: tuple[str, ...], there_are: Iterable[str]) -> tuple[str, ...]:
    known = tuple(there_are)
    for name in names:
        if name not in known:
            raise UsageError(f"no {what} {name!r}; there is {', '.join(known)}")
    return names


def steps_that_fit(size: int, vocabulary: Vocabulary) -> int:
    """Return how many steps of any kind surely fit into `size` bytes."""
    dimensions = max(len(each.schema.dimensions) for each in vocabulary.architectures)
    subject = 1 + 3 + 2 * vocabulary.limits["constructs"]
    head = len(HEADER) + subject + 1 + 2 + len(OPTION_CHOICES)
    return (size - head) // (2 + len(CALL_CHOICES) + dimensions)


def check_folders(paths: tuple[Path, ...]) -> None:
    """Raise CorpusError unless every path is a folder."""
    for path in paths:
        if path.is_file():
            raise CorpusError(f"{path} is a file; run single ones with: rondo replay {path}")
        if not path.is_dir():
            raise CorpusError(f"corpus folder {path} does not exist")


def framework_folder(path: Path, framework: str) -> Path:
    """Return `path`'s subfolder for `framework` if it has one, else `path` itself.

    A campaign folder stands for its corpus.
    """
    if (path / MEMBERS).is_dir() and (path / CORPUS).is_dir():
        path /= CORPUS
    own = path / framework
    return own if own.is_dir() else path


def open_corpus(
    settings: Settings, full: Vocabulary, scope: Scope, *, damaged: Callable[[str], None]
) -> tuple[Corpus, int]:
    """Read every folder; return what is in scope, to be saved in the first, and how many are not.

    Raises CorpusError on a file that is not a sequence, whatever the scope: a damaged corpus is
    noticed, not searched. In the campaign's own folder, which others write too, it is only told.
    """
    folders = [framework_folder(path, full.framework) for path in settings.corpora]
    everything = Corpus(None, full)
    for folder in folders:
        shared = settings.campaign is not None and folder == folders[0]
        everything.load(folder, damaged=damaged if shared else None)
    corpus = Corpus(None, scope.vocabulary)
    left_out = 0
    for entry in everything:
        admitted = scope.admit(entry.sequence)
        if admitted is None:
            left_out += 1
        else:
            corpus.add(admitted)
    for entry in corpus:
        entry.seed = True
    corpus.directory = folders[0]
    return corpus, left_out


def composition(corpus: Corpus) -> dict[str, int | float | dict[str, int]]:
    """Return what the sequences of `corpus` are made of, as figures."""
    entries = list(corpus)
    vocabulary = corpus.vocabulary
    steps = [step for entry in entries for step in entry.sequence.steps]
    constructs = Counter(name for e in entries for name in e.sequence.subject.constructs)
    return {
        "sequences": len(entries),
        "bytes": sum(len(entry.data) for entry in entries),
        "steps": len(steps),
        "calls": sum(isinstance(step, Call) for step in steps),
        "longest": max((len(entry.sequence.steps) for entry in entries), default=0),
        "backends": dict(
            Counter(vocabulary.backends[entry.sequence.options.backend] for entry in entries)
        ),
        "architectures": dict(
            Counter(entry.sequence.subject.architecture for entry in entries).most_common()
        ),
        "constructs": dict(constructs.most_common()),
    }


def keep_only(kept: Iterable[Entry], folder: Path, framework: str, out: Path | None) -> None:
    """Leave only `kept` in `folder`, or copy them to `out`. Raises CorpusError."""
    names = {entry.name for entry in kept}
    source = framework_folder(folder, framework.partition(":")[0])
    try:
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
            for entry in kept:
                write_atomically(out / f"{Path(entry.name).name}{SUFFIX}", entry.data)
            return
        for path in sorted(source.rglob(f"*{SUFFIX}")):
            if path.relative_to(source).as_posix().removesuffix(SUFFIX) not in names:
                path.unlink()
    except OSError as error:
        raise CorpusError(f"cannot write {error.filename}: {error.strerror}") from None
