"""The dictionary for libFuzzer's own mutations: every word means what it is called."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from rondo.sequences.codec import HEADER, decode, encode
from rondo.sequences.step import Change, Options, Sequence, SubjectSpec
from tests.campaign.conftest import ROOT, TOY, VOCABULARY
from tests.toys import toy_vocabulary

SCRIPT = ROOT / "fuzz_targets" / "dictionary.py"


def load_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dictionary", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_change_is_a_word_that_decodes_to_it() -> None:
    vocabulary = toy_vocabulary()
    words = load_script().words(vocabulary)
    assert words["header"] == HEADER
    changes = 0
    for construct in vocabulary.constructs:
        for number, action in enumerate(construct.actions):
            head = encode(Sequence(SubjectSpec("mlp", (construct.name,)), Options(), ()))
            sequence = decode(head + words[f"{construct.name}.{action.name}"], vocabulary)
            assert sequence.steps == (Change(construct.name, number, 0),)
            changes += 1
    assert changes == 6


def test_the_file_is_in_libfuzzers_format(tmp_path: Path) -> None:
    out = tmp_path / "toy.dict"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), TOY, str(out)],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    lines = out.read_text().splitlines()
    assert lines[0].startswith("#")
    assert all(re.fullmatch(r'[\w.]+="(\\x[0-9a-f]{2})+"', line) for line in lines[1:])
    names = {line.partition("=")[0] for line in lines[1:]}
    assert {construct.name for construct in VOCABULARY.constructs} <= names
    assert subprocess.run([sys.executable, str(SCRIPT)], capture_output=True).returncode == 2
