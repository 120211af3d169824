"""Handing a user's model over to another process: by name where it has one, else as a copy.

The key insight: pickle already knows how to say "that class in that module" and how to copy a
module with its weights; what it cannot know is where a test file lies that no import finds, so that
is written beside it. The file is private to this user, made and read within one check, and never
part of a reproducer.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import pickle
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from rondo.errors import SubjectError
from rondo.subjects.user import Shape, UserSubject, subject

FACTORY = "factory"


@dataclass(frozen=True, slots=True)
class Handover:
    """A model, its examples, and the module that must be importable: name and file."""

    pickled: bytes
    module: str
    file: str

    @classmethod
    def of(
        cls,
        model: Any,
        example_inputs: Sequence[Any],
        *,
        shapes: Sequence[Shape | None] | None = None,
        sizes: Mapping[str, Sequence[int]] | None = None,
        backends: tuple[str, ...] = (),
    ) -> Handover:
        """Return what another process needs to build `model`. Raises SubjectError."""
        build = _build_of(model)
        described = subject(build, *example_inputs, shapes=shapes, sizes=sizes, backends=backends)
        return cls.of_subject(described, origin=model)

    @classmethod
    def of_subject(cls, described: UserSubject, *, origin: Any = None) -> Handover:
        """Return what another process needs for a subject that a test file describes."""
        origin = described.build if origin is None else origin
        named = origin if hasattr(origin, "__qualname__") else type(origin)
        module = sys.modules.get(named.__module__)
        name = getattr(named, "__qualname__", str(named))
        if "<locals>" in name or "<lambda>" in name:
            raise SubjectError(
                f"{name} cannot be built in another process; define it at the top of a module"
            )
        if named.__module__ == "__main__" or module is None:
            raise SubjectError(f"{name} is defined in a script; define it in a module of its own")
        try:
            pickled = pickle.dumps(replace(described, origin=None))
        except Exception as error:
            raise SubjectError(f"{name} cannot be handed to another process: {error}") from None
        return cls(pickled, module.__name__, getattr(module, "__file__", None) or "")

    def write(self, folder: Path) -> str:
        """Write this into `folder`; return the subject's path, once `folder` is importable.

        A new name each time: a module is imported once per process.
        """
        name = f"rondo_handover_{secrets.token_hex(6)}"
        (folder / f"{name}.pickle").write_bytes(self.pickled)
        (folder / f"{name}.py").write_text(
            "from rondo.testing.handover import received\n\n\n"
            f"def {FACTORY}():\n"
            f"    return received(__file__, {self.module!r}, {self.file!r})\n"
        )
        return f"{name}:{FACTORY}"


def received(beside: str, module: str, file: str) -> UserSubject:
    """Return the subject that lies beside the module at `beside`; its module is imported first."""
    origin = _import(module, file)
    described = pickle.loads(Path(beside).with_suffix(".pickle").read_bytes())
    assert isinstance(described, UserSubject), type(described)
    return replace(described, origin=origin)


def _import(name: str, file: str) -> Any:
    """Import a module by its name, or from its file where no import finds it under that name."""
    if name in sys.modules:
        return sys.modules[name]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0] or not file:
            raise
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise SubjectError(f"{file} is not a Python file")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


def _build_of(model: Any) -> Callable[[], Any]:
    """Return what builds `model` anew. Raises SubjectError."""
    if inspect.isclass(model) or (inspect.isroutine(model) and not _needs_arguments(model)):
        built: Callable[[], Any] = model
        return built
    if inspect.isroutine(model):
        return partial(_the_same, model)
    if not callable(model):
        raise SubjectError(f"a {type(model).__name__} is no model: nothing to call")
    try:
        return partial(pickle.loads, pickle.dumps(model))
    except Exception as error:
        raise SubjectError(f"the model cannot be copied: {error}; pass its class") from None


def _needs_arguments(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:
        return False
    return False


def _the_same(function: Any) -> Any:
    return function
