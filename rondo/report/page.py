"""From a report to one HTML page: self-contained, without network, readable on a phone.

The key insight: a page outlives the machine that made it. Everything is in the one file - style,
charts, scripts - and the only link that leaves it is the relative one to coverage.py's pages. All
texts of a reproducer are foreign, so the template escapes everything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import rondo
from rondo.findings.reproducer import write_atomically
from rondo.oracle.audit import run_audit
from rondo.oracle.result import StepReport
from rondo.report.collect import CURVES, Finding, Report
from rondo.report.plot import growth_chart, short_number

USUAL_OPTIONS = {
    "mode": "default",
    "dynamic": "auto",
    "fullgraph": "no",
    "cache": "memory",
}
READABLE = 0o644
DIGEST = 8
"""Characters of a digest that are shown: enough to see that two differ."""


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure of the summary."""

    name: str
    figure: str
    alarm: bool = False


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One step, and for each arm its name, what it showed and whether that differs from eager."""

    text: str
    verdict: str
    arms: tuple[tuple[str, str, bool], ...]
    exposing: bool


@dataclass(frozen=True, slots=True)
class Card:
    """A finding, its texts ready for the template."""

    name: str
    title: str
    brief: str
    reproducer: Any
    script: Any
    subject: str
    options: str
    length: str
    replay: str
    known: Any
    link: str
    rows: tuple[ArmRow, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """A report whose findings are cards: what the template reads."""

    folder: Path
    findings: tuple[Card, ...]
    behaviours: Any
    trees: Any
    environment: dict[str, str]


def render(report: Report, out: Path) -> str:
    """Return the page of `report`, which will lie at `out`."""
    environment = Environment(
        loader=PackageLoader("rondo.report", "."), autoescape=True, undefined=StrictUndefined
    )
    style = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    cards = tuple(_card(finding, report) for finding in report.findings)
    return environment.get_template("page.html").render(
        version=rondo.__version__,
        title=_title(report),
        subtitle=_subtitle(report),
        style=Markup(style),
        report=Shown(report.folder, cards, report.behaviours, report.trees, report.environment),
        tiles=list(_tiles(report)),
        charts=[
            {"title": CURVES[name].capitalize(), "plot": growth_chart(curves, label=CURVES[name])}
            for name, curves in report.curves.items()
        ],
        processes=max((len(curves) for curves in report.curves.values()), default=0),
        counted=any(tree.statements for tree in report.trees),
        coverage_link=_relative(report.coverage_pages, out),
        audit=_audit(),
        set_aside=", ".join(f"{count} {name}" for name, count in report.set_aside.items() if count),
    )


@cache
def _audit() -> str:
    """What the oracle says of itself; it takes a second, and is the same within a process."""
    return run_audit().summary


def write(report: Report, out: Path) -> None:
    """Write the page to `out`, whole or not at all. Raises ArtifactError."""
    write_atomically(out, render(report, out).encode())
    out.chmod(READABLE)  # a temporary file is its owner's alone; a page is there to be shown


def _title(report: Report) -> str:
    frameworks = {finding.reproducer.framework for finding in report.findings}
    frameworks |= {str(r.about["framework"]) for r in report.records if r.about.get("framework")}
    return f"Campaign on {', '.join(sorted(frameworks))}" if frameworks else "Campaign"


def _subtitle(report: Report) -> str:
    parts = []
    began = [r.about["began"] for r in report.records if isinstance(r.about.get("began"), int)]
    if began:
        parts.append(time.strftime("begun %Y-%m-%d %H:%M UTC", time.gmtime(min(began))))
    about = report.records[-1].about if report.records else {}
    parts += [f"{name} {about[name]}" for name in ("sampler", "seed", "subject") if about.get(name)]
    for name in ("backends", "preloads"):
        if about.get(name):
            parts.append(f"{name} {', '.join(map(str, about[name]))}")
    return "; ".join(parts)


def _tiles(report: Report) -> Iterator[Tile]:
    totals = report.totals
    yield Tile("findings", str(len(report.findings)), alarm=bool(report.findings))
    for name in ("executions", "behaviours"):
        if totals.get(name):
            yield Tile(name, short_number(totals[name]))
    if totals.get("lines"):
        yield Tile("lines reached", short_number(totals["lines"]))
    if totals.get("corpus"):
        yield Tile("in the corpus", short_number(totals["corpus"]))
    seconds = totals.get("seconds", 0)
    if seconds:
        yield Tile("of fuzzing", _duration(seconds))
        yield Tile("executions/s", f"{totals.get('executions', 0) / seconds:.1f}")


def _duration(seconds: float) -> str:
    """Return a time in the largest unit of which there are at least two."""
    minutes, hours = round(seconds / 60), round(seconds / 3600)
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 120 else f"{hours} h"


def _card(finding: Finding, report: Report) -> Card:
    found = finding.reproducer
    decoded = found.decoded
    constructs = decoded.get("constructs") or []
    options = decoded.get("options") or {}
    unusual = {
        name: value
        for name, value in options.items()
        if name != "backend" and USUAL_OPTIONS.get(name) != value
    }
    count = len(decoded.get("steps") or ())
    if found.minimal:
        length = f"{count} steps, none of which can go"
    else:
        length = f"{count} steps" + (f" ({found.reason})" if found.reason else "")
    return Card(
        name=finding.name,
        title=finding.title,
        brief=", ".join(
            filter(None, (found.identity.verdict, found.identity.backend, found.layer))
        ),
        reproducer=found,
        script=finding.script,
        subject=" + ".join([str(decoded.get("architecture", "?")), *map(str, constructs)]),
        options=", ".join(f"{name}={value}" for name, value in unusual.items()),
        length=length,
        replay=os.path.relpath(finding.path, report.folder),
        known=finding.known,
        link=_safe_link(finding.known.url) if finding.known else "",
        rows=tuple(_rows(found.steps, found.step)),
    )


def _safe_link(url: str) -> str:
    """Return a link to the web, and nothing for any other scheme: a list may come from others."""
    return url if urlsplit(url).scheme in ("http", "https") else ""


def _rows(steps: tuple[StepReport, ...], exposing: int) -> Iterator[ArmRow]:
    for position, step in enumerate(steps):
        shown = (("eager", step.eager), ("retained", step.retained), ("reset", step.reset))
        yield ArmRow(
            text=step.text,
            verdict=f"{step.verdict} {step.note}".strip(),
            arms=tuple(
                (arm, digest[:DIGEST], bool(digest) and digest != step.eager)
                for arm, digest in shown
            ),
            exposing=position == exposing,
        )


def _relative(page: Path | None, out: Path) -> str:
    return os.path.relpath(page, out.parent).replace(os.sep, "/") if page is not None else ""
