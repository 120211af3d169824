"""What torch.compile retains between calls, layer by layer, and what a stale entry relies on.

Layers stand from the innermost to the outermost: dropping an inner one leaves all that stands
above it as it was, so the first one whose loss cures a call is the one that was wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn
from torch._dynamo.utils import same

from rondo.frameworks.base import Arm, Framework, Layer
from rondo.frameworks.torch import guards
from rondo.frameworks.torch.ambient import random_digests, read_ambient
from rondo.frameworks.torch.locate_picture import (
    AMBIENT,
    Fact,
    Painter,
    Picture,
    identities,
    storages,
)
from rondo.frameworks.torch.locate_serve import Relations, Served, Serving, entries_by_code
from rondo.frameworks.torch.program import TorchProgram
from rondo.oracle.compare import compare
from rondo.oracle.observation import Observation
from rondo.sequences.step import Call, Change, Sequence
from rondo.sequences.vocabulary import COMPILER

LAYERS = (
    Layer(
        "aotautograd-cache", "the disk cache of AOTAutograd", (("drop_disk_cache", 1),), disk=True
    ),
    Layer("fx-graph-cache", "the disk cache of FX graphs", (("drop_disk_cache", 0),), disk=True),
    Layer(
        "disk caches",
        "both disk caches",
        (("drop_disk_cache", 0), ("drop_disk_cache", 1)),
        disk=True,
    ),
    Layer("fake-tensor cache", "FakeTensorMode's dispatch cache", (("clear_fake_cache", 0),)),
    Layer("automatic-dynamic", "what was learned about sizes and numbers", (("forget_sizes", 0),)),
    Layer("compiled code", "compiled code and its guards", (("reset_code", 0),)),
)

SHOWN_GUARDS = 60
SHOWN_CHANGES = 40


def inspect(
    framework: Framework, files: Mapping[str, ModuleType], sequence: Sequence, position: int
) -> dict[str, Any]:
    """Run the steps up to the call at `position`, eagerly and retained, and compare what is there.

    Returns plain data: the entry that served the call, its guards, and what had changed since the
    call at which that entry was compiled.
    """
    with framework.session(sequence):
        framework.reset()
        with framework.arm(sequence, Arm.EAGER) as program:
            assert isinstance(program, TorchProgram)
            eager = _Trial(program, files, sequence, position, compiled=False)
            eager.run()
        framework.reset()
        with framework.arm(sequence, Arm.RETAINED) as program:
            assert isinstance(program, TorchProgram)
            retained = _Trial(program, files, sequence, position, compiled=True)
            retained.run()
        with framework.arm(sequence, Arm.REFERENCE) as program:
            assert isinstance(program, TorchProgram)
            exact = _Trial(program, files, sequence, position, compiled=False)
            exact.run()
        return retained.report(eager) | {"errors": errors(eager, retained, exact)}


def errors(eager: _Trial, retained: _Trial, exact: _Trial) -> list[float]:
    """Return the worst errors of eager and retained against float64, and what `same` says.

    Of the first path whose floats differ; empty where there is none.
    """
    seen = [trial.seen for trial in (eager, retained, exact)]
    if any(each is None or not each.returned for each in seen):
        return []
    ours, theirs, truths = (each.leaves for each in seen if each is not None)
    for mismatch in compare(seen[0], seen[1], lambda: truths):  # type: ignore[arg-type]
        path = mismatch.path
        leaves = [leaves.get(path) for leaves in (ours, theirs, truths)]
        values = [leaf.values for leaf in leaves if leaf is not None and leaf.values is not None]
        if mismatch.effect != "value" or len(values) < 3 or values[0].dtype != np.float64:
            continue
        first, second, truth = (torch.from_numpy(np.atleast_1d(each)) for each in values)
        if first.shape != second.shape or truth.shape != first.shape:
            continue
        dtype = getattr(torch, leaves[0].dtype, torch.float64)  # type: ignore[union-attr]
        equal = same(first.to(dtype), second.to(dtype), truth, log_error=lambda *_: None)
        worst = [float((each - truth).abs().max()) for each in (first, second)]
        return [*worst, float(equal)]
    return []


class _Trial:
    """One arm run up to a call, with a picture in front of every call."""

    def __init__(
        self,
        program: TorchProgram,
        files: Mapping[str, ModuleType],
        sequence: Sequence,
        position: int,
        *,
        compiled: bool,
    ) -> None:
        self.program = program
        self.sequence = sequence
        self.position = position
        self.compiled = compiled
        self.painter = Painter(files)
        constructs = sequence.subject.constructs
        self.parts: dict[str, nn.Module] = {sequence.subject.architecture: program.module.body}
        self.parts |= dict(zip(constructs, program.module.tail, strict=True))
        self.pictures: dict[int, Picture] = {}
        self.entries: dict[str, int] = {}
        self.modes: dict[str, str] = {}
        self.drawn: list[str] = []
        self.random: dict[str, str] = {}
        self.serving: Serving | None = None
        self.relations = Relations()
        self.inputs: tuple[str, ...] = ()
        self.seen: Observation | None = None

    def run(self) -> None:
        """Run every step up to the judged one."""
        for number, step in enumerate(self.sequence.steps[: self.position + 1]):
            if isinstance(step, Change):
                if step.target != COMPILER:
                    self.program.change(step)
                elif self.compiled:
                    self.program.compiler_change(step)
                continue
            self._call(number, step)

    def _call(self, number: int, call: Call) -> None:
        arguments = self.program.inputs(call).arguments
        self.inputs = tuple(arguments)
        picture = self.painter.paint(self.parts, arguments)
        picture |= identities(self.parts) | storages(self.parts)
        self.pictures[number] = picture | modes_of(call)
        if number == self.position:
            self.modes, before = read_ambient(), random_digests()
        with ExitStack() as watched:
            if self.compiled:
                watched.enter_context(self.relations.recording())
            if number == self.position and self.compiled:
                self.serving = Serving()
                watched.enter_context(self.serving.watching())
            observation = self.program.call(call, compiled=self.compiled)
        if number == self.position:
            self.seen = observation
            self.random = random_digests()
            self.drawn = [name for name in before if before[name] != self.random[name]]
        for name, _ in entries_by_code().values():
            self.entries.setdefault(name, number)

    def report(self, eager: _Trial) -> dict[str, Any]:
        """Return what is to be said of the judged call."""
        ran = self.serving.served() if self.serving else ()
        # Outermost first; one whose guards do not hold is the one to speak of.
        served = next((each for each in ran if not each.held), ran[0] if ran else None)
        establishing = self.entries.get(served.name, self.position) if served else -1
        if 0 <= establishing < self.position:
            since = establishing
        else:
            calls = [number for number in self.pictures if number < self.position]
            since = calls[-1] if calls else self.position
        found: dict[str, list[guards.Guard]] = {}
        broken: list[str] = []
        for each in ran:
            names = self._names(each)
            found[each.name] = guards.guards_of(each.entry, names)
            broken += [guards.readable(text, names) for text in self.relations.broken(each)]
        own = found[served.name] if served else []
        told = [guard for guard in own if guards.about_program(guard)][:SHOWN_GUARDS]
        frame, _, entry = served.name.partition(" ") if served else ("", "", "")
        return {
            "frame": frame,
            "entry": entry,
            "compiled_at": establishing,
            "since": since,
            "held": served.held if served else True,
            "guards": [[guard.kind, guard.text[:200]] for guard in told],
            "count": len(own),
            "broken": broken,
            "changed": self._changed(since, [guard for many in found.values() for guard in many]),
            "leaked": sorted(n for n, text in self.modes.items() if eager.modes[n] != text),
            "drawn": eager.drawn,
            "drifted": sorted(n for n, text in self.random.items() if eager.random[n] != text),
        }

    def _names(self, served: Served) -> guards.Names:
        """Return what things are called in the frame of an entry."""
        owner = served.scope.get("L", {}).get("self")
        part = next((name for name, module in self.parts.items() if module is owner), "")
        return guards.Names(self.sequence.subject.constructs, self.inputs, served.scope, part)

    def _changed(self, since: int, found: list[guards.Guard]) -> list[dict[str, Any]]:
        """Return what differs between the starts of two calls, with the guards that mention it."""
        before, after = self.pictures[since], self.pictures[self.position]
        rows: list[dict[str, Any]] = []
        for path in [*before, *(path for path in after if path not in before)]:
            first, second = before.get(path), after.get(path)
            if first is not None and second is not None and first.key == second.key:
                continue
            if any(path[: len(above)] == above for above in (row["at"] for row in rows)):
                continue
            told = second or first
            assert told is not None
            rows.append(
                {
                    "at": path,
                    "path": shown(path),
                    "kind": told.kind,
                    "before": first.text if first else "absent",
                    "after": second.text if second else "absent",
                    "guards": [g.text[:200] for g in found if guards.mentions(g, path)],
                }
            )
        for row in rows:
            row["at"] = list(row["at"])
        return rows[:SHOWN_CHANGES]


def shown(path: guards.Path) -> str:
    """Return a path as people read it."""
    text = ".".join(path[1:])
    return text if path[0] in ("self", "file", "input") else f"{path[0]} {text}"


def modes_of(call: Call) -> Picture:
    """Return the modes that a call is made under, which are entered for its own time only."""
    names = ("grad", "autocast", "thread")
    return {
        ("mode", f"{n} of the call"): Fact(call.choice(n), call.choice(n), AMBIENT) for n in names
    }
