"""The shipped seeds for JAX: in step with their source, canonical, and clean."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rondo.frameworks.registry import is_installed

if not is_installed("jax"):
    pytest.skip("jax is not installed", allow_module_level=True)

from rondo.frameworks.registry import load_framework
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode_strict, encode

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "corpus"))

import seeds_jax as shipped  # noqa: E402  (a script beside the corpus, not a package)

FRAMEWORK = load_framework("jax")
VOCABULARY = FRAMEWORK.vocabulary()
FILES = sorted((ROOT / "corpus" / "jax").glob("*.seq"))


def test_files_are_what_the_script_writes() -> None:
    written = {name: encode(w.sequence()) for name, w in shipped.seeds(VOCABULARY)}
    assert {file.stem: file.read_bytes() for file in FILES} == written
    assert len(FILES) >= 20


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_seeds_replay_clean(file: Path) -> None:
    data = file.read_bytes()
    decode_strict(data, VOCABULARY)
    result = execute(data, FRAMEWORK, settings=Settings(always_reset=True), vocabulary=VOCABULARY)
    assert (result.verdict, result.alarms, result.raised) == ("agree", (), 0)
