"""A node: a campaign in a folder of its own on some machine, and the courier that serves it.

The key insight: the campaign is the ordinary command in a process of its own. Whatever holds the
node - a Ray actor, a test - may be killed: the kernel then ends the campaign, which ends its server
and workers, and all that it had found until the last trade is in the store.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rondo.campaign.figures import last_figures
from rondo.campaign.folder import MEMBERS
from rondo.scale.courier import Courier, Trade

END_SECONDS = 30.0
"""How long a campaign may take to save everything."""


class Node:
    """Runs one campaign and trades for it."""

    def __init__(self, name: str, flags: list[str], seeds: dict[str, bytes], trade: Trade) -> None:
        """Start the campaign with `flags`, over `seeds` by file name."""
        self._base = Path(tempfile.mkdtemp(prefix="rondo-node-"))
        corpus = self._base / "seeds"
        corpus.mkdir()
        for file, content in seeds.items():
            (corpus / Path(file).name).write_bytes(content)
        self._campaign = self._base / "campaign"
        self._courier = Courier(name, self._campaign, trade)
        command = [sys.executable, "-m", "rondo.scale.child", str(os.getpid())]
        command += [f"--campaign={self._campaign}", str(corpus)]
        (self._base / "tmp").mkdir()
        with (self._base / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *flags],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                env={**os.environ, "TMPDIR": str(self._base / "tmp")},
            )

    def step(self) -> dict[str, Any]:
        """Trade once; return the campaign's last figures, and whether it is still running."""
        code = self._process.poll()
        self._courier.go()
        figures = last_figures(self._campaign / MEMBERS / "1" / "stats.jsonl")
        return {"running": code is None, "code": code, "said": self._last_words(), **figures}

    def _last_words(self) -> str:
        """Return its error; of a campaign that could not even tell one, its last line."""
        try:
            lines = (self._base / "log").read_text(errors="replace").splitlines()
        except OSError:
            return ""
        said = [line for line in reversed(lines) if line.strip()]
        errors = [line for line in said if line.startswith("error: ")]
        return next(iter(errors or said), "")

    def end(self) -> dict[str, Any]:
        """End the campaign, trade for the last time and remove its files."""
        self._process.terminate()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        try:
            return self.step()
        finally:
            shutil.rmtree(self._base, ignore_errors=True)
