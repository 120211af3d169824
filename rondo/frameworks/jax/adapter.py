"""The JAX adapter: puts catalogue, programs, flags and watcher behind the framework interface.

What a real reset is: `jax.clear_caches()` drops traces, lowered programs, executables and both fast
paths (even `a + b` is compiled again); the thread forgets a hook that a debug flag left behind; the
persistent cache moves to a new empty folder. Programs make new functions for every arm.
"""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from types import ModuleType

import jax

from rondo.frameworks.base import (
    Ablation,
    Arm,
    CallEvents,
    Framework,
    Layer,
    Refusal,
    Script,
    ScriptRequest,
)
from rondo.frameworks.jax import flags, layers
from rondo.frameworks.jax.changes.compiler import COMPILER, LAYERS
from rondo.frameworks.jax.changes.program import PROGRAM
from rondo.frameworks.jax.documented import BREACHES, RULES, documented_rule
from rondo.frameworks.jax.eager import operation_store
from rondo.frameworks.jax.environment import describe_environment
from rondo.frameworks.jax.persistent import PersistentCache
from rondo.frameworks.jax.program import Catalogue, CompileSettings, JaxProgram
from rondo.frameworks.jax.store import install_store
from rondo.frameworks.jax.subject import as_module
from rondo.frameworks.jax.watch import Watcher
from rondo.frameworks.shared.definition import realise_all
from rondo.frameworks.shared.xla import round_as_written
from rondo.oracle.observation import Observation
from rondo.sequences.step import Sequence as StepSequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.namespace import NamespaceSnapshot
from rondo.subjects.registry import discover
from rondo.subjects.target import Architecture, Construct
from rondo.subjects.user import NAME, UserSubject

BACKENDS = ("jit", "op_by_op")
"""One `jax.jit` around the subject `jax.jit`; or none, where JAX still keeps what it dispatches."""

MODES = ("default", "donate")
"""`donate` gives the buffers away to every call, as training loops do."""

LIMITS = {"constructs": 3, "steps": 16}
"""Shorter than the codec allows: the eager arm compiles every operation of every new shape."""

SIZES = 2
"""How many sizes a dimension takes (the batch one more): JAX makes a program for every shape."""

COMPILER_TREES = ("_src",)
"""What JAX's tracing and lowering consist of, relative to the package."""

HERE = "rondo.frameworks.jax"


