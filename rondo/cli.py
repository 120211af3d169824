"""The command `rondo`.

The key insight: help must be instant, so this file imports click and nothing else; each command
imports what it needs when it runs. Every error that is the user's to mend is one line and an exit
code, here and nowhere else.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rondo import __version__
from rondo.errors import EXIT_BAD_INPUT, EXIT_BUG, EXIT_OK, RondoError

if TYPE_CHECKING:
    from rondo.sequences.vocabulary import Vocabulary

FRAMEWORK = click.option(
    "--framework", default="torch", show_default=True, help="Whose compiler it is about."
)
PRELOAD = click.option(
    "--preload",
    "preloads",
    multiple=True,
    metavar="FILE.py",
    help="Python to run first; may be given several times.",
)


class CoverageError(RondoError):
    """A campaign's line coverage cannot be reported."""

    slug = "coverage"


class _Group(click.Group):
    """Turns Rondo's errors into one line, whatever command raises them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except RondoError as error:
            click.echo(f"error: {error}", err=True)
            ctx.exit(error.exit_code)

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run, but tell a wrong command line in one line too."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except click.ClickException as error:
            click.echo(f"error: {error.format_message()}", err=True)
            code = EXIT_BAD_INPUT
        except click.Abort:
            click.echo("error: interrupted", err=True)
            code = 130
        sys.exit(code or EXIT_OK)


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rondo")
def main() -> None:
    """Rondo: a stateful fuzzer for deep learning compilers.

    It runs one program several times while the program and the compiler change under it, and
    compares what the compiler kept with what it would say afresh.
    """


@main.command(
    context_settings={"ignore_unknown_options": True, "help_option_names": []},
    add_help_option=False,
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def fuzz(arguments: tuple[str, ...]) -> int:
    """Search for bugs. The same as python -m rondo.fuzz; -help=1 lists its flags."""
    from rondo.fuzz import main as run

    return run(list(arguments))


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds it may take.")
@FRAMEWORK
@PRELOAD
@click.option("--subject", default="", help="Your own model, as package.module:factory.")
def replay(
    file: Path,
    as_json: bool,
    timeout: float,
    framework: str,
    preloads: tuple[str, ...],
    subject: str,
) -> int:
    """Run a reproducer, or a plain .seq file, in a fresh process and compare the arms.

    Exit code 1: the bug shows. 0: it does not. 2: the file cannot be used.
    """
    from rondo.campaign.replay_table import print_json, print_table
    from rondo.campaign.replaying import replay_file

    replayed = replay_file(
        file, framework=framework, preloads=preloads, subject=subject, seconds=timeout
    )
    (print_json if as_json else print_table)(replayed)
    return EXIT_BUG if replayed.alarm is not None else EXIT_OK


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@FRAMEWORK
def show(file: Path, framework: str) -> None:
    """Print what a reproducer or a .seq file says. Nothing of it is run."""
    from rondo.campaign.loading import load
    from rondo.findings.replay import check_vocabulary, read
    from rondo.sequences.codec import decode
    from rondo.sequences.step import describe

    replayable = read(file, framework=framework)
    recorded = replayable.reproducer
    if recorded is not None:
        decoded = recorded.decoded
    else:
        vocabulary = load(framework).vocabulary()
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


@main.command("list")
@click.argument("what", type=click.Choice(["architectures", "constructs", "steps"]))
@FRAMEWORK
def list_(what: str, framework: str) -> None:
    """List what sequences are made of, one line each."""
    from rondo.campaign.loading import load

    vocabulary = load(framework).vocabulary()
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


@main.group()
def coverage() -> None:
    """Report which of the compiler's lines a campaign reached."""


@coverage.command("html")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where the pages go.  [FOLDER/coverage/html]"
)
def coverage_html(folder: Path, out: Path | None) -> None:
    """Write coverage.py's HTML report of the campaign in FOLDER."""
    from rondo.report.coverage import write_html

    out = out or folder / "coverage" / "html"
    try:
        figures = write_html(folder, out)
    except OSError as error:
        raise CoverageError(str(error)) from None
    click.echo(figures[-1])
    click.echo(f"open {out / 'index.html'}")
