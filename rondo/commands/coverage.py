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
    from rondo.report.coverage import write_html

    out = out or folder / "coverage" / "html"
    try:
        figures = write_html(folder, out)
    except OSError as error:
        raise CoverageError(str(error)) from None
    click.echo(figures[-1])
    click.echo(f"open {out / 'index.html'}")
