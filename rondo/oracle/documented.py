"""The table of documented limitations: what a compiler says it does not do, and where it says so.

The key insight: a limitation is told by its cause and never by a name. There are two kinds of
causes, and the table says which: a *refusal* is known by what was raised, together with the option
or step that asks for it; a *lifted* one by the difference going away under the setting that the
documentation names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rondo.frameworks.base import Framework

LINKS = re.compile(r"\s*\((https?://[^()]*(?:\([^()]*\)[^()]*)*)\)\s*$")


@dataclass(frozen=True, slots=True, order=True)
class Limitation:
    """One documented limitation: what it is, how it is recognised, where it is written."""

    kind: str
    cause: str
    link: str


def documented_rules(framework: Framework) -> tuple[Limitation, ...]:
    """Return every limitation that `framework` knows, refusals first."""
    refusals = [
        Limitation(each.kind, _raised(each.exceptions, each.message), each.link)
        for each in framework.refusals()
    ]
    lifted = []
    for ablation in framework.ablations():
        rule = ablation.rule
        found = LINKS.search(rule)
        kind, link = (rule[: found.start()], found.group(1)) if found else (rule, "")
        lifted.append(Limitation(kind, "the difference goes away under that setting", link))
    return (*refusals, *lifted)


def _raised(exceptions: frozenset[str], message: str) -> str:
    names = " or ".join(sorted(exceptions))
    return f"raises {names}" + (f": {message!r}" if message else "")
