"""Options that several commands share: one wording each."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def _known_framework(_context: click.Context, _option: click.Parameter, name: str) -> str:
    """Return the name, of Rondo's adapters or MODULE:NAME. Raises UnknownFrameworkError."""
    if name != "torch" and ":" not in name:
        from rondo.errors import UnknownFrameworkError
        from rondo.frameworks.registry import ADAPTERS

        if name not in ADAPTERS:
            raise UnknownFrameworkError(name, sorted(ADAPTERS))
    return name


class _Seconds(click.types.FloatParamType):
    """A time to wait: finite and more than nothing. `float` takes nan, which never passes."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        seconds: float = super().convert(value, param, ctx)
        if not (math.isfinite(seconds) and seconds > 0):
            self.fail(f"{value!r} is no number of seconds above 0.", param, ctx)
        return seconds


class _Finding(click.Path):
    """A reproducer or a sequence; a bucket's folder stands for its finding."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        path = Path(os.fsdecode(super().convert(value, param, ctx)))
        return sole_reproducer(path) if os.path.isdir(path) else path


def sole_reproducer(folder: Path) -> Path:
    """Return the finding of a bucket's `folder`, or the one reproducer of another.

    What `rondo shrink` makes of a finding may lie beside it. Raises ReproducerError.
    """
    from rondo.campaign.artifacts import REPRODUCER
    from rondo.errors import ReproducerError
    from rondo.findings.reproducer import SUFFIX

    files = sorted(folder.glob(f"*{SUFFIX}"))
    if folder / REPRODUCER in files:
        return folder / REPRODUCER
    if len(files) != 1:
        holds = f"{len(files)} reproducers: give one" if files else "no reproducer"
        raise ReproducerError(f"{folder} holds {holds}")
    return files[0]


FINDING = click.argument("file", type=_Finding())


def timeout_option(
    help_text: str, *, default: float = 120.0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option `--timeout`: how long one run of a command may take, in seconds."""
    return click.option(
        "--timeout", type=_Seconds(), default=default, show_default=True, help=help_text
    )


FRAMEWORK = click.option(
    "--framework",
    default="torch",
    show_default=True,
    callback=_known_framework,
    help="Whose compiler it is about, unless a reproducer says so.",
)
PRELOAD = click.option(
    "--preload",
    "preloads",
    multiple=True,
    metavar="FILE.py",
    help="Python to run first; may be given several times.",
)
SUBJECT = click.option("--subject", default="", help="Your own model, as package.module:factory.")
DEVICE = click.option(
    "--device",
    default="",
    metavar="NAME",
    help="Where subjects live: cpu, cuda, auto.  [where the finding was made]",
)


def note_missing_preloads(file: Path, preloads: tuple[str, ...], framework: str) -> None:
    """Say on standard error which preloads `file` was made with and that are not given.

    Without them the subject may be another, so that "the bug does not show" would mislead.
    """
    from contextlib import suppress

    from rondo.errors import RondoError
    from rondo.findings.replay import missing_preloads, read

    with suppress(RondoError):  # whatever is wrong with the file, the command itself will say
        for name in missing_preloads(read(file, framework=framework), preloads):
            text = f"note: it was made with --preload {name}, which was not given"
            click.echo(text, err=True)


KNOWN_FILE = click.option(
    "--file",
    "known_file",
    type=click.Path(path_type=Path),
    help="The list of known buckets.  [known.json in the folder of findings]",
)
