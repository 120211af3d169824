"""The torch adapter: puts catalogue, programs, state and watcher behind the framework interface."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

import torch

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
from rondo.frameworks.torch import ambient, state
from rondo.frameworks.torch.changes.compiler import COMPILER
from rondo.frameworks.torch.changes.program import PROGRAM
from rondo.frameworks.torch.device import DEVICES, HOST_ONLY, Device, absent, unforkable
from rondo.frameworks.torch.documented import (
    ABLATIONS,
    ON_DEVICES,
    RULES,
    documented_rule,
    hooks_counted,
)
from rondo.frameworks.torch.environment import describe_environment
from rondo.frameworks.torch.kernels import install_store
from rondo.frameworks.torch.locate import LAYERS, inspect
from rondo.frameworks.torch.program import Catalogue, CompileSettings, TorchProgram
from rondo.frameworks.torch.subject import as_module
from rondo.frameworks.torch.warm import import_compiler, trace_patterns
from rondo.frameworks.torch.watch import Watcher
from rondo.oracle.observation import Observation
from rondo.sequences.step import Sequence as StepSequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.namespace import NamespaceSnapshot
from rondo.subjects.registry import discover
from rondo.subjects.target import Architecture, Construct
from rondo.subjects.user import NAME, UserSubject

BACKENDS = ("eager", "aot_eager", "inductor")
"""From the cheapest to the dearest: Dynamo alone, with AOTAutograd, with Inductor."""
ON_DISK = ("inductor",)

MODES = ("default", "reduce-overhead")
COMPILER_TREES = ("_dynamo", "_functorch", "_inductor", "fx", "_guards.py", "_subclasses")
"""What torch.compile consists of, relative to the package."""

HERE = "rondo.frameworks.torch"
DYNAMIC = {"auto": None, "true": True, "false": False}


class TorchFramework(Framework):
    """torch.compile on a CPU, or on a GPU through CUDA."""

    name = "torch"
    devices = DEVICES
    no_kernel = re.compile(r"not implemented for '\w+'|Could not run 'aten::[^']*\'")

    def __init__(self) -> None:
        state.neutralise_guard_profile()
        self.architectures = discover(f"{HERE}.architectures", "ARCHITECTURE", Architecture)
        self.constructs = discover(f"{HERE}.constructs", "CONSTRUCT", Construct)
        self.catalogue = Catalogue(
            {name: target for name, (target, _) in self.architectures.items()},
            {name: target for name, (target, _) in self.constructs.items()},
            PROGRAM,
            COMPILER,
        )
        self.backends: tuple[str, ...] = BACKENDS
        self.place = Device()
        self._disk = False

    def absent(self, device: str) -> str:
        """Return why subjects cannot live on that device here; CUDA is not started for it."""
        return absent(device)

    def use_device(self, wanted: str, *, limit_mb: int = 0) -> None:
        """Have subjects live on `wanted`, and only those be there that can. Raises DeviceError."""
        super().use_device(wanted, limit_mb=limit_mb)
        self.place = Device(self.device, limit_mb=limit_mb, lost=self._give_up)
        if self.place.remote:
            for name in HOST_ONLY & self.constructs.keys():
                del self.constructs[name], self.catalogue.constructs[name]

    def _give_up(self, told: str) -> NoReturn:
        self.lose_device(told)  # as it is by then: a worker replaces it

    def unforkable(self) -> str:
        """Return why this process can no longer be copied: CUDA has been started."""
        return unforkable()

    @cached_property
    def _folders(self) -> state.CacheFolders:
        return state.CacheFolders(state.private_folder())

    @cached_property
    def _watcher(self) -> Watcher:
        return Watcher()

    def add_subject(self, subject: UserSubject) -> None:
        """Make a user's model the only architecture, without constructs: it reads its own state."""

        def build() -> torch.nn.Module:
            return as_module(subject.build())

        build.__name__ = getattr(subject.build, "__name__", NAME)  # what a script calls it
        self.backends = subject.backends or BACKENDS
        target = Architecture(
            NAME,
            build,
            schema=subject.schema,
            features=0,
            doc="the user's own model",
        )
        module = subject.origin or ModuleType(NAME)
        self.architectures = {NAME: (target, module)}
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
            backends=self.backends,
            modes=MODES,
            disk=ON_DISK,
        )

    def warm(self) -> None:
        """Import the compiler and probe the machine, without compiling a subject."""
        import_compiler()
        trace_patterns()
        # The probe writes beside the compiler's caches: give it the folder that is kept.
        self._folders.use(disk=False)
        install_store()

    @contextmanager
    def session(self, sequence: StepSequence) -> Iterator[None]:
        """Configure torch for `sequence`; put settings, modes and random states back afterwards."""
        self._disk = sequence.options.choice("cache") == "disk"
        ambient.quiet_warnings()
        before = ambient.AmbientSnapshot()
        with state.configured(disk=self._disk, remote=self.place.remote), self.place.session():
            self.reset()
            try:
                yield
            finally:
                self.reset()
                self._folders.drop()
                before.restore()

    @contextmanager
    def arm(self, sequence: StepSequence, arm: Arm) -> Iterator[TorchProgram]:
        """Build the program of `arm` from the sequence's seed."""
        namespaces = NamespaceSnapshot(self._modules(sequence))
        before = ambient.AmbientSnapshot()
        options = sequence.options
        settings = CompileSettings(
            backend=self.backends[options.backend],
            mode=MODES[options.mode],
            dynamic=DYNAMIC[options.choice("dynamic")],
            fullgraph=options.choice("fullgraph") == "yes",
        )
        try:
            with hooks_counted() if arm is Arm.EAGER else nullcontext():
                program = TorchProgram(sequence, self.catalogue, arm, settings, self.place)
                ambient.seed_everything(sequence.subject.seed)
                yield program
        finally:
            namespaces.restore()
            before.restore()
            torch._dynamo.config.recompile_limit = 8

    def _modules(self, sequence: StepSequence) -> list[ModuleType]:
        subject = sequence.subject
        _, body = self.architectures[subject.architecture]
        return [body, *(self.constructs[name][1] for name in subject.constructs)]

    def reset(self) -> None:
        """Drop all compiler state of this process; with `cache=disk` on a new empty folder."""
        state.reset_compiler(self._folders, disk=self._disk)

    def begin_watch(self) -> None:
        """Forget compile events seen so far."""
        self._watcher.begin()

    def end_watch(self) -> CallEvents:
        """Return the compile events since `begin_watch`."""
        return self._watcher.end()

    def documented(
        self, sequence: StepSequence, observation: Observation, *, fresh: bool = False
    ) -> str:
        """Return the documented rule under which torch.compile refused a call, or an empty text."""
        return documented_rule(sequence, observation, fresh=fresh)

    def exhausted(self, observation: Observation) -> str:
        """Return that a call raised for want of device memory, or an empty text."""
        ran_out = observation.exception == "OutOfMemoryError" or (
            observation.exception != "" and "out of memory" in observation.message
        )
        return "out of device memory" if ran_out and self.place.remote else ""

    def refusals(self) -> Sequence[Refusal]:
        """Return the rules of documented refusals."""
        return RULES

    def ablations(self) -> Sequence[Ablation]:
        """Return documented limitations of torch.compile that a setting lifts."""
        return ABLATIONS + ON_DEVICES if self.place.remote else ABLATIONS

    def source_trees(self) -> tuple[str, ...]:
        """Return the compiler's part of the torch package."""
        package = Path(torch.__file__).parent
        return tuple(str(package / name) for name in COMPILER_TREES)

    def scripts(self, request: ScriptRequest) -> Iterator[Script]:
        """Yield ways to write a finding as a script of its own, the most readable first."""
        from rondo.frameworks.torch.script import write_scripts

        return write_scripts(request, self.architectures, self.constructs, self.vocabulary())

    def layers(self) -> tuple[Layer, ...]:
        """Return what torch.compile retains between calls, innermost first."""
        return LAYERS

    def inspect(self, sequence: StepSequence, position: int) -> dict[str, Any]:
        """Say which compiled entry served a call, its guards, and what had changed by then."""
        subject = sequence.subject
        files = {name: self.constructs[name][1] for name in subject.constructs}
        files[subject.architecture] = self.architectures[subject.architecture][1]
        return inspect(self, files, sequence, position)

    def environment(self) -> dict[str, str]:
        """Return versions and the machine's kind."""
        return describe_environment()
