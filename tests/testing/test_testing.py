"""Checking a user's model: handing it over, and how a failure reads. No framework is needed."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rondo.campaign.settings import Settings
from rondo.errors import SubjectError
from rondo.subjects.user import load_subject
from rondo.testing import StatefulError, UndecidedWarning, process, runner
from rondo.testing.handover import Handover
from rondo.testing.outcome import LONGEST_SCRIPT, Found, NothingCompiledError, Outcome
from rondo.testing.process import Limits, check
from rondo.testing.runner import registering

pytest_plugins = ["pytester"]

MODULE = """
class Model:
    def __call__(self, x):
        return x

class Stubborn:
    def __reduce__(self):
        raise TypeError("no copies of this")

    def __call__(self, x):
        return x

def build():
    return Model()

def double(x):
    return 2 * x
"""


@pytest.fixture
def users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module of the user's, importable for the time of a test."""
    (tmp_path / "users_module.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield importlib.import_module("users_module")
    sys.modules.pop("users_module")


@pytest.mark.parametrize(("name", "argument"), [("Model", 3.0), ("build", 3.0), ("double", 3.0)])
def test_classes_factories_and_functions_are_handed_over(
    users: Any, tmp_path: Path, name: str, argument: float
) -> None:
    handover = Handover.of(getattr(users, name), [1.0], backends=("mine",))
    described = load_subject(handover.write(tmp_path))
    expected = 2 * argument if name == "double" else argument
    assert described.build()(argument) == expected
    assert described.backends == ("mine",)
    assert described.origin is users
    assert [spec.kind for spec in described.schema.inputs] == ["number"]


def test_a_model_is_handed_over_as_copies(users: Any, tmp_path: Path) -> None:
    model = users.Model()
    model.weight = [1, 2]
    described = load_subject(Handover.of(model, [1.0]).write(tmp_path))
    first, second = described.build(), described.build()
    first.weight.append(3)
    assert second.weight == model.weight == [1, 2]


def test_a_module_that_no_import_finds_is_loaded_from_its_file(
    users: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    handover = Handover.of(users.Model, [1.0])
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    path = handover.write(elsewhere)
    monkeypatch.syspath_prepend(elsewhere)
    sys.path.remove(str(tmp_path))
    sys.modules.pop("users_module")
    importlib.invalidate_caches()
    described = load_subject(path)
    assert described.build()(1.0) == 1.0
    assert described.origin is sys.modules["users_module"]


def test_what_cannot_be_handed_over_is_one_line(users: Any) -> None:
    class Local:
        pass

    cases = {
        "Local cannot be built in another process; define it at the top of a module": Local,
        "<lambda> cannot be built in another process": lambda: users.Model(),
        "a int is no model: nothing to call": 3,
        "the model cannot be copied: no copies of this; pass its class": users.Stubborn(),
    }
    for message, model in cases.items():
        with pytest.raises(SubjectError) as caught:
            Handover.of(model, [1.0])
        assert message in str(caught.value)
        assert "\n" not in str(caught.value)


def test_limits_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"executions=0, seconds=1\.0, seed=1"):
        Limits(0, 1.0, 1)


def test_a_script_registers_the_users_own_back_ends(users: Any, tmp_path: Path) -> None:
    plain = load_subject(Handover.of(users.Model, [1.0]).write(tmp_path))
    assert registering(plain) == ()
    own = load_subject(Handover.of(users.Model, [1.0], backends=("mine",)).write(tmp_path))
    (text,) = registering(own)
    assert f"sys.path.insert(0, {str(tmp_path)!r})" in text
    assert "import users_module  # registers the back end" in text
    compile(text, "prelude", "exec")


def test_a_failure_names_the_bug_and_shows_at_most_forty_lines(tmp_path: Path) -> None:
    long = Found("stateful: value", "stateful", "line\n" * 60, True, "script.py")
    short = Found("masked: value", "masked", "a\nb\n", False, "reproducer.rondo")
    outcome = Outcome(60, 10, 3, (long, short))
    outcome.save(tmp_path / "outcome")
    assert Outcome.load(tmp_path / "outcome") == outcome
    error = StatefulError(outcome)
    assert str(error) == "stateful: value (and 1 more)\nscript: script.py"
    lines = long.brief().splitlines()
    assert len(lines) == LONGEST_SCRIPT == 40
    assert lines[-1] == "# ... the rest is in script.py"
    assert short.brief() == "a\nb"


def test_a_check_that_does_not_come_to_an_end_says_why(
    users: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RONDO_FINDINGS", str(tmp_path / "kept"))
    monkeypatch.setattr(process, "STARTING_SECONDS", 0.0)
    with pytest.raises(process.WorkerError, match="did not come to an end: exit code -9"):
        check(Handover.of(users.Model, [1.0]), Limits(1, 0.01, 1))


def test_a_check_in_which_nothing_was_compiled_is_no_success(
    users: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RONDO_FINDINGS", str(tmp_path))
    seen = {"compiled": 0}

    def answer(command: list[str], place: Path, seconds: float) -> str:
        Outcome(9, 4, seen["compiled"]).save(place / "outcome")
        return ""

    monkeypatch.setattr(process, "_run", answer)
    handover = Handover.of(users.Model, [1.0])
    with pytest.raises(NothingCompiledError, match="nothing was compiled in 9 executions"):
        check(handover, Limits(9, 1.0, 1))
    seen["compiled"] = 2
    assert check(handover, Limits(9, 1.0, 1)).compiled == 2
    assert list(tmp_path.glob("rondo-findings-*")) == [], "a folder without findings goes"


def test_what_is_left_of_a_check_is_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def campaign(settings: Settings) -> int:
        left = settings.artifact_prefix / "unconfirmed"
        left.mkdir()
        for name in ("a.seq", "a.txt", "b.seq"):
            (left / name).write_bytes(b"")
        return 0

    monkeypatch.setattr("rondo.fuzz.run", campaign)
    runner.run("module:subject", 1, 1.0, 1, tmp_path, tmp_path / "outcome")
    assert Outcome.load(tmp_path / "outcome") == Outcome(0, 0, 0, undecided=2)


def test_a_check_that_had_no_time_for_its_alarms_says_so(
    users: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("RONDO_FINDINGS", str(tmp_path))

    def answer(command: list[str], place: Path, seconds: float) -> str:
        Outcome(9, 4, 2, undecided=3).save(place / "outcome")
        return ""

    monkeypatch.setattr(process, "_run", answer)
    with pytest.warns(UndecidedWarning, match="within 1 s: 3 of the sequences are left"):
        check(Handover.of(users.Model, [1.0]), Limits(9, 1.0, 1))
    assert list(tmp_path.glob("rondo-findings-*")) != []


TESTS = """
import pytest
import rondo
import users_module

MODEL = rondo.subject(users_module.Model, 1.0)

@pytest.mark.rondo
def test_marked():
    from rondo.testing import assert_stateless
    assert_stateless(users_module.Model, [1.0])

def test_other():
    pass
"""
ARGUMENTS = ("-p", "no:rondo", "-p", "rondo.pytest_plugin", "-p", "no:cacheprovider")


def test_without_the_option_nothing_of_it_runs(users: Any, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TESTS)
    pytester.runpytest(*ARGUMENTS).assert_outcomes(passed=1, skipped=1)


def test_with_the_option_subjects_are_items_and_failures_show_scripts(
    users: Any, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def answer(handover: Handover, limits: Limits) -> Outcome:
        asked.append((handover.module, limits))
        found = Found("stateful: value in output", "stateful", "import torch\n", True, "script.py")
        return Outcome(5, 9, 2, (found,))

    monkeypatch.setattr("rondo.testing.process.check", answer)
    monkeypatch.setattr("rondo.testing.check", answer)
    pytester.makepyfile(TESTS)
    result = pytester.runpytest(*ARGUMENTS, "--rondo", "--rondo-executions=7", "--rondo-seed=3")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(
        ["*stateful: value in output*", "*rondo: stateful: value in output*", "import torch"]
    )
    assert asked[0] == ("users_module", Limits(7, 300.0, 3))
    assert [module for module, _ in asked] == ["users_module", "users_module"]
