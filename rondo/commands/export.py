"""`rondo export`."""

from __future__ import annotations

from pathlib import Path

import click

from rondo.commands._options import (
    DEVICE,
    FINDING,
    FRAMEWORK,
    PRELOAD,
    SUBJECT,
    note_missing_preloads,
    timeout_option,
)


@click.command("export")
@FINDING
@click.option("--out", type=click.Path(path_type=Path), help="Where it goes.  [standard output]")
@click.option("--issue", is_flag=True, help="Write an issue for the maintainers around the script.")
@click.option("--pytest", "as_test", is_flag=True, help="Write a test that is expected to fail.")
@timeout_option("Seconds that each run may take.")
@FRAMEWORK
@PRELOAD
@SUBJECT
@DEVICE
def command(
    file: Path,
    out: Path | None,
    issue: bool,
    as_test: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
    device: str,
) -> None:
    """Write a finding as a standalone script, without Rondo in it.

    The script prints one line and leaves with 1 if the bug shows, 0 if it does not. It is written
    only after it showed the bug in a fresh process, and none with the compiler switched off.
    """
    from rondo.campaign.exporting import export_file
    from rondo.findings.reproducer import check_target, write_atomically

    if issue and as_test:
        raise click.UsageError("--issue and --pytest exclude each other")
    if out is not None:
        check_target(out)

    note_missing_preloads(file, preloads, framework)
    exported = export_file(
        file,
        framework=framework,
        preloads=preloads,
        subject=subject,
        device=device,
        seconds=timeout,
        form="issue" if issue else "test" if as_test else "script",
    )
    if out is None:
        click.echo(exported.text, nl=False)
        return
    write_atomically(out, exported.text.encode())
    click.echo(f"{out}: {exported.lines} lines, {exported.layout}")
