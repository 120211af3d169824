"""The live status on a terminal. Imported only when there is one: Rich takes a while to load."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from rondo.campaign.settings import Settings
from rondo.campaign.status import FindingNote, Snapshot, size_text

REDRAWS_PER_SECOND = 4


class LiveStatus:
    """A few lines at the bottom that are redrawn; findings and notes scroll by above them."""

    def __init__(self, settings: Settings, *, console: Console | None = None) -> None:
        self._settings = settings
        self._console = console or Console(stderr=True, highlight=False)
        self._snapshot: Snapshot | None = None
        self._doing = "starting"
        self._last_new = 0.0
        self._live = Live(
            console=self._console,
            get_renderable=self._render,
            refresh_per_second=REDRAWS_PER_SECOND,
            transient=True,
        )
        self._live.start()

    def event(self, name: str, snapshot: Snapshot) -> None:
        """Remember when something new was seen; the end is printed as a line that stays."""
        self._snapshot = snapshot
        if name == "NEW":
            self._last_new = snapshot.seconds
        elif name in ("INITED", "DONE"):
            self._console.print(snapshot.line(name))

    def update(self, snapshot: Snapshot, doing: str) -> None:
        """Take the figures that the next redraw shows."""
        self._snapshot = snapshot
        self._doing = doing

    def finding(self, note: FindingNote, snapshot: Snapshot) -> None:
        """Print the finding above the live lines."""
        self._snapshot = snapshot
        text = Text.assemble(
            ("FIND ", "bold red"), note.bucket, (f" ({note.size}) ", "dim"), note.path
        )
        self._console.print(text)

    def info(self, text: str) -> None:
        """Print a note above the live lines."""
        self._console.print(Text(text, style="dim"))

    def final(self, stats: Mapping[str, int | float]) -> None:
        """Print the final statistics below everything."""
        self.close()
        for name, value in stats.items():
            self._console.print(f"stat::{name + ':':<26} {value}")

    def close(self) -> None:
        """Take the live lines away."""
        self._live.stop()

    def _render(self) -> RenderableType:
        snapshot = self._snapshot
        if snapshot is None:
            return Text(self._doing)
        rows: list[RenderableType] = [self._figures(snapshot)]
        share = self._share(snapshot)
        if share is not None:
            rows.append(ProgressBar(total=1.0, completed=share, width=60))
        rows.append(Text(self._doing, style="dim"))
        return Group(*rows)

    def _figures(self, snapshot: Snapshot) -> Table:
        found = _listed(snapshot.findings_by_verdict, str) or "none"
        shares = _listed(snapshot.time_shares, lambda share: f"{share:.0%}") or "-"
        lines = str(snapshot.lines) if snapshot.lines else "not traced"
        figures = (
            ("elapsed", _clock(snapshot.seconds)),
            ("executions", f"{snapshot.executions} ({snapshot.rate:.1f}/s)"),
            ("behaviours", str(snapshot.behaviours)),
            ("last new", f"{_clock(snapshot.seconds - self._last_new)} ago"),
            ("corpus", f"{snapshot.corpus} ({size_text(snapshot.corpus_bytes)})"),
            ("lines", lines),
            ("findings", found),
            ("alarms", f"{snapshot.alarms}, {snapshot.flaky} flaky"),
            ("accepted", f"{snapshot.acceptance:.0%}"),
            ("time", shares),
            ("memory", f"{snapshot.resident_bytes >> 20} Mb"),
        )
        table = Table.grid(padding=(0, 2))
        for left, right in zip(figures[::2], (*figures[1::2], ("", "")), strict=False):
            table.add_row(
                Text(left[0], style="dim"), left[1], Text(right[0], style="dim"), right[1]
            )
        return table

    def _share(self, snapshot: Snapshot) -> float | None:
        """Return how much of the campaign is done, None without a limit."""
        shares = []
        if self._settings.total_seconds:
            seconds = snapshot.seconds - snapshot.earlier_seconds
            shares.append(seconds / self._settings.total_seconds)
        if self._settings.total_runs > 0:
            shares.append(snapshot.executions / self._settings.total_runs)
        return min(1.0, max(shares)) if shares else None


def _listed(values: Mapping[str, float] | None, show: Callable[[float], str]) -> str:
    return ", ".join(f"{name} {show(value)}" for name, value in (values or {}).items())


def _clock(seconds: float) -> str:
    whole = int(max(seconds, 0))
    return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
