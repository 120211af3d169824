"""`rondo report`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("report")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="The page.  [FOLDER/report.html]")
@click.option(
    "--totals/--no-totals",
    default=True,
    help="Count the compiler's statements too, for per cents: about 20 seconds.  [--totals]",
)
@click.option(
    "--scripts", is_flag=True, help="Export findings without a script first: half a minute each."
)
def command(folder: Path, out: Path | None, totals: bool, scripts: bool) -> None:
    """Write one HTML page about the campaign whose findings are in FOLDER.

    The page is one file that needs no network. It can be made while the campaign runs.
    """
    from rondo.findings.reproducer import check_target
    from rondo.report.collect import collect, find_folder
    from rondo.report.page import write

    folder = find_folder(folder)
    out = out or folder / "report.html"
    check_target(out)
    report = collect(folder, totals=totals, scripts=scripts)
    write(report, out)
    count = len(report.findings)
    click.echo(f"{count} finding{'s' if count != 1 else ''}; open {out}")
