"""The gallery's entries for torch can be read here, are explained, and show what was recorded."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import torch

from rondo.findings import replay
from rondo.findings.bugs import Bug, read_bugs
from rondo.findings.reproducer import Reproducer
from rondo.frameworks.registry import load_framework
from rondo.oracle.run import execute

GALLERY = Path(__file__).parents[2] / "bench" / "bugs"
BUGS = [bug for bug in read_bugs(GALLERY / "torch") if bug.sequence]
"""Those with a reproducer; where the script alone shows it, `rondo bugs check` runs that."""
FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()
EXPLAINED = (
    "versions",
    "establishing step",
    "exposing step",
    "located layer",
    "unguarded state",
    "cause",
    "status",
)
CHEAP = ("eager", "aot_eager")
"""Back ends that take milliseconds; `rondo bugs check` replays the others too."""


def recorded(bug: Bug) -> Reproducer:
    found = replay.read(bug.folder / bug.sequence).reproducer
    assert found is not None
    return found


def test_each_is_explained() -> None:
    for bug in read_bugs(GALLERY):
        text = (bug.folder / "README.md").read_text()
        assert f"# {bug.title}\n" in text
        for part in EXPLAINED:
            assert f"\n- {part}: " in text, f"{bug.name} says nothing of its {part}"
        for version in bug.verdicts:
            assert f"{bug.framework} {version}" in " ".join(text.split())
        assert bug.status in text


def test_there_are_new_bugs_and_no_two_entries_share_a_bucket() -> None:
    assert sum(bug.status == "new" for bug in BUGS) >= 5
    assert len({bug.bucket for bug in BUGS}) == len(BUGS)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_reproducer_script_and_record_are_of_one_mind(bug: Bug) -> None:
    found = recorded(bug)
    assert bug.verdict == found.identity.verdict
    assert bug.layer == found.layer
    assert found.minimal or bug.status != "new", found.reason
    assert "rondo" not in (bug.folder / bug.script).read_text().replace("rondo::", "")


@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="bugs come and go")
@pytest.mark.parametrize(
    "bug",
    [bug for bug in BUGS if recorded(bug).identity.backend in CHEAP],
    ids=lambda bug: bug.name,
)
def test_each_still_shows(bug: Bug) -> None:
    replayable = replay.read(bug.folder / bug.sequence)
    replay.check_vocabulary(replayable, VOCABULARY)
    result = execute(replayable.data, FRAMEWORK, vocabulary=VOCABULARY)
    assert replay.shown_alarm(replayable, result) is not None
    assert bug.verdicts["2.13.0"] == bug.verdict


@pytest.mark.slow
@pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="bugs come and go")
def test_the_five_of_the_documentation_fail_where_they_say(tmp_path: Path) -> None:
    text = (GALLERY.parents[1] / "docs" / "bugs.md").read_text()
    scripts = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(scripts) == 5
    for number, script in enumerate(scripts):
        # A file, since Dynamo traces no code that has none; a namespace of its own for each.
        path = tmp_path / f"script{number}.py"
        path.write_text(script)
        with pytest.raises(AssertionError):
            runpy.run_path(str(path))
        torch._dynamo.reset()
