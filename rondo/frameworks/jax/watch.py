"""Compile events as readable labels that are equal in every process.

Read from what JAX tells anyone who listens: `jax.monitoring` events (a miss traces, lowers and
compiles; a hit emits nothing), the log that `jax_explain_cache_misses` writes, and the number of
entries in the fast path of the function that served the call. Names stay; numbers, ids, paths,
times and values of settings go.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import jax
import jax.monitoring

from rondo.frameworks.base import CallEvents
from rondo.frameworks.shared.labels import bucket, scrub

TRACE = "/jax/core/compile/jaxpr_trace_duration"
COMPILE = "/jax/core/compile/backend_compile_duration"
PERSISTENT = "/jax/compilation_cache/"
OWN = ("subject", "gradients", "derivatives")
"""The names of the functions that programs jit; see `program.Functions`."""

EXPLAINED_BY = "jax._src.interpreters.partial_eval"
SETTING = re.compile(r"^\* (\w+) differs: now")
TYPE = re.compile(r"^\* at (.+), now (\S+) and before (\S+)$")
TREE = re.compile(r"^\* at input path .*, so (.*)$")
NAME = re.compile(r"[\w<>]+")


class Watcher(logging.Handler):
    """Collects what JAX did between `begin` and `end`."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self._active = False
        self._traced: Counter[str] = Counter()
        self._compiled: Counter[str] = Counter()
        self._cache_events: Counter[str] = Counter()
        self._misses: list[str] = []
        self._serving: Any = None
        self._entries_before = 0
        jax.monitoring.register_event_listener(self._event)
        jax.monitoring.register_event_duration_secs_listener(self._duration)
        logger = logging.getLogger(EXPLAINED_BY)
        logger.addHandler(self)
        logger.propagate = False

    def begin(self) -> None:
        """Forget what was seen."""
        self._traced.clear()
        self._compiled.clear()
        self._cache_events.clear()
        self._misses.clear()
        self._serving = None
        self._active = True

    def serve(self, function: Any) -> None:
        """Note that the call under watch goes through this jitted function."""
        self._serving = function
        self._entries_before = function._cache_size()

    def end(self) -> CallEvents:
        """Return the events since `begin`."""
        self._active = False
        labels = list(dict.fromkeys(self._labels()))
        own = sum(count for name, count in self._compiled.items() if _is_own(name))
        if self._serving is None:
            # Without jit around the subject every operation is compiled on its own.
            return CallEvents(tuple(labels), True, sum(self._compiled.values()))
        served = bool(self._serving._cache_size()) or not jax.config.jax_disable_jit
        return CallEvents(tuple(labels), served, own)

    def _labels(self) -> Iterator[str]:
        yield from self._misses
        for name, count in sorted(self._traced.items()):
            yield f"trace {name} {bucket(count)}"
        for name, count in sorted(self._compiled.items()):
            yield f"compile {name} {bucket(count)}"
        for name, count in sorted(self._cache_events.items()):
            yield f"persistent cache {name} {bucket(count)}"
        if self._serving is not None:
            entries = self._serving._cache_size()
            if entries != self._entries_before:
                kind = "entry only" if not self._compiled else "entry"
                yield f"fast path {kind} {bucket(entries)}"

    def _event(self, event: str, **_: Any) -> None:
        if self._active and event.startswith(PERSISTENT):
            self._cache_events[event.removeprefix(PERSISTENT)] += 1

    def _duration(self, event: str, _: float, **details: Any) -> None:
        if not self._active or event not in (TRACE, COMPILE):
            return
        name = scrub(str(details.get("fun_name", "")))
        (self._traced if event == TRACE else self._compiled)[name] += 1

    def emit(self, record: logging.LogRecord) -> None:
        """Take one explanation of a trace-cache miss apart."""
        if self._active:
            self._misses += explained(record.getMessage())


def _is_own(name: str) -> bool:
    return any(part in OWN for part in NAME.findall(name.replace("jit_", "")))


def explained(text: str) -> list[str]:
    """Return the labels of one message of `jax_explain_cache_misses`."""
    lines = [line.strip() for line in text.splitlines()]
    if not lines or not lines[0].startswith("TRACING CACHE MISS"):
        return []
    name = "?"
    labels: list[str] = []
    for position, line in enumerate(lines):
        if line.startswith("never seen function") and position + 1 < len(lines):
            labels.append(f"new function {lines[position + 1].split(' id=')[0]}")
        elif line.startswith("for "):
            name = line.removeprefix("for ").split(" defined at")[0]
        elif line.startswith("* "):
            labels.append(f"recompile {name}: {_difference(line)}")
    return labels


def _difference(line: str) -> str:
    if match := SETTING.match(line):
        return f"setting {match[1]}"
    if match := TREE.match(line):
        return f"pytree: {scrub(match[1])}"
    if match := TYPE.match(line):
        return f"type of {scrub(match[1])}: {_type_change(match[2], match[3])}"
    return scrub(line)


def _type_change(now: str, before: str) -> str:
    """Return what differs between two abstract values such as `f32[4,8]`."""
    kinds = []
    now_dtype, _, now_shape = now.partition("[")
    old_dtype, _, old_shape = before.partition("[")
    if "weak_type" in now and "weak_type" in before and now.split("{")[0] == before.split("{")[0]:
        return "weak type"
    if now_dtype != old_dtype:
        kinds.append(f"{old_dtype} to {now_dtype}")
    if now_shape.count(",") != old_shape.count(","):
        kinds.append("rank")
    elif now_shape != old_shape:
        kinds.append("shape")
    return " and ".join(kinds) or "other"
