"""`rondo documented`."""

from __future__ import annotations

import click

from rondo.commands._options import FRAMEWORK


@click.command("documented")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@FRAMEWORK
def command(as_json: bool, framework: str) -> None:
    """List the limitations that a compiler documents: such differences are counted, never alarms.

    Each is recognised by its cause: by what is raised where an option or step asks for it, or by
    the difference going away under the setting that lifts it.
    """
    import json
    from dataclasses import asdict

    from rondo.campaign.loading import load
    from rondo.oracle.documented import documented_rules

    rules = documented_rules(load(framework))
    if as_json:
        rows = [asdict(rule) for rule in rules]
        click.echo(json.dumps({"framework": framework, "limitations": rows}))
        return
    for rule in rules:
        click.echo(f"{rule.kind}\n    when: {rule.cause}\n    says: {rule.link}")
    click.echo(f"{len(rules)} documented limitations of {framework}")
