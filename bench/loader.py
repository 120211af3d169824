"""Loading hostile files: no crash, no hang, no memory, whatever a reproducer or a sequence holds.

Reproducers and corpus files are damaged in every way that a disk, a merge or an enemy damages them
- bits, cuts, splices, headers that announce four gigabytes, a megabyte of nested lists - and loaded
as `rondo replay` loads them. Each is either usable or refused with one line; anything else is a
crash, more than a second of CPU time is a hang.

    python bench/loader.py                10,000 files
    python bench/loader.py --quick        1,000 files
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import click

from rondo.errors import ReproducerError
from rondo.findings import replay
from rondo.findings.bucket import bucket_of_finding
from rondo.findings.reproducer import LARGEST
from rondo.frameworks.registry import load_framework
from rondo.sequences.vocabulary import Vocabulary

ROOT = Path(__file__).parents[1]
HANG_SECONDS = 1.0
MEMORY_LIMIT_MB = 64
"""What all loads together may add to the process: far below what the headers announce."""

HEADERS = (
    *(b"\xdd\xff\xff\xff\xff", b"\xdc\xff\xff", b"\xdc\x04\x00", b"\xdd\x7f\xff\xff\xff"),
    *(b"\xdf\xff\xff\xff\xff", b"\xde\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xda\xff\xff"),
    *(b"\xc6\xff\xff\xff\xff", b"\xc5\xff\xff", b"\xc9\xff\xff\xff\xff\x7f", b"\xc8\xff\xff\x01"),
    *(b"\xcf" + b"\xff" * 8, b"\xd3" + b"\xff" * 8, b"\xcb\x7f\xf8" + b"\0" * 6),
    *(b"\xc0", b"\xc1", b"\xc3", b"\xd6\xff"),
)
"""Headers of msgpack that promise more than there is, and values of types that no field holds."""


@click.command()
@click.option("--quick", is_flag=True, help="A tenth of the files.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--files", default=10_000, show_default=True, help="Files to load.")
@click.option("--seed", default=1, show_default=True)
def main(quick: bool, as_json: bool, files: int, seed: int) -> None:
    """Load damaged files."""
    figures = measure(files // 10 if quick else files, Random(seed))
    if as_json:
        print(json.dumps(figures))
    else:
        print(", ".join(f"{name} {value}" for name, value in figures.items()))
    bad = figures["crashes"] + figures["hangs"]
    print(
        f"{figures['files']} damaged files: {figures['crashes']} crashes, {figures['hangs']} hangs,"
        f" {figures['memory_mb']} MB (target 0, 0, <= {MEMORY_LIMIT_MB})"
    )
    sys.exit(bool(bad) or figures["memory_mb"] > MEMORY_LIMIT_MB)


def measure(count: int, rng: Random) -> dict[str, int]:
    """Load `count` damaged files and return what became of them."""
    vocabulary = load_framework("torch").vocabulary()
    good = [path.read_bytes() for path in sorted((ROOT / "bench/bugs/torch").glob("*/*.rondo"))]
    good += [path.read_bytes() for path in sorted((ROOT / "corpus/torch").glob("*.seq"))]
    seen: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        for content in good:
            path.write_bytes(content)
            assert outcome_of(path, vocabulary) == "usable", content
        before = resident_mb()
        for _ in range(count):
            path.write_bytes(damaged(rng, good))
            seen[outcome_of(path, vocabulary)] += 1
        grown = resident_mb() - before
    return {
        "files": count,
        "usable": seen["usable"],
        "refused": seen["refused"],
        "crashes": seen["crash"],
        "hangs": seen["hang"],
        "memory_mb": grown,
    }


def outcome_of(path: Path, vocabulary: Vocabulary) -> str:
    """Load a file as a replay does; return what became of it."""
    began = time.process_time()
    try:
        loaded = replay.read(path)
        replay.check_vocabulary(loaded, vocabulary)
        if loaded.reproducer is not None:
            str(bucket_of_finding(loaded.reproducer))
        outcome = "usable"
    except ReproducerError as error:
        outcome = "refused" if "\n" not in str(error) else "crash"
    except Exception:
        traceback.print_exc()
        print("file:", path.read_bytes()[:4096].hex(), file=sys.stderr)
        outcome = "crash"
    return "hang" if time.process_time() - began > HANG_SECONDS else outcome


def damaged(rng: Random, good: list[bytes]) -> bytes:
    """Return one of `good` after one to four damages."""
    content = rng.choice(good)
    for _ in range(rng.randint(1, 4)):
        content = rng.choice(DAMAGES)(rng, content, good)
    return content


Damage = Callable[[Random, bytes, list[bytes]], bytes]


def flip_bit(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Flip one bit."""
    if not content:
        return content
    place = rng.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << rng.randrange(8)]) + content[place + 1 :]


def overwrite(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Write random bytes over some."""
    place, length = rng.randrange(len(content) + 1), rng.randrange(1, 9)
    return content[:place] + rng.randbytes(length) + content[place + length :]


def cut(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Cut the end off."""
    return content[: rng.randrange(len(content) + 1)]


def drop(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Leave some bytes out."""
    place = rng.randrange(len(content) + 1)
    return content[:place] + content[place + rng.randrange(1, 17) :]


def repeat(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Write a part twice."""
    place = rng.randrange(len(content) + 1)
    return content[:place] + content[place : place + rng.randrange(1, 65)] + content[place:]


def splice(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Go on as another file does."""
    other = rng.choice(good)
    return content[: rng.randrange(len(content) + 1)] + other[rng.randrange(len(other)) :]


def insert_header(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Promise something that does not come."""
    place = rng.randrange(len(content) + 1)
    kept = place + rng.choice((0, 1, 5))
    return content[:place] + rng.choice(HEADERS) + content[kept:]


def nest(rng: Random, content: bytes, good: list[bytes]) -> bytes:
    """Nest lists or maps as deep as the size limit allows, or a little over it."""
    header = rng.choice(
        (b"\x91", b"\xdc\x04\x00", b"\xdc\xff\xff", b"\x81\xa1a", b"\xde\x04\x00\xa1a")
    )
    place = rng.randrange(len(content) + 1)
    return (
        content[:place] + header * (rng.choice((9, 600, LARGEST)) // len(header)) + content[place:]
    )


DAMAGES: tuple[Damage, ...] = (
    *(flip_bit, overwrite, cut, drop, repeat, splice) * 3,
    *(insert_header,) * 4,
    nest,
)
"""Small damages are as likely as large ones: they get further into the loader."""


def resident_mb() -> int:
    """Return the largest memory that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10


if __name__ == "__main__":
    main()
