"""A campaign's lines: each member's own file, and where one goes on from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from rondo.campaign.executor import Executor
from rondo.campaign.lines import LineCoverage
from rondo.report.coverage import read_data, read_file


def coverage_of(folder: Path, member: str) -> LineCoverage:
    executor = SimpleNamespace(server=SimpleNamespace(trees=("/t",)), store=None)
    return LineCoverage((cast(Executor, executor),), folder, member=member)


def test_a_member_goes_on_from_its_own_lines_and_overwrites_nobody_s(tmp_path: Path) -> None:
    for member, lines in (("1", [1, 2, 3]), ("2", [3, 4])):
        first = coverage_of(tmp_path, member)
        assert first.count == 0
        first.store.add_lines({"/t/a.py": lines}.items())
        first.save()
    again = coverage_of(tmp_path, "1")
    assert again.count == 3
    again.store.add_lines({"/t/a.py": [9]}.items())
    again.save()
    assert read_file(again.path) == {"/t/a.py": [1, 2, 3, 9]}
    assert read_data(tmp_path / "coverage") == {"/t/a.py": [1, 2, 3, 4, 9]}


def test_without_a_campaign_folder_the_file_is_the_last_one_s(tmp_path: Path) -> None:
    for lines in ([1], [2]):
        coverage = coverage_of(tmp_path, "")
        coverage.store.add_lines({"/t/a.py": lines}.items())
        coverage.save()
    assert read_data(tmp_path / "coverage") == {"/t/a.py": [2]}


def test_a_damaged_file_is_begun_anew(tmp_path: Path) -> None:
    coverage = coverage_of(tmp_path, "1")
    coverage.path.parent.mkdir(parents=True)
    coverage.path.write_bytes(b"nothing")
    assert coverage_of(tmp_path, "1").count == 0
