"""Which compiled code serves a call, watched while it runs, and what its trace relied on.

The key insight: the order of a frame's entries says which one was used last, and not that it was
used now: a call that compiled anew, raised while it compiled, or ran eagerly at the recompile limit
leaves an entry in front that had no part in it. Compiled code is Python code that the interpreter
runs, so a profiling hook sees it start, whatever became of the call.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

import torch
from torch._C._dynamo import eval_frame
from torch._dynamo.eval_frame import skip_code
from torch._guards import CompileContext
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from rondo.frameworks.torch import guards

Scope = Mapping[str, Mapping[str, Any]]
"""`L` and `G` of a frame: what Dynamo's guards are written over."""

COMPILER = os.path.dirname(torch.__file__) + os.sep


@dataclass(frozen=True, slots=True)
class Served:
    """An entry whose code ran, and what its frame was given."""

    name: str
    entry: Any
    held: bool = True
    """Whether its guards held as it started; true of one that was compiled for this call."""
    scope: Scope = field(default_factory=dict)


def scope_of(frame: FrameType) -> Scope:
    """Return the locals and globals of a frame as they are now."""
    return {"L": dict(frame.f_locals), "G": frame.f_globals}


def name_of(code: CodeType, entry: Any) -> str:
    """Return what an entry is called: its frame's function and its compile id."""
    return f"{code.co_name} {entry.compile_id}"


def entries_by_code() -> dict[int, tuple[str, Any]]:
    """Return every entry that there is, with its name, by the identity of its code."""
    return {
        id(entry.code): (name_of(code, entry), entry)
        for code in guards.live_codes()
        # The one used last comes first; of entries that share their code the oldest has the guards.
        for entry in guards.entries_of(code)
    }


def holds(entry: Any, scope: Scope) -> bool:
    """Whether all guards of an entry hold, asked as Dynamo asks them: with itself out of the way.

    Some guards are Python functions; with Dynamo in front they would be compiled, or refused. And
    all guards are asked, also where the call in progress is to ask but a part of them.
    """
    callback = eval_frame.set_eval_frame(None)
    skips = eval_frame.set_skip_guard_eval_unsafe(False)
    try:
        return bool(entry.guard_manager.check(scope["L"]))
    except Exception:
        return False  # a guard that cannot be asked; raised here it would end the watching
    finally:
        eval_frame.set_skip_guard_eval_unsafe(skips)
        eval_frame.set_eval_frame(callback)


class Serving:
    """Watches one call, in whatever thread it is made."""

    def __init__(self) -> None:
        self._known = entries_by_code()
        self._ran: dict[int, tuple[CodeType, bool, Scope]] = {}

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the code that runs within."""
        before = sys.getprofile()
        sys.setprofile(self._started)
        threading.setprofile(self._started)
        try:
            yield
        finally:
            threading.setprofile(None)
            sys.setprofile(before)

    def _started(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or id(code) in self._ran:
            return
        if id(code) in self._known:
            _, entry = self._known[id(code)]
            scope = scope_of(frame)
            self._ran[id(code)] = (code, holds(entry, scope), scope)
        else:
            # Most of what runs here is the compiler; what that holds is not to be kept alive.
            inside = code.co_filename.startswith(COMPILER)
            self._ran[id(code)] = (code, True, {} if inside else scope_of(frame))

    def served(self) -> tuple[Served, ...]:
        """Return the entries that ran, outermost frame first; none where no compiled code did."""
        anew = entries_by_code()
        found = []
        for identity, (_, held, scope) in self._ran.items():
            # The codes are kept, so that an identity still is that of the code which ran.
            named = self._known.get(identity) or anew.get(identity)
            if named is not None:
                found.append(Served(*named, held=held, scope=scope))
        return tuple(found)


for function in (scope_of, holds, Serving._started):
    # Dynamo is in front of every frame, the hook's own too: left to it, they would be compiled, or
    # refused, which ends the watching. So the hook calls no other function of Python.
    skip_code(function.__code__)


class Relations:
    """What traces recorded of symbolic sizes and numbers, by compile id, as Dynamo's own texts."""

    def __init__(self) -> None:
        self._recorded: dict[str, tuple[str, ...]] = {}

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Note what every trace within asks to be guarded."""
        produce = ShapeEnv.produce_guards_verbose

        def noted(shapes: ShapeEnv, *arguments: Any, **named: Any) -> Any:
            produced = produce(shapes, *arguments, **named)
            number = CompileContext.current_compile_id()
            if produced and number is not None:
                self._recorded[str(number)] = tuple(map(str, produced[0].exprs))
            return produced

        with patch.object(ShapeEnv, "produce_guards_verbose", noted):
            yield

    def broken(self, served: Served) -> list[str]:
        """Return the relations that the trace of an entry relied on and that do not hold now."""
        recorded = self._recorded.get(str(served.entry.compile_id), ())
        return [text for text in recorded if _is_false(text, served.scope)]


def _is_false(text: str, scope: Scope) -> bool:
    """Whether a relation in Dynamo's own words, over the frame that it guards, does not hold."""
    try:
        return not eval(text, {"__builtins__": {}}, {"L": scope.get("L", {})})
    except Exception:
        return False
