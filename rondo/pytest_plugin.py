"""`pytest --rondo`: the models of a test suite, fuzzed; a failure shows a script to run.

Two ways for a suite to say what is to be checked, and both are skipped without `--rondo`, since a
check takes a minute where a unit test takes milliseconds:

    MODEL = rondo.subject(MyModel, torch.randn(4, 16))      at the top of a test file

    @pytest.mark.rondo
    def test_my_model():
        assert_stateless(MyModel, [torch.randn(4, 16)])

The key insight: each is one ordinary test item. So `-k`, `-x`, reports, and pytest-xdist, which
hands items to its workers, need nothing from us.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest

MARK = "rondo"
OPTION = "--rondo"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add our options."""
    group = parser.getgroup("rondo", "stateful fuzzing of compiled models")
    group.addoption(OPTION, action="store_true", help="also run what Rondo has to check")
    group.addoption(
        "--rondo-executions",
        type=int,
        default=None,
        metavar="N",
        help="sequences tried for each subject found in a test file",
    )
    group.addoption(
        "--rondo-seed", type=int, default=1, metavar="N", help="another seed tries other sequences"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the mark."""
    config.addinivalue_line("markers", f"{MARK}: a check by Rondo; runs with {OPTION} only")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what is marked unless it was asked for."""
    if config.getoption(OPTION):
        return
    skip = pytest.mark.skip(reason=f"needs {OPTION}")
    for item in items:
        if item.get_closest_marker(MARK) is not None:
            item.add_marker(skip)


def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, name: str, obj: object
) -> pytest.Item | None:
    """Make a test of each subject at the top of a test file."""
    if not collector.config.getoption(OPTION) or not isinstance(collector, pytest.Module):
        return None
    from rondo.subjects.user import UserSubject

    if not isinstance(obj, UserSubject):
        return None
    item: SubjectItem = SubjectItem.from_parent(collector, name=name, described=obj)
    item.add_marker(MARK)
    return item


class SubjectItem(pytest.Item):
    """The check of one subject."""

    def __init__(self, *, described: Any, **more: Any) -> None:
        super().__init__(**more)
        self.described = described

    def runtest(self) -> None:
        """Check it."""
        from rondo.testing import EXECUTIONS, StatefulError
        from rondo.testing.handover import Handover
        from rondo.testing.process import Limits, check

        executions = self.config.getoption("--rondo-executions") or EXECUTIONS
        limits = Limits(executions, 300.0, self.config.getoption("--rondo-seed"))
        outcome = check(Handover.of_subject(self.described), limits)
        if outcome.findings:
            raise StatefulError(outcome)

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """Show what the user needs of a failure: our sentence, and no frame of ours."""
        from rondo.errors import RondoError
        from rondo.testing import StatefulError, UndecidedWarning

        if isinstance(excinfo.value, StatefulError | UndecidedWarning | RondoError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Say where it stands and what it is called."""
        return self.path, None, f"rondo: {self.name}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the script of a failed check in a section of its own, which xdist carries along."""
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    for found in getattr(getattr(error, "outcome", None), "findings", ()):
        report.sections.append((f"rondo: {found.title}", found.brief()))
    return report
