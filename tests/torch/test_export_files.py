"""Bugs that campaigns found become scripts and tests that show them, in processes of their own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch

from rondo.campaign.exporting import export_file
from rondo.campaign.locating import locate_file
from rondo.findings.export_check import run_script

FOUND = Path(__file__).parents[2] / "bench" / "bugs" / "torch"
BUILTIN = FOUND / "builtin_shadowed" / "reproducer.rondo"
SECONDS = 300.0

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not torch.__version__.startswith("2.13."), reason="bugs come and go"),
]


def test_a_finding_becomes_a_short_script_that_shows_it() -> None:
    exported = export_file(BUILTIN, seconds=SECONDS)
    assert exported.lines <= 40
    assert "rondo" not in exported.text
    assert ast.get_docstring(ast.parse(exported.text))
    ran = run_script(exported.text, seconds=SECONDS, environment=exported.environment)
    assert ran.shows, ran


def test_a_finding_becomes_a_test_that_fails_as_expected() -> None:
    exported = export_file(BUILTIN, seconds=SECONDS, form="test")
    assert "@pytest.mark.xfail(" in exported.text
    assert "strict=True, raises=AssertionError" in exported.text


def test_a_finding_is_located() -> None:
    located = locate_file(BUILTIN, seconds=SECONDS).located
    assert located.layer == "dynamo-guards"
    assert located.cure == ("compiled code",)
    assert [touched.path for touched in located.unguarded] == ["builtin_name.abs"]
    assert (located.establishing, located.exposing) == (0, 2)
