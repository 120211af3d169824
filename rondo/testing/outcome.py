"""What a check found, and how a failure reads in a test report.

The key insight: whoever reads a failed test wants to paste something and run it. So the message is
one line of what is wrong and where the script is, and the plugin shows the script in a section of
its own, without the marks that pytest puts in front of a message's lines.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rondo.errors import RondoError

LONGEST_SCRIPT = 40
"""Lines of a failure's script. A longer one is kept in a file and its first lines are shown."""


@dataclass(frozen=True, slots=True)
class Found:
    """One finding: what it is, a script or the sequence in words, and where it is kept."""

    title: str
    verdict: str
    text: str
    runnable: bool
    path: str

    def brief(self) -> str:
        """Return the text, cut after LONGEST_SCRIPT lines."""
        lines = self.text.rstrip("\n").splitlines()
        if len(lines) <= LONGEST_SCRIPT:
            return "\n".join(lines)
        return "\n".join([*lines[: LONGEST_SCRIPT - 1], f"# ... the rest is in {self.path}"])


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check saw; `compiled` counts those of the behaviours that are compilations.

    `undecided` counts the sequences whose alarms it had no time to look into.
    """

    executions: int
    behaviours: int
    compiled: int
    findings: tuple[Found, ...] = ()
    undecided: int = 0

    def save(self, path: Path) -> None:
        """Write this for the process that asked."""
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Outcome:
        """Return what `save` wrote."""
        fields: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        findings = tuple(Found(**each) for each in fields.pop("findings"))
        return cls(**fields, findings=findings)


class NothingCompiledError(RondoError):
    """No sequence compiled anything, so a check has proved nothing."""

    slug = "nothing-compiled"

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(
            f"nothing was compiled in {outcome.executions} executions, so nothing was checked;"
            " is torch.compile switched off, or does the model refuse its example inputs?"
        )


class UndecidedWarning(UserWarning):
    """A check passed, but had no time to look into all its alarms."""


class StatefulError(AssertionError):
    """A call went wrong because of what the compiler kept. `outcome` has all that was found."""

    def __init__(self, outcome: Outcome) -> None:
        first = outcome.findings[0]
        more = len(outcome.findings) - 1
        title = first.title + (f" (and {more} more)" if more else "")
        super().__init__(f"{title}\n{'script' if first.runnable else 'kept in'}: {first.path}")
        self.outcome = outcome
