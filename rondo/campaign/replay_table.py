"""How a replay is shown: a table of the arms step by step, or one JSON object."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table
from rich.text import Text

from rondo.campaign.deaths import DIED
from rondo.campaign.replaying import Replayed
from rondo.oracle.result import Alarm, StepReport

LOG_WIDTH = 160
"""Columns where there is no terminal to ask."""


def print_table(replayed: Replayed) -> None:
    """Print what was run, the arms of every step, what differs, and the conclusion."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)
    console.print(headline(replayed))
    console.print(steps_table(replayed))
    for alarm in replayed.result.alarms:
        console.print(Text(f"step {alarm.step}: {alarm.identity}", style="bold"))
        console.print(differences_table(alarm))
    for name in replayed.missing_preloads:
        console.print(f"note: it was made with --preload {name}, which was not given")
    console.print(conclusion(replayed))


def headline(replayed: Replayed) -> str:
    """Return the subject and the options that are not the usual ones, in one line."""
    decoded = replayed.decoded
    subject = " + ".join([decoded["architecture"], *decoded["constructs"]])
    options = ", ".join(f"{name}={value}" for name, value in decoded["options"].items())
    return f"{decoded['framework']}: {subject}, seed {decoded['seed']}; {options}"


def steps_table(replayed: Replayed) -> Table:
    """Return a row for each step: the digest of what each arm showed, and the verdict."""
    table = Table("", "step", "eager", "retained", "reset", "verdict", box=None, pad_edge=False)
    died = replayed.result.verdict == DIED
    for number, step in enumerate(rows(replayed)):
        alarmed = any(alarm.step == number for alarm in replayed.result.alarms)
        style = "bold red" if alarmed else ""
        verdict = f"{step.verdict} {step.note}".strip()
        told = "died here" if alarmed and died else verdict
        arms = (step.eager[:8], step.retained[:8], step.reset[:8])
        table.add_row(str(number), step.text, *arms, told, style=style)
    return table


def rows(replayed: Replayed) -> tuple[StepReport, ...]:
    """Return the steps as the arms saw them; those of a dead worker without what it saw."""
    seen = replayed.result.steps
    return seen or tuple(StepReport(text, "") for text in replayed.decoded["steps"])


def differences_table(alarm: Alarm) -> Table:
    """Return a row for each path that differs: what each arm holds there."""
    table = Table("path", "eager", "retained", "reset", box=None, pad_edge=False)
    for difference in alarm.differences:
        table.add_row(difference.path, difference.eager, difference.retained, difference.reset)
    return table


def conclusion(replayed: Replayed) -> Text:
    """Return the last line: does the bug show?"""
    expected = replayed.replayable.reproducer
    if replayed.alarm is not None:
        return Text("the bug shows", style="bold red")
    if expected is None or not replayed.result.alarms:
        return Text(f"no bug shows ({replayed.result.verdict})", style="bold green")
    return Text(f"another bug shows, not the recorded one ({expected.identity})", style="yellow")


def print_json(replayed: Replayed) -> None:
    """Print the same as one JSON object."""
    recorded = replayed.replayable.reproducer
    json.dump(
        {
            "file": str(replayed.file),
            "shows": replayed.alarm is not None,
            "expected": asdict(recorded.identity) if recorded else None,
            "verdict": replayed.result.verdict,
            "decoded": replayed.decoded,
            "steps": [asdict(step) for step in rows(replayed)],
            "alarms": [asdict(alarm) for alarm in replayed.result.alarms],
            "missing_preloads": list(replayed.missing_preloads),
        },
        sys.stdout,
    )
    print()
