"""The Paddle adapter: puts catalogue, programs, resets and watcher behind the interface."""

from __future__ import annotations

import gc
import importlib
import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import ModuleType

from rondo.frameworks.base import Ablation, Arm, CallEvents, Framework, Layer
from rondo.frameworks.paddle import _start, layers, statics
from rondo.frameworks.paddle.ambient import ambient, seed_everything
from rondo.frameworks.paddle.changes.compiler import COMPILER, LAYERS
from rondo.frameworks.paddle.changes.program import PROGRAM
from rondo.frameworks.paddle.documented import BREACHES
from rondo.frameworks.paddle.environment import describe_environment
from rondo.frameworks.paddle.program import CompileSettings, PaddleProgram
from rondo.frameworks.paddle.subject import as_layer
from rondo.frameworks.paddle.watch import Watcher
from rondo.frameworks.shared.catalogue import discover_catalogue
from rondo.sequences.step import Sequence as StepSequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.namespace import NamespaceSnapshot
from rondo.subjects.target import Architecture
from rondo.subjects.user import NAME, UserSubject

BACKENDS = ("sot", "ast")
"""Bytecode capture with guards, Paddle's default; and whole-graph capture (`full_graph=True`)."""

SIZES = 2
"""How many sizes a dimension takes (the batch one more): whole-graph capture builds for each."""

LIMITS = {"constructs": 3, "steps": 12}
"""Shorter than the codec allows: a translation takes tenths of a second."""

COMPILER_TREES = ("jit/sot", "jit/dy2static", "jit/api.py")
"""What capture consists of, relative to the package."""

HERE = "rondo.frameworks.paddle"


class PaddleFramework(Framework):
    """paddle.jit.to_static on CPU."""

    name = "paddle"
    no_kernel = re.compile(r"kernel `?\w+`? is not registered")

    def __init__(self) -> None:
        logging.getLogger("Dynamic-to-Static").setLevel(logging.CRITICAL)
        # One module speaks through the root logger, at gradients of inputs that nothing used.
        logging.getLogger().addFilter(lambda record: record.module != "backward_utils")
        statics.follow_functions()
        self.catalogue = discover_catalogue(
            layers, f"{HERE}.constructs", program=PROGRAM, compiler=COMPILER, sizes=SIZES
        )
        self._anew: frozenset[str] = frozenset()
        self._watcher = Watcher()

    def add_subject(self, subject: UserSubject) -> None:
        """Make a user's layer or function the only architecture, without constructs."""
        target = Architecture(
            NAME,
            lambda: as_layer(subject.build()),
            schema=subject.schema,
            features=0,
            doc="the user's own model",
        )
        self.catalogue = self.catalogue.only(target, subject.origin or ModuleType(NAME))

    def vocabulary(self) -> Vocabulary:
        """Return what the architectures and the discovered constructs can say."""
        return self.catalogue.vocabulary(self.name, BACKENDS, limits=LIMITS)

    def warm(self) -> None:
        """Import what first calls would import, and leave all of it out of garbage collections.

        Bytecode capture collects garbage at every translation, which takes longer than the rest of
        a small one while everything that was imported is gone through each time.
        """
        for name in _start.LATE_IMPORTS:
            with suppress(ImportError):
                importlib.import_module(name)
        gc.collect()
        gc.freeze()

    @contextmanager
    def session(self, sequence: StepSequence) -> Iterator[None]:
        """Start with nothing compiled; afterwards drop all, and put all ambient state back."""
        warnings.simplefilter("ignore")
        self._watcher.install()
        self.reset()
        with ambient(sequence.subject.seed):
            try:
                yield
            finally:
                self.reset()

    @contextmanager
    def arm(self, sequence: StepSequence, arm: Arm) -> Iterator[PaddleProgram]:
        """Build the program of `arm` from the sequence's seed."""
        namespaces = NamespaceSnapshot(self.catalogue.files_of(sequence))
        full_graph = BACKENDS[sequence.options.backend] == "ast"
        settings = CompileSettings(
            full_graph=full_graph,
            own_full_graph=full_graph,
            dynamic_shape=sequence.options.choice("dynamic") != "false",
            anew=self._anew,
        )
        try:
            with ambient(sequence.subject.seed):
                program = PaddleProgram(sequence, self.catalogue, arm, settings)
                seed_everything(sequence.subject.seed)
                yield program
        finally:
            namespaces.restore()

    def reset(self) -> None:
        """Drop all that `to_static` keeps in this process."""
        statics.reset()

    def begin_watch(self) -> None:
        """Forget compile events seen so far."""
        self._watcher.begin()

    def end_watch(self) -> CallEvents:
        """Return the compile events since `begin_watch`."""
        return self._watcher.end()

    @contextmanager
    def _converting_anew(self, kinds: frozenset[str]) -> Iterator[None]:
        self._anew = kinds
        try:
            yield
        finally:
            self._anew = frozenset()

    def ablations(self) -> Sequence[Ablation]:
        """Return documented limitations of whole-graph capture that converting again lifts."""
        return tuple(
            Ablation(rule, partial(self._converting_anew, kinds)) for rule, kinds in BREACHES
        )

    def layers(self) -> tuple[Layer, ...]:
        """Return what Paddle retains between calls, innermost first."""
        return LAYERS

    def source_trees(self) -> tuple[str, ...]:
        """Return what captures and keeps what it captured."""
        import paddle

        package = Path(paddle.__file__).parent
        return tuple(str(package / part) for part in COMPILER_TREES)

    def environment(self) -> dict[str, str]:
        """Return versions and the machine's kind."""
        return describe_environment()
