"""The TensorFlow adapter: puts catalogue, programs, resets and watcher behind the interface."""

from __future__ import annotations

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from rondo.frameworks.base import Ablation, Arm, CallEvents, Framework, Layer, Refusal
from rondo.frameworks.shared.definition import realise_all
from rondo.frameworks.tensorflow._start import LOG
from rondo.frameworks.tensorflow.ambient import ambient, seed_everything
from rondo.frameworks.tensorflow.changes.compiler import COMPILER, LAYERS
from rondo.frameworks.tensorflow.changes.program import PROGRAM
from rondo.frameworks.tensorflow.documented import ABLATIONS, RULES, documented_rule
from rondo.frameworks.tensorflow.environment import describe_environment
from rondo.frameworks.tensorflow.functions import follow_functions, reset_functions
from rondo.frameworks.tensorflow.pictures import forget_effects
from rondo.frameworks.tensorflow.program import Catalogue, CompileSettings, TensorFlowProgram
from rondo.frameworks.tensorflow.subject import as_callable
from rondo.frameworks.tensorflow.warm import convert_functions, import_compiler, set_threads
from rondo.frameworks.tensorflow.watch import Watcher
from rondo.oracle.observation import Observation
from rondo.sequences.step import Sequence as StepSequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.namespace import NamespaceSnapshot
from rondo.subjects.registry import discover
from rondo.subjects.target import Architecture, Construct
from rondo.subjects.user import NAME, UserSubject

BACKENDS = ("graph", "xla")
"""From the cheaper to the dearer: a plain tf.function, and one with jit_compile=True."""

COMPILER_TREES = (
    ("tensorflow", "core/function"),
    ("tensorflow", "python/autograph"),
    ("tensorflow", "python/eager"),
    ("tensorflow", "python/framework"),
    ("keras", "src/backend/common"),
    ("keras", "src/backend/tensorflow"),
    ("keras", "src/layers/layer.py"),
)
"""What tracing consists of, in each package."""

HERE = "rondo.frameworks.tensorflow"


class TensorFlowFramework(Framework):
    """tf.function and Keras on CPU."""

    name = "tensorflow"
    no_kernel = re.compile(
        r"Value for attr '\w+' of \w+ is not in the list of allowed values"
        r"|Could not find device for node"
    )

    def __init__(self) -> None:
        from rondo.frameworks.tensorflow import layers

        logging.getLogger("tensorflow").setLevel(logging.ERROR)
        follow_functions()
        set_threads()
        self.architectures = realise_all(layers)
        self.constructs = discover(f"{HERE}.constructs", "CONSTRUCT", Construct)
        self.catalogue = Catalogue(
            {name: target for name, (target, _) in self.architectures.items()},
            {name: target for name, (target, _) in self.constructs.items()},
            PROGRAM,
            COMPILER,
        )
        self._watcher = Watcher(LOG)

    def add_subject(self, subject: UserSubject) -> None:
        """Make a user's model the only architecture, without constructs: it reads its own state."""
        target = Architecture(
            NAME,
            lambda: as_callable(subject.build()),
            schema=subject.schema,
            features=0,
            doc="the user's own model",
        )
        self.architectures = {NAME: (target, subject.origin or ModuleType(NAME))}
        self.constructs = {}
        self.catalogue = Catalogue({NAME: target}, {}, PROGRAM, COMPILER)

    def vocabulary(self) -> Vocabulary:
        """Return what the architectures and the discovered constructs can say."""
        return Vocabulary(
            framework=self.name,
            architectures=tuple(
                target.architecture_spec() for target in self.catalogue.architectures.values()
            ),
            constructs=tuple(target.spec() for target in self.catalogue.constructs.values()),
            ambient=(PROGRAM.spec(), COMPILER.spec()),
            backends=BACKENDS,
        )

    def warm(self) -> None:
        """Import and convert what first traces would; make no tensor, which starts threads."""
        import_compiler()
        convert_functions(self.constructs.values())

    @contextmanager
    def session(self, sequence: StepSequence) -> Iterator[None]:
        """Start with empty traces; afterwards drop them, and put all ambient state back."""
        warnings.simplefilter("ignore")
        forget_effects()
        self.reset()
        with ambient(sequence.subject.seed):
            try:
                yield
            finally:
                self.reset()

    @contextmanager
    def arm(self, sequence: StepSequence, arm: Arm) -> Iterator[TensorFlowProgram]:
        """Build the program of `arm` from the sequence's seed."""
        modules = self._modules(sequence)
        namespaces = NamespaceSnapshot(modules)
        settings = CompileSettings(
            xla=BACKENDS[sequence.options.backend] == "xla",
            own_xla=BACKENDS[sequence.options.backend] == "xla",
            reduce_retracing=sequence.options.choice("dynamic") == "true",
        )
        try:
            with ambient(sequence.subject.seed):
                program = TensorFlowProgram(sequence, self.catalogue, arm, settings, modules)
                seed_everything(sequence.subject.seed)
                yield program
        finally:
            namespaces.restore()

    def _modules(self, sequence: StepSequence) -> list[ModuleType]:
        subject = sequence.subject
        _, body = self.architectures[subject.architecture]
        return [body, *(self.constructs[name][1] for name in subject.constructs)]

    def reset(self) -> None:
        """Drop every trace of this process: the outermost ones and those inside."""
        reset_functions()

    def begin_watch(self) -> None:
        """Forget compile events seen so far."""
        self._watcher.begin()

    def end_watch(self) -> CallEvents:
        """Return the compile events since `begin_watch`."""
        return self._watcher.end()

    def documented(
        self, sequence: StepSequence, observation: Observation, *, fresh: bool = False
    ) -> str:
        """Return the documented rule under which a call was refused, or an empty text."""
        return documented_rule(sequence, observation)

    def refusals(self) -> Sequence[Refusal]:
        """Return the rules of documented refusals."""
        return RULES

    def ablations(self) -> Sequence[Ablation]:
        """Return documented limitations of tf.function that tracing again lifts."""
        return ABLATIONS

    def layers(self) -> tuple[Layer, ...]:
        """Return what TensorFlow retains between calls, innermost first."""
        return LAYERS

    def source_trees(self) -> tuple[str, ...]:
        """Return what traces and keeps traces, in TensorFlow and in Keras."""
        return tuple(str(_package(package) / part) for package, part in COMPILER_TREES)

    def environment(self) -> dict[str, str]:
        """Return versions and the machine's kind."""
        return describe_environment()


def _package(name: str) -> Path:
    spec = find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent
