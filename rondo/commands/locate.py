"""`rondo locate`."""

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


@click.command("locate")
@FINDING
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--save", "saves", is_flag=True, help="Write the layer into the reproducer too.")
@timeout_option("Seconds an experiment may take.")
@FRAMEWORK
@PRELOAD
@SUBJECT
@DEVICE
def command(
    file: Path,
    as_json: bool,
    saves: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
    device: str,
) -> None:
    """Say which retained layer is at fault, what established it, and what no guard mentions."""
    from rondo.campaign.locate_page import print_json, print_page
    from rondo.campaign.locating import check_saving, locate_file, save_layer

    note_missing_preloads(file, preloads, framework)
    if saves:
        check_saving(file)
    found = locate_file(
        file,
        framework=framework,
        preloads=preloads,
        subject=subject,
        device=device,
        seconds=timeout,
    )
    if saves:
        save_layer(file, found.located)
    (print_json if as_json else print_page)(found)
