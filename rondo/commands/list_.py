"""`rondo list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rondo.commands._options import FRAMEWORK, SUBJECT

if TYPE_CHECKING:
    from rondo.sequences.vocabulary import Vocabulary


@click.command("list")
@click.argument("what", type=click.Choice(["architectures", "constructs", "steps"]))
@FRAMEWORK
@SUBJECT
def command(what: str, framework: str, subject: str) -> None:
    """List what sequences are made of, one line each."""
    from rondo.campaign.loading import load_vocabulary

    vocabulary = load_vocabulary(framework, subject)
    for line in listed(what, vocabulary):
        click.echo(line)


def listed(what: str, vocabulary: Vocabulary) -> list[str]:
    """Return the lines of `rondo list`."""
    if what == "architectures":
        return [f"{each.name:<24} {each.target.doc}" for each in vocabulary.architectures]
    if what == "constructs":
        return [f"{each.name:<24} {each.kind:<24} {each.doc}" for each in vocabulary.constructs]
    from rondo.sequences.step import CALL_CHOICES

    lines = [f"call {name:<39} {', '.join(values)}" for name, values in CALL_CHOICES.items()]
    for target in vocabulary.all_targets():
        for action in target.actions:
            operand = f"0..{action.values - 1}" if action.values > 1 else ""
            lines.append(f"{f'{target.name}.{action.name}({operand})':<44} {action.doc}")
    return lines
