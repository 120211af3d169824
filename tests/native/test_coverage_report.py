"""Lines written as coverage.py's own data: its reporter, its command line, its figures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from coverage import CoverageData

from rondo._native.tracer import LineTracer
from rondo.report.coverage import (
    TreeFigure,
    data_files,
    figures,
    html,
    read_data,
    write_data,
    write_html,
)
from tests.native.programs import load

TEXT = """
def main(x=0):
    if x:
        return max(1,
                   2)
    return (3 +
            x)

def never():  # pragma: no cover
    return 0
"""


@pytest.fixture
def campaign(tmp_path: Path, tracer_for: Callable[..., LineTracer]) -> Path:
    source = tmp_path / "tree"
    source.mkdir()
    (source / "unreached.py").write_text("x = 1\ny = 2\n")
    main = load(source / "m.py", TEXT)
    tracer = tracer_for(source)
    main()
    tracer.stop()
    write_data(tmp_path / "coverage" / ".coverage", tracer.lines(), context="campaign")
    return tmp_path


def run_coverage(campaign: Path, *arguments: str) -> str:
    result = subprocess.run(
        [sys.executable, "-m", "coverage", *arguments],
        cwd=campaign / "coverage",
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def test_the_file_is_coverages_own(campaign: Path) -> None:
    data = CoverageData(basename=str(campaign / "coverage" / ".coverage"))
    data.read()
    assert data.lines(str(campaign / "tree" / "m.py")) == [2, 5, 6]
    assert data.measured_contexts() == {"campaign"}
    assert os.listdir(campaign / "coverage") == [".coverage"]


def test_figures_equal_those_of_coverage_report(campaign: Path) -> None:
    tree = str(campaign / "tree")
    found = figures(read_data(campaign / "coverage"), [tree, tree + "/m.py"])
    assert found == [
        TreeFigure(tree, 2, 6),
        TreeFigure(tree + "/m.py", 2, 4),
        TreeFigure("total", 2, 6),
    ]
    assert str(found[1]) == f"{tree}/m.py: 2 of 4 lines (50.0 %)"
    report = run_coverage(campaign, "report")
    assert report.splitlines()[-1].split() == ["TOTAL", "4", "2", "50%"]
    assert TreeFigure("empty", 0, 0).percent == 100.0


def test_combine_and_html_of_the_command_line_work(campaign: Path) -> None:
    tree = str(campaign / "tree")
    write_data(campaign / "coverage" / ".coverage.worker1", {tree + "/m.py": [3]})
    write_data(campaign / "coverage" / ".coverage.worker2", {tree + "/unreached.py": [1, 2]})
    assert len(data_files(campaign / "coverage")) == 3
    assert read_data(campaign / "coverage") == {
        tree + "/m.py": [2, 3, 5, 6],
        tree + "/unreached.py": [1, 2],
    }
    run_coverage(campaign, "combine", "--append")
    assert read_data(campaign / "coverage")[tree + "/m.py"] == [2, 3, 5, 6]
    run_coverage(campaign, "html", "-q")
    assert (campaign / "coverage" / "htmlcov" / "index.html").exists()


def test_html_is_written_by_coverages_reporter(campaign: Path) -> None:
    out = campaign / "html"
    found = write_html(campaign, out)
    assert [figure.tree for figure in found] == [str(campaign / "tree" / "m.py"), "total"]
    page = (out / "index.html").read_text()
    assert "Compiler lines reached" in page
    assert "m.py" in page
    assert write_html(campaign, out, trees=[str(campaign / "tree")])[-1].lines_total == 6
    assert html(campaign / "coverage", out) == pytest.approx(50.0)


@pytest.mark.filterwarnings("error")
def test_html_leaves_out_files_that_never_were(campaign: Path) -> None:
    made_up = f"{campaign}/tree/m.py:codegen(prologue)"
    write_data(campaign / "coverage" / ".coverage.worker1", {made_up: [1]})
    assert html(campaign / "coverage", campaign / "html") > 0


def test_a_folder_without_data_says_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="holds no coverage data"):
        html(tmp_path, tmp_path / "html")


def test_an_empty_campaign_and_a_vanished_source_are_no_errors(tmp_path: Path) -> None:
    write_data(tmp_path / ".coverage", {})
    assert read_data(tmp_path) == {}
    gone = str(tmp_path / "gone.py")
    assert figures({gone: [1]}, [gone])[-1] == TreeFigure("total", 0, 0)
    write_data(tmp_path / ".coverage", {gone: [1, 2]})
    write_data(tmp_path / ".coverage", {gone: [7]})
    assert read_data(tmp_path) == {gone: [7]}
