"""Drafts of writers that are gone are taken away, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rondo.campaign.artifacts import Artifacts
from rondo.drafts import draft_of, sweep, temporary_folder
from rondo.findings.reproducer import write_atomically

LEAVE = """
import sys
from pathlib import Path
from rondo.drafts import draft_of
print(draft_of(Path(sys.argv[1])))
"""


def test_only_drafts_of_the_dead_go(tmp_path: Path) -> None:
    kept = tmp_path / "unconfirmed" / "a.txt"
    write_atomically(kept, b"note")
    command = [sys.executable, "-c", LEAVE, str(kept)]
    name = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    dead, living = Path(name), draft_of(kept)
    host = dead.name.split(".")[-2].partition("-")[0]
    foreign = dead.with_name(dead.name.replace(host, "0" * 8))
    other = kept.with_name(".hidden")
    made_up = dead.with_name(f".x.{host}-{10**30}.00000000")
    above = tmp_path / dead.name
    for path in (dead, living, foreign, other, made_up, above):
        path.write_bytes(b"half")
    Artifacts(tmp_path)
    assert not above.exists()
    assert {*kept.parent.iterdir()} == {kept, living, foreign, other}
    assert sweep(tmp_path) == 0


def test_temporary_folders_of_the_dead_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    make = "from rondo.drafts import temporary_folder; print(temporary_folder())"
    command = [sys.executable, "-c", make]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    dead = Path(done.stdout.strip())
    (dead / "caches").mkdir()
    ours = temporary_folder()
    other = tmp_path / dead.name.replace(dead.name.split("-")[1], "0" * 8)
    other.mkdir()
    assert not dead.exists()
    again = temporary_folder()
    assert {*tmp_path.iterdir()} == {ours, other, again}
