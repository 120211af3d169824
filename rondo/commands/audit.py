"""`rondo audit`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from rondo.commands._options import FRAMEWORK, PRELOAD, timeout_option
from rondo.errors import EXIT_OK

if TYPE_CHECKING:
    from rondo.oracle.audit import Audit

EXIT_ESCAPED = 1
SHOWN = 20


@click.command("audit")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option(
    "--fresh",
    "paths",
    multiple=True,
    type=click.Path(path_type=Path, exists=True),
    metavar="FILE|FOLDER",
    help="Instead, measure the resets of these sequences against fresh processes.",
)
@timeout_option("Seconds one run may take.")
@FRAMEWORK
@PRELOAD
def command(
    as_json: bool,
    paths: tuple[Path, ...],
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
) -> int:
    """Show the oracle known mistakes and legal differences, and count what it says.

    Needs no framework. With --fresh: run each reset arm of files alone in a fresh process and tell
    where it shows something else, which has leaked through the reset.

    Exit code 0: every mistake got its verdict, nothing legal alarmed, nothing leaked. 1: else.
    """
    if paths:
        return _measure(paths, as_json, timeout, framework, preloads)
    from rondo.oracle.audit import run_audit

    audit = run_audit()
    if as_json:
        click.echo(as_object(audit))
    else:
        for line in lines(audit):
            click.echo(line)
    return EXIT_OK if audit.passed else EXIT_ESCAPED


def _measure(
    paths: tuple[Path, ...],
    as_json: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
) -> int:
    import json
    from dataclasses import asdict

    from rondo.commands._fresh import measured, report

    found = []
    for each in measured(paths, framework=framework, preloads=preloads, seconds=timeout):
        found.append(each)
        if not as_json:
            report(each)
    arms, leaks = sum(each.arms for each in found), sum(len(each.leaks) for each in found)
    if as_json:
        rows = [{**asdict(each), "file": str(each.file)} for each in found]
        click.echo(json.dumps({"files": rows, "arms": arms, "leaks": leaks}))
    else:
        click.echo(f"{len(found)} files, {arms} reset arms measured, {leaks} leaked")
    return EXIT_ESCAPED if leaks else EXIT_OK


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
    shown.append(audit.summary)
    return shown


def as_object(audit: Audit) -> str:
    """Return the audit as a JSON object."""
    import json
    from dataclasses import asdict

    return json.dumps({**asdict(audit), "passed": audit.passed, "summary": audit.summary})
