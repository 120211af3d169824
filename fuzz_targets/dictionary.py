#!/usr/bin/env python3
"""Writes the dictionary of a framework's sequences: dictionary.py torch torch.dict

Our own mutators know the vocabulary and need none. libFuzzer's byte mutations (--mutator=libfuzzer)
do: a change of a construct is six bytes of which two are the id of its name, so without these words
they would hardly ever write one. It is written when a target is built, never kept: a word is an id,
and every new construct brings some.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rondo.campaign.loading import load
from rondo.sequences.codec import HEADER, encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from rondo.sequences.vocabulary import SMALLEST, Vocabulary, name_id


def words(vocabulary: Vocabulary) -> dict[str, bytes]:
    """Return the words by what they mean: the header, every id, every change as a whole step."""
    found = {"header": HEADER}
    for target in vocabulary.all_targets():
        found[target.name] = name_id(target.name).to_bytes(2, "little")
        for number, action in enumerate(target.actions):
            found[f"{target.name}.{action.name}"] = step(vocabulary, target.name, number)
    return found


def step(vocabulary: Vocabulary, target: str, action: int) -> bytes:
    """Return the bytes of a change with its usual value."""
    architectures = vocabulary.architectures_by_name
    own = target in architectures
    constructs = (target,) if any(each.name == target for each in vocabulary.constructs) else ()
    usual = SMALLEST if SMALLEST in architectures else vocabulary.architectures[0].name
    subject = SubjectSpec(target if own else usual, constructs)
    change = Change(target, action, 0)
    without = encode(normalise(Sequence(subject, Options(), (Call(),)), vocabulary))
    with_it = encode(normalise(Sequence(subject, Options(), (change, Call())), vocabulary))
    return with_it[len(without) - len(CALL) : len(with_it) - len(CALL)]


CALL = b"\0\0"
"""A call with all its usual operands."""


def text(vocabulary: Vocabulary) -> str:
    """Return the dictionary in libFuzzer's format."""
    lines = [f"# sequences of {vocabulary.framework}"]
    for name, word in words(vocabulary).items():
        escaped = "".join(f"\\x{byte:02x}" for byte in word)
        lines.append(f'{name}="{escaped}"')
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write the dictionary of a framework to a file."""
    if len(arguments) != 2:
        print("usage: dictionary.py FRAMEWORK FILE", file=sys.stderr)
        return 2
    framework, path = arguments
    vocabulary = load(framework).vocabulary()
    Path(path).write_text(text(vocabulary))
    print(f"{path}: {len(words(vocabulary))} words")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
