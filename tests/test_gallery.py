"""The gallery says the same thing everywhere: in its folders, its table and its known buckets."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from rondo.findings.bucket import bucket_of_finding
from rondo.findings.reproducer import load

GALLERY = Path(__file__).parents[1] / "bench" / "bugs"
ENTRIES = {
    f"{path.parent.parent.name}/{path.parent.name}": tomllib.loads(path.read_text())
    for path in sorted(GALLERY.glob("*/*/bug.toml"))
}
KNOWN = json.loads((GALLERY / "known.json").read_text())["buckets"]
ROWS = [line for line in (GALLERY / "README.md").read_text().splitlines() if "/README.md)" in line]


def test_there_are_entries_and_a_row_for_each() -> None:
    assert len(ENTRIES) >= 50
    assert len(ROWS) == len(ENTRIES)


@pytest.mark.parametrize("name", ENTRIES)
def test_a_row_says_what_the_folder_says(name: str) -> None:
    entry = ENTRIES[name]
    (row,) = [row for row in ROWS if f"({name}/README.md)" in row]
    assert f"[{entry['title']}]" in row
    assert f"| {entry['layer']} |" in row
    assert all(f"{version}: {verdict}" in row for version, verdict in entry["verdicts"].items())
    status = f"[{entry['status']}]({entry['url']})" if "url" in entry else entry["status"]
    assert row.endswith(f"| {status} |")


@pytest.mark.parametrize("name", [n for n, e in ENTRIES.items() if "url" in e and "bucket" in e])
def test_what_has_a_report_is_a_known_bucket(name: str) -> None:
    entry = ENTRIES[name]
    noted = KNOWN[entry["bucket"]]
    assert noted["url"] == entry["url"]
    assert (noted["status"] == "documented") == (entry["status"] == "documented")


@pytest.mark.parametrize("name", [name for name, e in ENTRIES.items() if "sequence" in e])
def test_a_reproducer_is_what_its_folder_says(name: str) -> None:
    entry = ENTRIES[name]
    found = load(GALLERY / name / entry["sequence"])
    assert bucket_of_finding(found).name == entry["bucket"]
    assert found.layer in ("", entry["layer"]), "where it was located"


def test_every_entry_was_seen() -> None:
    assert [name for name, entry in ENTRIES.items() if not entry.get("verdicts")] == []


def test_what_is_new_is_no_known_bucket() -> None:
    assert not {e.get("bucket") for e in ENTRIES.values() if e["status"] == "new"} & KNOWN.keys()
