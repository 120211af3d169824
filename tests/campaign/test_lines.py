"""A campaign's lines: each member's own file, and where one goes on from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import cast

from rondo._native.lines import LineStore
from rondo._native.sampling import SampledTracing
from rondo.campaign.executor import Executor
from rondo.campaign.lines import LineCoverage
from rondo.campaign.pool import Limits, Server
from rondo.report.coverage import read_data, read_file
from tests.campaign.conftest import HARMLESS, STALE


def coverage_of(
    folder: Path, member: str, *, always: bool = False, known: dict[str, bytes] | None = None
) -> LineCoverage:
    executor = SimpleNamespace(server=SimpleNamespace(trees=("/t",)), store=None)
    policy = SampledTracing(always=always)
    executors = (cast(Executor, executor),)
    return LineCoverage(executors, folder, member=member, known=known or {}, policy=policy)


def test_where_the_sampler_is_told_a_campaign_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    first = coverage_of(tmp_path, "1", always=True)
    first.store.add_lines({"/t/a.py": [1, 70]}.items())
    checkpoint = first.told()
    first.store.add_lines({"/t/a.py": [2]}.items())
    first.save()
    again = coverage_of(tmp_path, "1", always=True, known=checkpoint)
    assert again.store.lines() == {"/t/a.py": [1, 70]}, "what came later is reached again"
    assert coverage_of(tmp_path, "1", always=True).count == 0
    assert coverage_of(tmp_path, "1").told() == {}


def test_an_execution_is_told_what_it_was_the_first_to_reach() -> None:
    server = Server("tests.campaign.traced_toy:TracedToy")
    store = LineStore(server.trees)
    executor = Executor(
        *(server, Limits(20, 200 << 20), 16, lambda: None), store=store, trace_inline=True
    )
    executor.run(HARMLESS)
    assert executor.last_new_lines == store.line_count > 0
    executor.run(HARMLESS)
    assert executor.last_new_lines == 0
    executor.run(STALE)
    assert executor.last_new_lines > 0
    executor.run_fresh(STALE)
    assert executor.last_new_lines == 0
    server.close()


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
