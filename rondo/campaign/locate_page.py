"""How a located fault is shown: a page to read, or one JSON object."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict

from rondo.campaign.locating import LocatedFile
from rondo.findings.locate import GUARDABLE, Located, Touched

WIDE = 96
SHOWN_GUARDS = 12


def print_page(found: LocatedFile) -> None:
    """Print the page."""
    for line in page_lines(found):
        print(line)


def page_lines(found: LocatedFile) -> Iterator[str]:
    """Yield the page line by line: conclusion first, then the evidence."""
    located = found.located
    yield f"{found.alarm.identity}"
    yield f"layer: {located.layer} ({located.why})"
    yield f"smallest cure: {' and '.join(located.cure) or 'none among the layers'}"
    yield f"back ends: {', '.join(f'{name} {outcome}' for name, outcome in located.ladder)}"
    yield ""
    yield from _steps(located)
    if located.inspection.entry or located.inspection.changed:
        yield ""
        yield from _difference(located)
    yield ""
    yield "experiments (dropped in front of the exposing call):"
    for trial in located.trials:
        yield f"  {' + '.join(trial.dropped):45} {trial.outcome}"


def _steps(located: Located) -> Iterator[str]:
    yield "steps:"
    for line in located.between:
        number = int(line.split()[0])
        note = ""
        if number == located.establishing:
            note = "   <- establishes"
        if number == located.exposing:
            note = "   <- exposes"
        yield f"  {line}{note}"


def _difference(located: Located) -> Iterator[str]:
    seen = located.inspection
    if seen.entry:
        first = "served by" if located.served else "compiled anew as"
        at = f", compiled at step {seen.compiled_at}" if located.served else ""
        held = "hold" if seen.held else "do not hold"
        yield f"{first} entry {seen.entry} of {seen.frame}{at}; its {seen.count} guards {held}"
    else:
        yield "no compiled code served the exposing call"
    for relation in seen.broken:
        yield f"its trace relied on {relation}, which does not hold"
    yield f"changed since step {seen.since}:"
    for touched in seen.changed:
        yield from _touched(touched, served=located.served)
    if not seen.changed:
        yield "  nothing that a forward can read"
    if not seen.entry:
        return
    yield f"guards on the program ({len(seen.guards)}):"
    for kind, text in located.telling_guards(SHOWN_GUARDS):
        yield f"  {kind:16} {text}"[:WIDE]
    if len(seen.guards) > SHOWN_GUARDS:
        yield f"  ... and {len(seen.guards) - SHOWN_GUARDS} more (--json)"


def _touched(touched: Touched, *, served: bool) -> Iterator[str]:
    same = touched.before == touched.after
    how = f"another {touched.after}" if same else f"{touched.before} -> {touched.after}"
    if touched.kind not in GUARDABLE:
        yield f"  {touched.path}: {touched.kind}"
    elif not served:
        yield f"  {touched.path}: {how}"
    elif not touched.guards:
        yield f"  {touched.path}: {how}   NO GUARD MENTIONS IT"
    else:
        yield f"  {touched.path}: {how}, guarded by"
        for text in touched.guards[:3]:
            yield f"    {text}"[:WIDE]


def print_json(found: LocatedFile) -> None:
    """Print the same as one JSON object."""
    located = asdict(found.located)
    located["unguarded"] = [asdict(touched) for touched in found.located.unguarded]
    json.dump(
        {
            "file": str(found.file),
            "decoded": found.decoded,
            "alarm": asdict(found.alarm),
            "located": located,
        },
        sys.stdout,
    )
    print()
