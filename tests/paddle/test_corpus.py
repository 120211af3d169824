"""The shipped seeds for Paddle: in step with their source, canonical, and clean."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start Paddle, in an environment of its own.
if not is_installed("paddle"):
    pytest.skip("paddle is not installed", allow_module_level=True)

from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode_strict, encode

ROOT = Path(__file__).parents[2]
# Not imported: on the path, the folders beside it would pass for packages of their names.
SHIPPED = runpy.run_path(str(ROOT / "corpus" / "seeds_paddle.py"))
FRAMEWORK = load_framework("paddle")
VOCABULARY = FRAMEWORK.vocabulary()
FILES = sorted((ROOT / "corpus" / "paddle").glob("*.seq"))


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
