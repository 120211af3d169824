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

    BUCKET is a bucket's folder, a reproducer, or a name that `rondo triage` shows. Without --file
    the list is known.json in the folder of findings that holds it; a name alone is looked for in
    ./findings. A reproducer that lies in no bucket's folder is noted beside it.
    """
    from rondo.findings.known import FILE, KnownBuckets, KnownError, check_note

    name, folder = bucket_named(bucket)
    buckets = KnownBuckets(known_file or folder / FILE)
    check_note(name, url)
    # Nothing is read from a file here but the name: where no finding is, no triage would look.
    if known_file is None and not os.path.exists(bucket) and not os.path.isdir(folder / name):
        raise KnownError(f"{folder} holds no {name}: give its folder, or a list with --file")
    known = buckets.add(name, url, status="documented" if documented else "known")
    click.echo(f"{name} is {known.status} from {known.url}; noted in {buckets.path}")


@command.command("remove")
@click.argument("bucket")
@KNOWN_FILE
def remove(bucket: str, known_file: Path | None) -> None:
    """Take back that BUCKET is known: it is new again. BUCKET and the list are as for add."""
    from rondo.findings.known import FILE, KnownBuckets

    name, folder = bucket_named(bucket)
    buckets = KnownBuckets(known_file or folder / FILE)
    taken = buckets.remove(name)
    click.echo(f"{name} was {taken.status} from {taken.url}; no longer noted in {buckets.path}")


@command.command("list")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("findings"))
@KNOWN_FILE
def list_(folder: Path, known_file: Path | None) -> None:
    """List the known buckets below FOLDER, findings/ unless told otherwise."""
    from rondo.findings.known import known_below
    from rondo.findings.overview import check_findings

    if known_file is None:
        check_findings(folder)
    buckets = known_below(folder, known_file)
    for name, known in sorted(buckets.items()):
        click.echo(f"{known.status:<10}  {known.added:<10}  {name}  {known.url}")
    if not buckets:
        click.echo(f"nothing is known yet in {known_file or folder}")


def bucket_named(text: str) -> tuple[str, Path]:
    """Return the name of the bucket that `text` means, and the folder of findings it lies in."""
    from rondo.findings.bucket import bucket_of_finding
    from rondo.findings.known import KnownError
    from rondo.findings.reproducer import SUFFIX, load

    path = Path(text)
    files = sorted(path.glob(f"*{SUFFIX}")) if os.path.isdir(path) else []
    if not files and not os.path.isfile(path):
        if os.path.isdir(path):
            raise KnownError(f"{path} holds no reproducer")
        if path.suffix == SUFFIX:
            raise KnownError(f"there is no file {path}")
        return path.name, path.parent if path.parent != Path() else Path("findings")
    names = {bucket_of_finding(load(file)).name for file in files or [path]}
    if len(names) > 1:
        raise KnownError(f"{path} holds {len(names)} buckets: give the file of one")
    (name,) = names
    holds = path.resolve() if files else path.resolve().parent
    return name, holds.parent if holds.name == name else holds
