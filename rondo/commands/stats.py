"""`rondo stats`."""

from __future__ import annotations

from pathlib import Path

import click


@click.command("stats")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(folder: Path, as_json: bool) -> None:
    """Tell how far the campaign in FOLDER is, running or not: one line for each of its members."""
    import json

    from rondo.campaign.history import Standing, standings, totals

    found = standings(folder)
    if as_json:
        click.echo(json.dumps({"members": [each.as_data() for each in found], **totals(found)}))
        return
    for line in Standing.table(found):
        click.echo(line)
    for name, value in totals(found).items():
        click.echo(f"{name + ':':<16} {value}")
