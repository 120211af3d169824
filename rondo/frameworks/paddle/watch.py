"""Compile events as readable labels that are equal in every process.

What is watched, and where: translations of code objects (the one method that all of them pass), the
programs that are built (whole-graph capture, which bytecode capture uses for each graph that it
found), the programs that are run (Paddle's own hook for tests), and the reasons for graph breaks
(Paddle's own collector). A guard that did not hold is found as Paddle's log finds it, by evaluating
the parts of the guard's expression; only when something is translated anyway.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from paddle.jit.dy2static.pir_partial_program import PartialProgramLayer
from paddle.jit.dy2static.program_translator import ProgramCache
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache
from paddle.jit.sot.utils.envs import ENV_SOT_COLLECT_INFO
from paddle.jit.sot.utils.info_collector import InfoCollector, InfoType

from rondo.frameworks.base import CallEvents
from rondo.frameworks.paddle.statics import note_namespace, translations
from rondo.frameworks.shared.labels import bucket, scrub

SUFFIX = re.compile(r"_[0-9a-f]{4,}\b|@\w+|[0-9]+")
"""What is particular to one process in the names of generated functions."""

DIGITS = re.compile(r"\d+")

OBJECT = re.compile(r"__object_\d+(?:\(\))?")
"""How guards name an object that they compare with."""

STEPS = re.compile(r"^.*(?:\.\w+|\['[^']*'\]|\[\d+\])(?=\.\w+\(?|\[)")
"""The path to what a guard looks at, up to the last step of it."""


class Watcher:
    """Collects what Paddle translated, built and ran between `begin` and `end`."""

    def __init__(self) -> None:
        self.labels: list[str] = []
        self.built = 0
        self.ran = 0

    def install(self) -> None:
        """Listen from now on, in place of any other watcher. Idempotent."""
        ENV_SOT_COLLECT_INFO.set({"breakgraph_reason": []})
        PartialProgramLayer.HOOKED_RUN_IMPL = self._run
        build = ProgramCache._build_once
        while hasattr(build, "watched"):
            build = build.watched
        ProgramCache._build_once = self._building(build)
        cache = OpcodeExecutorCache()
        cache.translate = self._translating(functools.partial(type(cache).translate, cache))

    def _run(self, run: Callable[..., Any], *arguments: Any) -> Any:
        self.ran += 1
        return run(*arguments)

    def _building(self, build: Callable[..., Any]) -> Callable[..., Any]:
        def watching(cache: Any, key: Any) -> Any:
            self.built += 1
            concrete, partial = build(cache, key)
            self.labels += program_labels(concrete, len(cache))
            return concrete, partial

        watching.watched = build  # type: ignore[attr-defined]
        return watching

    def _translating(self, translate: Callable[..., Any]) -> Callable[..., Any]:
        def watching(frame: Any, **options: Any) -> Any:
            code = frame.f_code
            name = plain(code.co_name)
            note_namespace(frame.f_globals)
            entries = translations().get(code, [])
            reasons = {missed(guard, frame) for _, guard in entries[-1:]} or {"first"}
            self.labels += [f"{'recompile' if entries else 'trace'} {name}: {r}" for r in reasons]
            try:
                result = translate(frame, **options)
            except Exception as error:
                self.labels.append(f"translation of {name} raises {type(error).__name__}")
                raise
            custom, guard, _ = result
            if custom.code is None:
                self.labels.append(f"fallback {name}")
            if guard is not None:
                self.labels += [f"guard {kind}" for kind in sorted(guard_kinds(guard))]
            return result

        return watching

    def begin(self) -> None:
        """Forget what was seen so far."""
        self.labels = []
        self.built = self.ran = 0
        InfoCollector().clear()

    def end(self) -> CallEvents:
        """Return the events since `begin`."""
        labels = [*self.labels, *break_labels()]
        if self.ran > 1:
            labels.append(f"programs run {bucket(self.ran)}")
        for code, entries in translations().items():
            if len(entries) > 1 and any(label.startswith("recompile") for label in labels):
                labels.append(f"entries {plain(code.co_name)} {bucket(len(entries))}")
        return CallEvents(tuple(dict.fromkeys(labels)), self.ran > 0, self.built)


def plain(name: str) -> str:
    """Return a function's name without what is particular to this process."""
    return SUFFIX.sub("", name.removeprefix("#"))


def break_labels() -> Iterator[str]:
    """Yield the kinds of the graph breaks that Paddle noted, and forget them."""
    found = InfoCollector().get_info_dict(InfoType.E2E_INFO)
    for info in found.get("BreakGraphReasonInfo", []):
        text = str(info.reason)
        # The text of a break inside of an inlined call is the path of files to it.
        why = "" if text.startswith("File ") else f": {scrub(text)}"
        yield f"graph break {type(info.reason).__name__}{why}"
    InfoCollector().clear()


def program_labels(concrete: Any, before: int) -> Iterator[str]:
    """Yield the labels of a new program: its size, its parameters, the kinds of its operations."""
    operations = concrete.main_program.global_block().ops
    parameters, _ = concrete.parameters
    yield (
        f"program ops={bucket(len(operations))} parameters={bucket(len(parameters))}"
        f" others={bucket(before)}"
    )
    for kind in sorted({operation.name() for operation in operations}):
        yield f"op {kind.removeprefix('pd_op.')}"


def conjuncts(guard: Any) -> list[str]:
    """Return the parts of a guard's expression."""
    text: str = getattr(guard, "inlined_expr", "")
    return text.removeprefix("lambda frame: ").split(" and ")


def guard_kinds(guard: Any) -> set[str]:
    """Return the kinds of a guard's parts."""
    return {kind_of(part) for part in conjuncts(guard)}


def kind_of(part: str) -> str:
    """Return a guard's part without the path to what it looks at, and without numbers."""
    # Names of what is on the stack after a graph break are numbered through the whole process.
    return DIGITS.sub("N", scrub(STEPS.sub("", OBJECT.sub("object", part))))


def missed(guard: Any, frame: Any) -> str:
    """Return the kind of the first part of `guard` that does not hold in `frame`."""
    for part in conjuncts(guard):
        try:
            holds = eval("lambda frame: " + part, guard.__globals__)(frame)
        except Exception as error:
            return f"{kind_of(part)} raises {type(error).__name__}"
        if not holds:
            return kind_of(part)
    return "no part of the guard"
