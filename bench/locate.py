"""Does `rondo locate` name the right layer?

Two lists with known answers: the seeded faults of `bench/faults/`, whose files say which layer they
break, and the handed bugs of `bench/bugs/cases.py`, whose kind says which layer holds what is
stale. Each is executed, and the alarm's fault is located in fresh processes.

    python bench/locate.py                every fault and every case
    python bench/locate.py --quick        some of each, cheap back ends
    python bench/locate.py NAME ...       only these
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent / "bugs"), str(Path(__file__).parent)]

from cases import BACKENDS, CASES, Case  # noqa: E402  (scripts of the bench, not a package)
from seeded import Fault, Workers, all_faults  # noqa: E402

from rondo.campaign.locating import Laboratory  # noqa: E402
from rondo.campaign.pool import ExecutionFaultError  # noqa: E402
from rondo.errors import RondoError  # noqa: E402
from rondo.sequences.codec import encode  # noqa: E402

LAYER_OF_KIND = {
    "py-object guard": ("dynamo-guards",),
    "py-object guard (identity)": ("dynamo-guards",),
    "module guard": ("dynamo-guards",),
    "alias guard": ("dynamo-guards",),
    "ambient mode": ("dynamo-guards",),
    "compile-cache key": ("aotautograd-cache", "fx-graph-cache"),
    "baked trace-time state": ("rng",),
}
"""What each kind of handed bug says about its layer; documented limits are no faults."""

QUICK = (
    "backward_adds_twice",
    "frame_unchecked_entry",
    "guard_bool",
    "guard_tensor_alias",
    "rng_offset_reused",
    "class_method_rebind",
    "list_arg_alias",
)
WRONG_ALLOWED = 0.1
"""18 of 20 must be right."""


@dataclass(frozen=True, slots=True)
class Row:
    """One fault: the layers that are right, and what was said."""

    name: str
    backend: str
    expected: tuple[str, ...]
    layer: str
    why: str
    seconds: float

    @property
    def right(self) -> bool:
        """Whether the right layer was named."""
        return self.layer in self.expected


def questions(
    workers: Workers,
) -> Iterator[tuple[str, str, tuple[str, ...], bytes, Fault | None]]:
    """Yield name, back end, right layers, bytes, and the fault to run under."""
    for fault in all_faults():
        data = encode(fault.sequence(workers.vocabulary))
        yield fault.name, fault.backend, (fault.layer,), data, fault
    for case in CASES:
        backend = cheapest(case)
        if backend:
            data = encode(case.sequence(workers.vocabulary, backend))
            yield case.name, backend, LAYER_OF_KIND[case.kind], data, None


def cheapest(case: Case) -> str:
    """Return the first back end that shows a case, or an empty text where none is an alarm."""
    shown = (name for name in BACKENDS if case.verdict(name) not in ("agree", "documented"))
    return next(shown, "")


def main(arguments: list[str] | None = None) -> int:
    """Print a row for each fault and whether the target holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args(arguments)
    wanted = options.names or (QUICK if options.quick else ())
    workers = Workers()
    laboratory = Laboratory.of(workers.server, 120.0)
    rows: list[Row] = []
    try:
        for name, backend, expected, data, fault in questions(workers):
            if wanted and name not in wanted:
                continue
            began = time.perf_counter()
            workers.choose(fault)
            layer, why = located(laboratory, data)
            row = Row(name, backend, expected, layer, why, time.perf_counter() - began)
            rows.append(row)
            if not options.json:
                mark = "" if row.right else f"   EXPECTED {' or '.join(expected)}"
                print(f"{backend:10} {name:28} {layer:20} {why[:90]}{mark}", flush=True)
    finally:
        workers.close()
    right = sum(row.right for row in rows)
    good = bool(rows) and right >= len(rows) * (1 - WRONG_ALLOWED)
    if options.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "right": right, "good": good}))
    print(f"right layer: {right} of {len(rows)} (target: at least nine in ten)")
    return 0 if good else 1


def located(laboratory: Laboratory, data: bytes) -> tuple[str, str]:
    """Return the layer that is named for the first alarm of a sequence, and why."""
    try:
        result = laboratory.executor.run_fresh(data)
    except (ExecutionFaultError, RondoError) as error:
        return "", f"cannot be executed: {error}"
    if not result.alarms:
        return "", f"no alarm ({result.verdict})"
    found = laboratory.locate(data, result.alarms[0])
    return found.layer, found.why


if __name__ == "__main__":
    sys.exit(main())
