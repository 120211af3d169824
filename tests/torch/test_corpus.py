"""The shipped seeds: in step with their source, canonical, and clean on the installed torch."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from rondo.frameworks.registry import load_framework
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode_strict, encode

ROOT = Path(__file__).parents[2]
# Not imported: on the path, the folders beside it would pass for packages of their names.
SHIPPED = runpy.run_path(str(ROOT / "corpus" / "seeds.py"))
FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()
FILES = sorted((ROOT / "corpus" / "torch").glob("*.seq"))


def test_files_are_what_the_script_writes() -> None:
    written = {name: encode(w.sequence()) for name, w in SHIPPED["seeds"](VOCABULARY)}
    assert {file.stem: file.read_bytes() for file in FILES} == written
    assert len(FILES) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_seeds_replay_clean(file: Path) -> None:
    data = file.read_bytes()
    decode_strict(data, VOCABULARY)
    result = execute(data, FRAMEWORK, settings=Settings(always_reset=True), vocabulary=VOCABULARY)
    assert (result.verdict, result.alarms, result.raised) == ("agree", (), 0)
