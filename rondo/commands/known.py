"""`rondo known`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from rondo.commands._options import KNOWN_FILE


@click.group("known")
def command() -> None:
    """Note which buckets are known, and from where."""


@command.command("add")
@click.argument("bucket")
@click.argument("url")
@click.option("--documented", is_flag=True, help="It is a documented limitation, and no fault.")
@KNOWN_FILE
def add(bucket: str, url: str, documented: bool, known_file: Path | None) -> None:
    """Note that BUCKET is known from URL.

    BUCKET is a name that `rondo triage` shows, a bucket's folder, or a reproducer. Without --file
    the list is known.json in the folder of findings that holds it, else in ./findings. A reproducer
    that lies in no bucket's folder is noted beside it.
    """
    from rondo.findings.known import FILE, KnownBuckets

    name, folder = bucket_named(bucket)
    buckets = KnownBuckets(known_file or folder / FILE)
    known = buckets.add(name, url, status="documented" if documented else "known")
    click.echo(f"{name} is {known.status} from {known.url}; noted in {buckets.path}")


@command.command("list")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("findings"))
@KNOWN_FILE
def list_(folder: Path, known_file: Path | None) -> None:
    """List the known buckets of FOLDER, findings/ unless told otherwise."""
    from rondo.findings.known import FILE, KnownBuckets
    from rondo.findings.overview import check_findings

    if known_file is None:
        check_findings(folder)
    buckets = KnownBuckets(known_file or folder / FILE)
    for name, known in sorted(buckets.buckets.items()):
        click.echo(f"{known.status:<10}  {known.added:<10}  {name}  {known.url}")
    if not buckets.buckets:
        click.echo(f"nothing is known yet in {buckets.path}")


def bucket_named(text: str) -> tuple[str, Path]:
    """Return the name of the bucket that `text` means, and the folder of findings it lies in."""
    from rondo.findings.bucket import bucket_of_finding
    from rondo.findings.known import KnownError
    from rondo.findings.reproducer import SUFFIX, load

    path = Path(text)
    files = sorted(path.glob(f"*{SUFFIX}")) if os.path.isdir(path) else []
    if not files and not os.path.isfile(path):
        return path.name, path.parent if path.parent != Path() else Path("findings")
    names = {bucket_of_finding(load(file)).name for file in files or [path]}
    if len(names) > 1:
        raise KnownError(f"{path} holds {len(names)} buckets: give the file of one")
    (name,) = names
    holds = path.resolve() if files else path.resolve().parent
    return name, holds.parent if holds.name == name else holds
