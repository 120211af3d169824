"""`rondo coverage`."""

from __future__ import annotations

from pathlib import Path

import click

from rondo.errors import RondoError


class CoverageError(RondoError):
    """A campaign's line coverage cannot be reported."""

    slug = "coverage"


@click.group("coverage")
def command() -> None:
    """Report which of the compiler's lines a campaign reached."""


@command.command("html")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where the pages go.  [FOLDER/coverage/html]"
)
def coverage_html(folder: Path, out: Path | None) -> None:
    """Write coverage.py's HTML report of the campaign in FOLDER."""
    from rondo.report.collect import find_folder
    from rondo.report.coverage import write_html

    folder = find_folder(folder)
    out = out or folder / "coverage" / "html"
    try:
        figures = write_html(folder, out)
    except OSError as error:
        raise CoverageError(str(error)) from None
    click.echo(figures[-1])
    click.echo(f"open {out / 'index.html'}")


@command.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def coverage_report(folder: Path, as_json: bool) -> None:
    """Print the lines reached in each source tree, and the behaviours of each kind.

    Counts every statement of the compiler's sources, which takes some twenty seconds for torch.
    """
    import json

    from rondo.report.collect import collect

    report = collect(folder)
    if as_json:
        data = {
            "lines": {tree.tree: [tree.reached, tree.statements] for tree in report.trees},
            "behaviours": {
                kind.kind: [kind.distinct, kind.sightings] for kind in report.behaviours
            },
        }
        click.echo(json.dumps(data))
        return
    for tree in report.trees:
        figures = f"{tree.reached:>7} of {tree.statements:>7} lines  {tree.percent:5.1f}%"
        click.echo(f"{tree.tree:<32}{figures}")
    for kind in report.behaviours:
        click.echo(f"{kind.kind:<32}{kind.distinct:>7} behaviours, seen {kind.sightings} times")
    distinct = sum(kind.distinct for kind in report.behaviours)
    click.echo(f"{'total':<32}{distinct:>7} behaviours")
