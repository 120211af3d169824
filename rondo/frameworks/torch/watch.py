"""Compile events as readable labels that are equal in every process.

Read after each call from what torch keeps anyway - counters, compilation metrics, cache entries,
automatic-dynamic memory - so that watching registers nothing and changes nothing. Object ids,
numbers, paths and times are scrubbed; sizes become buckets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from types import CodeType
from typing import Any

from torch._dynamo import convert_frame, eval_frame, pgo
from torch._dynamo import utils as dynamo_utils

from rondo.frameworks.base import CallEvents
from rondo.frameworks.shared.labels import bucket, scrub
from rondo.frameworks.torch.watch_graphs import Recordings, kernel_labels, recordings

METRICS_LIMIT = 4096
FRAME_WORK, NODE_WORK = 0.06, 0.022
"""Work of a compiled frame and of a node of its graph, in executions of 250 ms of CPU time, which
is what a usual one over the smallest architecture takes: 15 and 5.6 ms, weighted least squares over
34 random sequences on back end eager (correlation with the measured times 0.96)."""
GUARD_WORK = 0.0012
"""Work of a pair of guards on symbolic sizes: each is simplified under all that is known by then.
160 of them, as windows that shift with dynamic sizes have, take 5 to 10 seconds."""
COUNTED = ("frames", "stats", "aot_autograd", "inductor")
REASONS = ("graph_break", "unimplemented", "resumes")
GUARD_HEAD = re.compile(r"(___\w+|\w+(?:\.\w+)*)\(|( is not | is | == | != | not in | in )")


class Watcher:
    """Collects what the compiler did between `begin` and `end`."""

    def __init__(self) -> None:
        dynamo_utils.set_compilation_metrics_limit(METRICS_LIMIT)
        self._before: dict[str, Counter[str]] = {}
        self._entries: dict[CodeType, int] = {}
        self._dynamic: set[str] = set()
        self._recordings = Recordings()

    def begin(self) -> None:
        """Take the state from which the next `end` counts."""
        dynamo_utils.clear_compilation_metrics()
        self._before = {name: Counter(counts) for name, counts in dynamo_utils.counters.items()}
        self._entries = {code: len(_entries(code)) for code in _codes()}
        self._dynamic = set(_automatic_dynamic())
        self._recordings = recordings()

    def end(self) -> CallEvents:
        """Return the events since `begin`."""
        labels: list[str] = list(self._counter_labels())
        metrics = dynamo_utils.get_compilation_metrics()
        for metric in metrics:
            labels += _metric_labels(metric)
        compiled = False
        grown = 0
        for code in _codes():
            entries = _entries(code)
            compiled = compiled or bool(entries)
            new = len(entries) - self._entries.get(code, 0)
            if new > 0:
                grown += new
                labels.append(f"entries {code.co_name} {bucket(len(entries))}")
                labels += _guard_labels(entries)
        labels += [text for text in _automatic_dynamic() if text not in self._dynamic]
        labels += recordings().labels(self._recordings)
        return CallEvents(tuple(dict.fromkeys(labels)), compiled, grown, _work_of(metrics))

    def _counter_labels(self) -> Iterator[str]:
        for name, counts in dynamo_utils.counters.items():
            before = self._before.get(name, Counter())
            for key, count in counts.items():
                delta = count - before.get(key, 0)
                if delta <= 0:
                    continue
                if name in REASONS:
                    yield f"{name}: {scrub(str(key))}"
                elif name in COUNTED:
                    yield f"{name}.{scrub(str(key))} {bucket(delta)}"
                elif name == "aten_mm_info":
                    yield f"{name}.{scrub(str(key)).split('_N')[0]}"


def _work_of(metrics: Iterable[Any]) -> float:
    work = 0.0
    for metric in metrics:
        guards = metric.shape_env_guard_count or 0
        work += FRAME_WORK + NODE_WORK * (metric.graph_node_count or 0) + GUARD_WORK * guards**2
    return work


def _codes() -> list[CodeType]:
    codes = (reference() for reference in convert_frame.input_codes.seen)
    return [code for code in codes if code is not None]


def _entries(code: CodeType) -> list[Any]:
    return eval_frame._debug_get_cache_entry_list(code)


def _metric_labels(metric: Any) -> Iterable[str]:
    name = metric.co_name or "?"
    direction = "forward" if metric.is_forward else "backward"
    yield (
        f"compile {name} {direction} ops={bucket(metric.graph_op_count or 0)}"
        f" guards={bucket(metric.guard_count or 0)}"
        f" shapes={bucket(metric.shape_env_guard_count or 0)}"
        f" inputs={bucket(metric.graph_input_count or 0)}"
    )
    if metric.ir_count:
        yield f"ir {bucket(metric.ir_count)}"
    if metric.recompile_reason:
        reason = metric.recompile_reason.partition(": ")[2] or metric.recompile_reason
        yield f"recompile {name}: {scrub(reason)}"
    if metric.fail_type:
        yield f"fail {metric.fail_type.rpartition('.')[2]}: {scrub(metric.fail_reason or '')}"
    for reason in sorted(metric.restart_reasons or ()):
        yield f"restart {scrub(reason)}"
    for reason in sorted(metric.tensorify_float_failure or ()):
        yield f"tensorify failed {scrub(reason)}"
    if metric.tensorify_float_success:
        yield "tensorify"
    if metric.cudagraph_skip_reason:
        yield f"cudagraph skip {scrub(metric.cudagraph_skip_reason)}"
    yield from kernel_labels(metric)


def _guard_labels(entries: Iterable[Any]) -> list[str]:
    """Return the kinds of guards on the newest of `entries` (the list is newest first)."""
    kinds: set[str] = set()
    for entry in entries:
        for part in entry.guard_manager.code_parts:
            match = GUARD_HEAD.search(str(part))
            if match:
                kinds.add((match.group(1) or match.group(2)).strip())
        break
    return [f"guard {kind}" for kind in sorted(kinds)]


def _automatic_dynamic() -> Iterator[str]:
    """Yield what automatic dynamic shapes remember, sizes reduced to static or dynamic."""
    for state in pgo.get_code_state().values():
        for source, entry in state.automatic_dynamic.items():
            yield f"dynamic {scrub(source)} {_shape_of(entry.size)} {_scalar_of(entry.scalar)}"


def _shape_of(size: Any) -> str:
    if not isinstance(size, tuple):
        return "unset" if size is pgo.auto_unset else "any"
    return "".join("d" if item is pgo.auto_dynamic else "s" for item in size)


def _scalar_of(scalar: Any) -> str:
    if scalar is pgo.auto_unset:
        return ""
    return "d" if scalar is pgo.auto_dynamic else "s"
