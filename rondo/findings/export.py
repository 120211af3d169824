"""A finding as a script of its own that imports the framework and nothing else.

The key insight: how a finding is best written down cannot be known, only tried. The adapter offers
layouts from the most readable to the most faithful; the first one whose script is a proof (see
`export_check`) is the result, and without one there is an error and no script.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rondo.errors import RondoError
from rondo.findings.export_check import check_script, check_test
from rondo.frameworks.base import Framework, Script, ScriptRequest
from rondo.oracle.result import Alarm
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary


class ExportError(RondoError):
    """A finding cannot be written as a script."""

    slug = "export"


@dataclass(frozen=True, slots=True)
class Exported:
    """A script that was seen to show the bug, and how it is laid out."""

    text: str
    layout: str
    compiler_off: Mapping[str, str] = field(default_factory=dict)
    """The environment in which the compiler does nothing, and the script shows nothing."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The environment in which it was seen to show the bug."""

    @property
    def lines(self) -> int:
        """How long it is."""
        return self.text.count("\n")


def export(request: ScriptRequest, framework: Framework, *, seconds: float = 120.0) -> Exported:
    """Return the most readable script that shows the bug. Raises ExportError if none does."""
    if not request.alarm.differences:
        raise ExportError("the finding says nothing of what differs")
    check = check_test if request.form == "test" else check_script
    tried: list[str] = []
    last: Script | None = None
    for script in framework.scripts(request):
        if last is not None and script.text == last.text:
            continue
        last = script
        reason = check(script, seconds=seconds)
        if not reason:
            return Exported(script.text, script.layout, script.compiler_off, script.environment)
        tried.append(f"{script.layout}: {reason}")
    if not tried:
        raise ExportError(f"{framework.name} has no way to write this finding as a script")
    raise ExportError(f"no script shows the bug; tried {len(tried)} layouts, last {tried[-1]}")


def request_of(
    sequence: Sequence,
    alarm: Alarm,
    vocabulary: Vocabulary,
    *,
    establishing: int | None = None,
    version: str = "",
    preludes: tuple[str, ...] = (),
) -> ScriptRequest:
    """Return what an adapter needs to write the script of an alarm."""
    return ScriptRequest(
        sequence,
        alarm,
        establishing,
        title_of(alarm, f"{vocabulary.framework} {version}".strip()),
        preludes,
    )


EFFECTS = {
    "value": "a wrong value",
    "dtype": "a wrong dtype",
    "shape": "a wrong shape",
    "metadata": "wrong metadata",
    "missing": "something missing",
    "exception": "an exception",
    "missing exception": "no exception",
}
VERDICTS = {
    "stateful": "a later call gives",
    "masked": "a fresh compile gives",
    "stateless": "a compiled call gives",
    "split": "a compiled call gives",
}


def title_of(alarm: Alarm, framework: str) -> str:
    """Return what a script says at its top: what goes wrong, and where it was seen."""
    identity = alarm.identity
    effect = EFFECTS.get(identity.effect, f"a wrong {identity.effect}")
    first = (
        f"{VERDICTS.get(identity.verdict, 'a compiled call gives')} {effect} ({identity.place})."
    )
    return f"{first[0].upper()}{first[1:]} {framework}, backend {identity.backend}."
