"""What is kept of an exception's message: one line that says something."""

from __future__ import annotations

import pytest

from rondo.frameworks.shared.labels import first_line


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("", ""),
        ("\n  no such thing \nSet VERBOSE=1 for more\n", "no such thing"),
        (
            "backend='aot_eager' raised:\nAssertionError: not yet\n\nSet VERBOSE=1",
            "backend='aot_eager' raised: AssertionError: not yet",
        ),
        ("failed:\n\nbecause:\n of this\nand that", "failed: because: of this"),
        ("nothing follows:", "nothing follows:"),
        ("x" * 300, "x" * 200),
    ],
)
def test_a_message_is_one_line(message: str, line: str) -> None:
    assert first_line(ValueError(message)) == line