class JaxFramework(Framework):
    """jax.jit on CPU."""

    name = "jax"

    def __init__(self) -> None:
        round_as_written()
        self.architectures = realise_all(layers, sizes=SIZES)
        self.constructs = discover(f"{HERE}.constructs", "CONSTRUCT", Construct)
        self.catalogue = Catalogue(
            {name: target for name, (target, _) in self.architectures.items()},
            {name: target for name, (target, _) in self.constructs.items()},
            PROGRAM,
            COMPILER,
        )
        self._anew: frozenset[str] = frozenset()

    @cached_property
    def _watcher(self) -> Watcher:
        return Watcher()

    @cached_property
    def _persistent(self) -> PersistentCache:
        return PersistentCache()

    def add_subject(self, subject: UserSubject) -> None:
        """Make a user's function or pytree the only architecture, without constructs."""
        target = Architecture(
            NAME,
            lambda: as_module(subject.build()),
            schema=subject.schema,
            features=0,
            doc="the user's own model",
        )
        self.architectures = {NAME: (target, subject.origin or ModuleType(NAME))}
        self.constructs = {}
        self.catalogue = Catalogue({NAME: target}, {}, PROGRAM, COMPILER)

    def vocabulary(self) -> Vocabulary:
        """Return what the discovered architectures and constructs can say."""
        return Vocabulary(
            framework=self.name,
            architectures=tuple(
                target.architecture_spec() for target in self.catalogue.architectures.values()
            ),
            constructs=tuple(target.spec() for target in self.catalogue.constructs.values()),
            ambient=(PROGRAM.spec(), COMPILER.spec()),
            backends=BACKENDS,
            modes=MODES,
            disk=("jit",),
            limits=LIMITS,
        )

    def warm(self) -> None:
        """Import all that a first compile imports. The client starts threads: left to workers."""
        install_store()
        operation_store()

    @contextmanager
    def session(self, sequence: StepSequence) -> Iterator[None]:
        """Configure JAX for `sequence`; put flags and random states back afterwards."""
        install_store()
        operation_store()
        warnings.simplefilter("ignore")
        logging.getLogger("jax").setLevel(logging.ERROR)
        logging.getLogger("jax._src.interpreters.partial_eval").setLevel(logging.WARNING)
        before = flags.Ambient()
        self._persistent.choose(disk=sequence.options.choice("cache") == "disk")
        jax.config.update("jax_explain_cache_misses", True)
        self.reset()
        try:
            yield
        finally:
            jax.config.update("jax_explain_cache_misses", False)
            self._persistent.leave()
            jax.clear_caches()
            flags.forget_thread_hook()
            before.restore()

    @contextmanager
    def arm(self, sequence: StepSequence, arm: Arm) -> Iterator[JaxProgram]:
        """Build the program of `arm` from the sequence's seed."""
        namespaces = NamespaceSnapshot(self._modules(sequence))
        options = sequence.options
        settings = CompileSettings(
            jit=BACKENDS[options.backend] == "jit",
            donate=MODES[options.mode] == "donate",
            anew=self._anew,
        )
        with flags.ambient(sequence.subject.seed):
            try:
                yield JaxProgram(sequence, self.catalogue, arm, settings, self._watcher)
            finally:
                namespaces.restore()

    def _modules(self, sequence: StepSequence) -> list[ModuleType]:
        subject = sequence.subject
        _, body = self.architectures[subject.architecture]
        return [body, *(self.constructs[name][1] for name in subject.constructs)]

    def reset(self) -> None:
        """Drop all that JAX keeps in this process; the persistent cache gets an empty folder."""
        gc.collect(0)
        jax.clear_caches()
        flags.forget_thread_hook()
        self._persistent.renew()

    def begin_watch(self) -> None:
        """Forget compile events seen so far."""
        self._watcher.begin()

    def end_watch(self) -> CallEvents:
        """Return the compile events since `begin_watch`."""
        return self._watcher.end()

    def documented(
        self, sequence: StepSequence, observation: Observation, *, fresh: bool = False
    ) -> str:
        """Return the documented rule under which jit refused a call, or an empty text."""
        return documented_rule(observation)

    def layers(self) -> tuple[Layer, ...]:
        """Return what JAX retains between calls, innermost first."""
        return LAYERS

    @contextmanager
    def _tracing_anew(self, kinds: frozenset[str]) -> Iterator[None]:
        self._anew = kinds
        try:
            yield
        finally:
            self._anew = frozenset()

    def refusals(self) -> Sequence[Refusal]:
        """Return the rules of documented refusals."""
        return RULES

    def ablations(self) -> Sequence[Ablation]:
        """Return the rules that constructs break on purpose, each with its documented remedy.

        The remedy is to trace again whatever the change of such a construct may have made stale.
        """
        return tuple(Ablation(rule, partial(self._tracing_anew, kinds)) for rule, kinds in BREACHES)

    def scripts(self, request: ScriptRequest) -> Iterator[Script]:
        """Yield ways to write a finding as a script of its own, the most readable first."""
        from rondo.frameworks.jax.script import write_scripts

        return write_scripts(request, self.architectures, self.constructs, self.vocabulary())

    def source_trees(self) -> tuple[str, ...]:
        """Return JAX's own Python source."""
        package = Path(jax.__file__).parent
        return tuple(str(package / name) for name in COMPILER_TREES)

    def environment(self) -> dict[str, str]:
        """Return versions and the machine's kind."""
        return describe_environment()
