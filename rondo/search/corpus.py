"""The corpus: sequences that were the first to show something, one canonical file each.

The key insight: an entry's name is the hash of its content and a file appears by renaming, so two
processes may share a folder, a kill leaves no half file, and writing twice is writing once.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from random import Random

from rondo._native.behaviour import hash64
from rondo.drafts import sweep, written_whole
from rondo.errors import CorpusError
from rondo.frameworks.registry import ADAPTERS
from rondo.search.behaviour import BehaviourLedger
from rondo.sequences.codec import CodecError, decode_strict, encode
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary

SUFFIX = ".seq"
DECODED = 512
"""So many sequences are kept decoded: the same ones are begun from again and again."""


@dataclass(slots=True)
class Entry:
    """A sequence of the corpus. There are tens of thousands after a night, so each is small.

    `first` holds the behaviours that it was the first to show, `shown` all that it shows, sorted
    (None until it has run in this campaign without an alarm): arrays, since sets of boxed numbers
    take ten times the room. `seed` marks those that were loaded. `work` is what running it took, 1
    while nobody knows. Its steps take more room than all of that, and few are asked for: they are
    decoded by `decode` when they are.
    """

    name: str
    data: bytes
    decode: Callable[[bytes], Sequence] = field(repr=False)
    seed: bool = False
    first: array[int] = field(default_factory=lambda: array("Q"))
    shown: array[int] | None = None
    work: float = 1.0

    @property
    def sequence(self) -> Sequence:
        """The sequence that `data` stands for."""
        return self.decode(self.data)


class Corpus:
    """A folder of sequences, kept in memory as well, in the order of their names.

    `size` counts the bytes of all entries. `directory` None keeps it in memory only; `written`
    names a file to which the name of each entry is added before its own file is there. Raises
    CorpusError when the folder is missing, or when a file in it is not a canonical sequence: a
    damaged corpus must be noticed, not searched.
    """

    def __init__(self, directory: Path | str | None, vocabulary: Vocabulary) -> None:
        self.directory = None if directory is None else Path(directory)
        self.written: Path | None = None
        self.vocabulary = vocabulary
        self._entries: dict[bytes, Entry] = {}
        self.size = 0
        self._unsaved: dict[str, Entry] = {}
        self.decode = lru_cache(DECODED)(lambda data: decode_strict(data, vocabulary))
        if self.directory is not None:
            sweep(self.directory)
            self.load(self.directory)

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        """Yield the entries, sorted by name."""
        return iter(sorted(self._entries.values(), key=lambda entry: entry.name))

    def __contains__(self, sequence: Sequence) -> bool:
        return encode(sequence) in self._entries

    def in_order(self) -> Iterator[Entry]:
        """Yield the entries in the order in which they came."""
        return iter(tuple(self._entries.values()))

    @property
    def unsaved(self) -> list[str]:
        """Names of entries that could not be written yet."""
        return list(self._unsaved)

    @property
    def seeds(self) -> list[Entry]:
        """The entries that were loaded, sorted by name."""
        return [entry for entry in self if entry.seed]

    def load(self, folder: Path, *, damaged: Callable[[str], None] | None = None) -> int:
        """Add every file below `folder` and return how many there were.

        With `damaged`, a file that is no sequence is told to it and passed over.

        What belongs beside sequences is passed over: README files, Python files (they write seeds),
        dotfiles, and subfolders named for another framework.
        """
        if not folder.is_dir():
            raise CorpusError(f"corpus folder {folder} does not exist")
        before = len(self)
        foreign = ADAPTERS.keys() - {self.vocabulary.framework}
        for path in sorted(folder.rglob("*")):
            parts = path.relative_to(folder).parts
            if path.is_file() and parts[0] not in foreign and not _is_beside(parts):
                try:
                    self._load_file(path, "/".join(parts).removesuffix(SUFFIX))
                except CorpusError as error:
                    if damaged is None:
                        raise
                    damaged(str(error))
        return len(self) - before

    def _load_file(self, path: Path, name: str) -> None:
        try:
            data = path.read_bytes()
            self.decode(data)
        except OSError as error:
            raise CorpusError(f"cannot read corpus file {path}: {error.strerror}") from error
        except CodecError as error:
            raise CorpusError(f"corpus file {path}: {error}") from error
        if data not in self._entries:
            self.put(Entry(name, data, self.decode, seed=True))

    def note(
        self,
        sequence: Sequence,
        *,
        first: Collection[int],
        shown: Collection[int] | None,
        work: float = 1.0,
    ) -> None:
        """Remember what an entry shows; a sequence that is no entry is left alone."""
        entry = self._entries.get(encode(sequence))
        if entry is not None:
            entry.first = array("Q", sorted({*entry.first, *first}))
            entry.shown = None if shown is None else array("Q", sorted(shown))
            entry.work = work

    def add(self, sequence: Sequence) -> bool:
        """Add `sequence` and write its file; return whether it is new.

        Raises CorpusError when it cannot be written. The entry is in memory all the same, and the
        next `add` or `flush` writes it, so nothing that was found is lost.
        """
        data = encode(sequence)
        if data in self._entries:
            return False
        entry = Entry(f"{hash64(data):016x}", data, self.decode)
        self.put(entry)
        if self.directory is not None:
            self._unsaved[entry.name] = entry
            self.flush()
        return True

    def put(self, entry: Entry, *, unsaved: bool = False) -> None:
        """Add an entry as it is. No file is written unless it is `unsaved` and `flush` is asked."""
        self.size += len(entry.data) if entry.data not in self._entries else 0
        self._entries[entry.data] = entry
        if unsaved:
            self._unsaved[entry.name] = entry

    def adopt(self, found: Iterable[Sequence]) -> list[Sequence]:
        """Add sequences that somebody else found and wrote; return those that are new here."""
        adopted = []
        for sequence in found:
            data = encode(sequence)
            if data not in self._entries:
                self.put(Entry(f"{hash64(data):016x}", data, self.decode))
                adopted.append(sequence)
        return adopted

    def claim(self, first: Mapping[str, Iterable[int]]) -> None:
        """Note what entries, by name, were the first to show elsewhere: what no entry claims.

        Of those that claim nothing yet: a file comes before anybody has published what it shows.
        """
        idle = [e for e in self._entries.values() if not e.first and e.name in first]
        if not idle:
            return
        claimed = {hash_ for entry in self._entries.values() for hash_ in entry.first}
        for entry in idle:
            own = {*first[entry.name]} - claimed
            if entry.shown is not None:
                own &= {*entry.shown}
            claimed |= own
            entry.first = array("Q", sorted(own))

    def flush(self) -> None:
        """Write every entry that could not be written before."""
        for name, entry in tuple(self._unsaved.items()):
            self._write(entry)
            del self._unsaved[name]

    def _write(self, entry: Entry) -> None:
        assert self.directory is not None, f"{entry.name} has no folder to go to"
        path = self.directory / f"{entry.name}{SUFFIX}"
        try:
            if self.written is not None:
                with self.written.open("a", encoding="ascii") as names:
                    names.write(f"{path.name}\n")
            with written_whole(path) as file:
                file.write(entry.data)
        except OSError as error:
            raise CorpusError(f"cannot write corpus file {path}: {error.strerror}") from error

    def select(
        self,
        rng: Random,
        ledger: BehaviourLedger,
        chosen: Mapping[str, int] | None = None,
        *,
        count: int = 1,
    ) -> list[Entry]:
        """Return `count` entries, drawn by the rarity of what each was the first to show.

        The weight is 1 + that rarity under the counts of the *whole* campaign, so an entry fades as
        others show the same; divided by the work that running it took, and by how often it was
        `chosen` already, so that nothing is done to death.
        """
        entries = tuple(self._entries.values())
        times = {} if chosen is None else chosen
        weights = [
            (1.0 + ledger.energy(entry.first)) / entry.work / (1.0 + times.get(entry.name, 0))
            for entry in entries
        ]
        return rng.choices(entries, weights, k=count)

    def check_invariants(self) -> None:
        """Raise AssertionError, with the data at fault, unless the corpus is what it should be."""
        owners: dict[int, str] = {}
        assert self.size == sum(map(len, self._entries)), self.size
        for data, entry in self._entries.items():
            assert data == entry.data == encode(entry.sequence), (entry.name, data, entry.data)
            assert decode_strict(data, self.vocabulary) == entry.sequence, (entry.name, data)
            for hash_ in entry.first:
                owner = owners.setdefault(hash_, entry.name)
                assert owner == entry.name, f"{hash_:016x} first shown by {owner} and {entry.name}"
            if entry.shown is not None:
                unshown = {*entry.first} - {*entry.shown}
                assert not unshown, (entry.name, sorted(unshown))
            if self.directory is not None and not entry.seed and entry.name not in self._unsaved:
                path = self.directory / f"{entry.name}{SUFFIX}"
                assert path.read_bytes() == data, f"{path} does not hold {data.hex()}"


def _is_beside(parts: tuple[str, ...]) -> bool:
    """Tell whether a file, by the parts of its path, only lies beside the sequences."""
    hidden = any(part.startswith(".") or part == "__pycache__" for part in parts)
    return hidden or parts[-1].startswith("README") or parts[-1].endswith(".py")
