"""How far the campaigns of a folder are, from the figures that they wrote."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rondo.campaign.figures import COLUMNS, last_figures
from rondo.campaign.folder import STATS, is_running, members_of
from rondo.errors import CampaignError

ADDED = ("executions", "findings", "alarms", "flaky")
"""Figures that add up over members; the others overlap."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One member's last figures."""

    member: str
    running: bool
    figures: dict[str, Any]

    def as_data(self) -> dict[str, Any]:
        """Return this as plain data."""
        return {"member": self.member, "running": self.running, **self.figures}

    @staticmethod
    def table(standings: list[Standing]) -> list[str]:
        """Return a line for each, under a head line."""
        head = f"{'member':<8}{'state':<10}{'seconds':>9}"
        lines = [head + "".join(f"{name:>12}" for name in COLUMNS)]
        for each in standings:
            state = "running" if each.running else "ended"
            seconds = each.figures.get("seconds", 0)
            row = f"{each.member:<8}{state:<10}{seconds:>9.0f}"
            lines.append(row + "".join(f"{each.figures.get(name, 0):>12}" for name in COLUMNS))
        return lines


def standings(campaign: Path) -> list[Standing]:
    """Return where each member of `campaign` stands. Raises CampaignError when there is none."""
    found = [
        Standing(folder.name, is_running(folder), last_figures(folder / STATS))
        for folder in members_of(campaign)
    ]
    if not found:
        raise CampaignError(
            f"{campaign} holds no campaign; they are made with --campaign={campaign}"
        )
    return found


def totals(standings: list[Standing]) -> dict[str, int]:
    """Return what all members did together."""
    return {name: sum(int(each.figures.get(name, 0)) for each in standings) for name in ADDED}
