"""`rondo audit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rondo.errors import EXIT_OK

if TYPE_CHECKING:
    from rondo.oracle.audit import Audit

EXIT_ESCAPED = 1
SHOWN = 20


@click.command("audit")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(as_json: bool) -> int:
    """Show the oracle known mistakes and legal differences, and count what it says.

    Needs no framework. Exit code 0: every mistake got its verdict and nothing legal alarmed.
    1: something escaped.
    """
    from rondo.oracle.audit import run_audit

    audit = run_audit()
    if as_json:
        click.echo(as_object(audit))
    else:
        for line in lines(audit):
            click.echo(line)
    return EXIT_OK if audit.passed else EXIT_ESCAPED


def lines(audit: Audit) -> list[str]:
    """Return the table, the escapes and the summary, which is the last line."""
    shown = [
        f"{kind:<34} {audit.caught.get(kind, 0):>4} of {tried:>4}"
        for kind, tried in sorted(audit.tried.items())
    ]
    shown += [
        f"ESCAPED {each.kind} at {each.path} in {each.place}: judged {each.verdict}"
        for each in audit.escapes[:SHOWN]
    ]
    shown += [f"FALSE ALARM {name}" for name in audit.false_alarms]
    shown.append(summary(audit))
    return shown


def summary(audit: Audit) -> str:
    """Return what came of the audit in one line."""
    caught, tried = sum(audit.caught.values()), sum(audit.tried.values())
    quiet = audit.controls - len(audit.false_alarms)
    return (
        f"caught {caught} of {tried} mistakes of {len(audit.tried)} kinds;"
        f" quiet on {quiet} of {audit.controls} legal differences"
    )


def as_object(audit: Audit) -> str:
    """Return the audit as a JSON object."""
    import json
    from dataclasses import asdict

    return json.dumps({**asdict(audit), "passed": audit.passed, "summary": summary(audit)})
