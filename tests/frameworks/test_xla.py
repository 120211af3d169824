"""XLA's flags: set before it reads them, and a user's own choice is kept."""

from __future__ import annotations

import os

import pytest

from rondo.frameworks.shared.xla import round_as_written


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", "--xla_allow_excess_precision=false"),
        ("--xla_dump_to=x", "--xla_dump_to=x --xla_allow_excess_precision=false"),
        ("--xla_allow_excess_precision=true", "--xla_allow_excess_precision=true"),
    ],
)
def test_what_the_user_has_not_decided_is_added(
    given: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XLA_FLAGS", given)
    for _ in range(2):
        round_as_written()
        assert os.environ["XLA_FLAGS"] == expected
