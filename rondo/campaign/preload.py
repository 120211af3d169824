"""--preload: the user's own Python, run before anything compiles.

A preloaded file is a module like any other and stays in `sys.modules`: operators that it registers,
classes that are looked up by module name and sources that a compiler asks for must be found later.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import traceback
from collections.abc import Iterable

from rondo.errors import PreloadError


def check_preloads(paths: Iterable[str]) -> None:
    """Raise PreloadError unless every path is a readable file."""
    for path in paths:
        if not os.path.isfile(path) or not os.access(path, os.R_OK):
            raise PreloadError(f"--preload {path} is not a readable file")


def run_preloads(paths: Iterable[str]) -> None:
    """Run the files in order. Raises PreloadError with the line at fault."""
    for number, path in enumerate(paths):
        name = f"rondo_preload_{number}"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise PreloadError(f"--preload {path} is not a Python file (*.py)")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except SystemExit as error:
            raise PreloadError(f"--preload {path} called sys.exit({error.code!r})") from None
        except Exception as error:
            raise PreloadError(f"--preload {path}{_line(error, path)}: {_said(error)}") from None


def _line(error: Exception, path: str) -> str:
    if isinstance(error, SyntaxError):
        return f", line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if frame.filename == path]
    return f", line {own[-1]}" if own else ""


def _said(error: Exception) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return " ".join(f"{type(error).__name__}: {text}".split())
