"""`rondo corpus`."""

from __future__ import annotations

from pathlib import Path

import click

from rondo.commands._options import FRAMEWORK, PRELOAD, SUBJECT, timeout_option
from rondo.errors import EXIT_OK

FOLDER = click.argument("folder", type=click.Path(path_type=Path))


@click.group("corpus")
def command() -> None:
    """Look at a corpus, or make it smaller."""


@command.command("show")
@FOLDER
@FRAMEWORK
@SUBJECT
def corpus_show(folder: Path, framework: str, subject: str) -> None:
    """Print every sequence in FOLDER, its name and its steps. Nothing of it is run."""
    from rondo.campaign.corpora import check_folders, framework_folder
    from rondo.campaign.loading import load_vocabulary
    from rondo.commands.show import decoded_lines
    from rondo.search.corpus import Corpus
    from rondo.sequences.step import describe

    check_folders((folder,))  # before the framework is imported, which takes seconds
    vocabulary = load_vocabulary(framework, subject)
    for entry in Corpus(framework_folder(folder, vocabulary.framework), vocabulary):
        click.echo(f"{entry.name}  {len(entry.data)} bytes")
        for line in decoded_lines(describe(entry.sequence, vocabulary)):
            click.echo(f"  {line}")


@command.command("stats")
@FOLDER
@FRAMEWORK
@SUBJECT
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def corpus_stats(folder: Path, framework: str, subject: str, as_json: bool) -> None:
    """Tell what the sequences in FOLDER are made of. Nothing of it is run."""
    import json

    from rondo.campaign.corpora import check_folders, composition, framework_folder
    from rondo.campaign.loading import load_vocabulary
    from rondo.search.corpus import Corpus

    check_folders((folder,))  # before the framework is imported, which takes seconds
    vocabulary = load_vocabulary(framework, subject)
    figures = composition(Corpus(framework_folder(folder, vocabulary.framework), vocabulary))
    if as_json:
        click.echo(json.dumps(figures))
        return
    for name, value in figures.items():
        shown = str(value)
        if isinstance(value, dict):
            shown = ", ".join(f"{key} {count}" for key, count in value.items()) or "none"
        click.echo(f"{name + ':':<16} {shown}")


@command.command("minimise")
@FOLDER
@click.option("--out", type=click.Path(path_type=Path), help="Copy there and leave FOLDER alone.")
@click.option("--workers", default=1, show_default=True, type=click.IntRange(1, 64))
@timeout_option("Seconds a sequence may take.", default=60.0)
@FRAMEWORK
@PRELOAD
@SUBJECT
def corpus_minimise(
    folder: Path,
    out: Path | None,
    workers: int,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
) -> int:
    """Keep the fewest, smallest sequences of FOLDER that show all its behaviours; drop the others.

    Every sequence runs in a process of its own. Those that raise an alarm are dropped too: they
    belong to findings.
    """
    from rondo.campaign.corpora import keep_only
    from rondo.campaign.merging import smallest_cover
    from rondo.campaign.stop import Stop, StoppedError

    stop = Stop()
    try:
        with stop.listening():
            merged = smallest_cover(
                folder,
                framework=framework,
                stop=stop,
                preloads=preloads,
                subject=subject,
                seconds=timeout,
                workers=workers,
            )
    except StoppedError:
        click.echo("interrupted; nothing was changed", err=True)
        return 128 + stop.signal
    keep_only(merged.kept, folder, framework, out)
    left_out = f"; {merged.alarming} with an alarm were left out" if merged.alarming else ""
    click.echo(
        f"{len(merged.kept)} of {merged.entries} sequences show all"
        f" {merged.behaviours} behaviours{left_out}"
    )
    return EXIT_OK
