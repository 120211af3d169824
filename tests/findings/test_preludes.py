"""What becomes of a preload in a script: kept as written, cut, or refused by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.errors import PreloadError
from rondo.findings.preludes import prelude_of

PLAIN = '''"""An operator of ours."""

from __future__ import annotations

import math

SCALE = 2.0  # measured


def double(value: float) -> float:
    return value * SCALE * math.pi
'''

DECLARING = '''"""A fault, and a declaration of it for a bench."""

from collections.abc import Callable
from rondo.sequences.writer import Writer
import json

EXPECTED = {"verdict": "stateful"}
FACTOR = 3

def write(on: Callable[..., Writer]) -> Writer:
    """For a bench."""
    return on("identity")

def twice(on: Callable[..., Writer]) -> list[Writer]:
    return [write(on), write(on)]

def install() -> None:
    """Break it."""
    print(json.dumps(FACTOR))

if __name__.startswith("rondo_preload"):
    install()
else:
    raise SystemExit("run me as a preload")
'''


def prelude(tmp_path: Path, text: str, number: int = 0) -> str:
    path = tmp_path / "preload.py"
    path.write_text(text)
    return prelude_of(str(path), number)


def ran(text: str, capsys: pytest.CaptureFixture[str]) -> str:
    exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    return capsys.readouterr().out


def test_a_file_of_the_users_own_is_kept_as_it_was_written(tmp_path: Path) -> None:
    kept = prelude(tmp_path, PLAIN)
    assert "SCALE = 2.0  # measured" in kept
    assert "from __future__" not in kept


def test_what_needs_rondo_and_is_not_needed_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = prelude(tmp_path, DECLARING)
    for gone in ("rondo", "Writer", "Callable", "write", "twice", "EXPECTED", "__name__"):
        assert gone not in cut
    assert ran(cut, capsys) == "3\n"


def test_an_if_over_the_modules_name_is_decided_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (
        "if __name__ == '__main__':\n    print('main')\nelif __name__[-1] == '1':\n    print(1)\n"
    )
    assert prelude(tmp_path, "if __name__ == '__main__':\n    print('main')\nx = 1\n") == "x = 1"
    assert prelude(tmp_path, text, 0) == ""
    assert ran(prelude(tmp_path, text, 1), capsys) == "1\n"
    kept = "if __name__ == other:\n    print(1)"
    assert prelude(tmp_path, f"other = 'x'\n{kept}\n").endswith(kept)


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("import rondo\nrondo.subject\n", 2, "rondo"),
        ("from rondo import subject\nMADE = subject(1)\n", 2, "subject"),
        ("import rondo\n\ndef helper():\n    return rondo.subject\n\nX = helper()\n", 6, "helper"),
        ("def helper():\n    import rondo.oracle\n\nhelper()\nimport rondo\n", 4, "helper"),
        ("import rondo\n\n@print\ndef taken():\n    return rondo\n", 4, "rondo"),
        ("import rondo\nclass A:\n    x = rondo\nclass B(A):\n    pass\nB()\n", 6, "B"),
    ],
)
def test_a_line_that_runs_and_needs_rondo_is_refused_by_name(
    tmp_path: Path, text: str, line: int, name: str
) -> None:
    with pytest.raises(PreloadError, match=rf"line {line} needs '{name}', which is Rondo's"):
        prelude(tmp_path, text)


def test_what_is_no_python_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(PreloadError, match="cannot be read as Python"):
        prelude(tmp_path, "def broken(:\n")
    with pytest.raises(PreloadError, match="No such file"):
        prelude_of(str(tmp_path / "missing.py"), 0)
