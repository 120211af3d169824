"""`rondo show`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from rondo.commands._options import FINDING, FRAMEWORK, SUBJECT


@click.command("show")
@FINDING
@FRAMEWORK
@SUBJECT
def command(file: Path, framework: str, subject: str) -> None:
    """Print what a reproducer or a .seq file says. Nothing of it is run."""
    from rondo.campaign.loading import load_vocabulary
    from rondo.findings.replay import check_vocabulary, read
    from rondo.sequences.codec import decode
    from rondo.sequences.step import describe

    replayable = read(file, framework=framework)
    recorded = replayable.reproducer
    if recorded is not None:
        decoded = recorded.decoded
    else:
        vocabulary = load_vocabulary(framework, subject)
        check_vocabulary(replayable, vocabulary)
        decoded = describe(decode(replayable.data, vocabulary), vocabulary)
    for line in decoded_lines(decoded):
        click.echo(line)
    if recorded is None:
        return
    click.echo(f"alarm: step {recorded.step}: {recorded.identity}")
    for difference in recorded.differences:
        arms = f"eager {difference.eager}, retained {difference.retained}, reset {difference.reset}"
        click.echo(f"  {difference.path}: {arms}")
    click.echo(f"minimal: {'yes' if recorded.minimal else recorded.reason or 'not known'}")
    if recorded.layer:
        click.echo(f"layer: {recorded.layer}")
    for name, value in recorded.environment.items():
        click.echo(f"{name}: {value}")
    for name in recorded.preloads:
        click.echo(f"preload: {name}")


def decoded_lines(decoded: dict[str, Any]) -> list[str]:
    """Return the decoded form of a sequence, a line for each thing it says."""
    lines = []
    for name, value in decoded.items():
        if name == "steps":
            lines += [f"step {number}: {step}" for number, step in enumerate(value)]
        elif isinstance(value, dict):
            lines.append(f"{name}: {', '.join(f'{key}={each}' for key, each in value.items())}")
        else:
            lines.append(f"{name}: {', '.join(value) if isinstance(value, list) else value}")
    return lines
