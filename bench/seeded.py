"""The seeded faults of `bench/faults/` as records, and workers that run under any of them.

The key insight: importing a fault breaks nothing, so that its declaration can be read by a process
that imports no framework; only as a preload does it install itself. And a worker runs its preloads
after it was forked: one server serves every fault through a preload that looks up which one is
asked for now, so that a table of thirty faults costs one import of the framework.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.sequences.step import Sequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.sequences.writer import Writer

FOLDER = Path(__file__).parent / "faults"

LAYERS = (
    "dynamo-guards",
    "dynamo-frame cache",
    "automatic-dynamic",
    "aotautograd-cache",
    "fx-graph-cache",
    "inductor-codegen",
    "autograd",
    "rng",
)
"""What a fault may name as its guilty layer."""

DISPATCHER = '''"""Runs the preload that is asked for now, if any."""

from pathlib import Path

from rondo.campaign.preload import run_preloads

run_preloads(Path({chosen!r}).read_text().splitlines())
'''


@dataclass(frozen=True, slots=True)
class Fault:
    """A seeded fault: its file, what it should be found as, and a sequence that shows it."""

    name: str
    path: Path
    about: str
    verdict: str
    effect: str
    layer: str
    backend: str
    write: Callable[[Callable[..., Writer]], Writer]

    def sequence(self, vocabulary: Vocabulary) -> Sequence:
        """Return the sequence that shows the fault on the cheapest back end that has it."""

        def on(architecture: str, *constructs: str, **options: str) -> Writer:
            return Writer(vocabulary, architecture, *constructs, backend=self.backend, **options)

        return self.write(on).sequence()


def load_fault(path: Path) -> Fault:
    """Read the declaration in `path` without breaking anything."""
    spec = importlib.util.spec_from_file_location(f"seeded_fault_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return Fault(
        path.stem,
        path,
        (module.__doc__ or "").strip(),
        write=module.write,
        backend=module.BACKEND,
        **module.EXPECTED,
    )


def all_faults() -> list[Fault]:
    """Return every fault, by name."""
    return [load_fault(path) for path in sorted(FOLDER.glob("*.py"))]


class Workers:
    """Fresh workers, each under the fault that is asked for, from one server."""

    def __init__(self, framework: str = "torch", *, seconds: float = 120.0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="seeded-"))
        self._chosen = self.folder / "chosen"
        dispatcher = self.folder / "dispatcher.py"
        dispatcher.write_text(DISPATCHER.format(chosen=str(self._chosen)))
        self.choose()
        self.server = Server(framework, preloads=(str(dispatcher),))
        self.vocabulary = self.server.vocabulary
        self.executor = Executor(self.server, Limits(seconds), batch=1, interrupted=lambda: None)

    def choose(self, *faults: Fault | None) -> None:
        """Have the workers that are forked from now on run under `faults`; None stands for none."""
        self._chosen.write_text("\n".join(str(fault.path) for fault in faults if fault))

    def close(self) -> None:
        """End the server and remove what was written."""
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
