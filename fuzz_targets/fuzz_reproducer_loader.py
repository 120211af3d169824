#!/usr/bin/env python3
"""The loader of reproducers under libFuzzer: any bytes are a finding or one line of refusal.

    mkdir -p new && fuzz_targets/fuzz_reproducer_loader.py new bench/bugs/torch -max_total_time=60

What loads must survive being written and loaded again, name its bucket and be printable. Needs no
framework. A crash file is a bug of Rondo's.
"""

from __future__ import annotations

import json
import sys

import atheris

with atheris.instrument_imports(include=["rondo.findings"]):
    from rondo.findings.bucket import bucket_of_finding
    from rondo.findings.reproducer import pack, unpack

from rondo.errors import ReproducerError


def check(data: bytes) -> None:
    """Load `data`; raise unless it is refused in one line or usable in every way."""
    try:
        reproducer = unpack(data)
    except ReproducerError as error:
        if "\n" in str(error):
            raise AssertionError(f"refused in more than one line: {error}") from error
        return
    if unpack(pack(reproducer)) != reproducer:
        raise AssertionError("another reproducer after writing and loading it")
    name = bucket_of_finding(reproducer).name
    if "/" in name or name.startswith("."):
        raise AssertionError(f"a bucket that is no folder name: {name}")
    text = json.dumps({**reproducer.decoded, **reproducer.environment})
    if "\x1b" in text:
        raise AssertionError("a text that steers terminals")


def main() -> None:
    """Fuzz with libFuzzer's own mutations; flags and corpus folders are libFuzzer's."""
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
