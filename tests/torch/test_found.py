"""Reproducers of found bugs are readable here and still show what they were written for."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.findings import replay
from rondo.frameworks.registry import load_framework
from rondo.oracle.run import execute

FOUND = Path(__file__).parents[2] / "bench" / "bugs" / "found"
FILES = sorted(FOUND.glob("*/reproducer.rondo"))
FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()


def test_each_is_in_the_table_and_explained() -> None:
    table = (FOUND.parent / "README.md").read_text()
    assert len(FILES) >= 5
    for file in FILES:
        assert f"found/{file.parent.name}/README.md" in table
        assert "- status: " in (file.parent / "README.md").read_text()


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.parent.name)
def test_found_bugs_still_show(file: Path) -> None:
    replayable = replay.read(file)
    replay.check_vocabulary(replayable, VOCABULARY)
    result = execute(replayable.data, FRAMEWORK, vocabulary=VOCABULARY)
    assert replay.shown_alarm(replayable, result) is not None
