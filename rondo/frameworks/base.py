"""The interface that a compiler stack implements to be fuzzed.

The key insight: the oracle needs five verbs only. *Build* a program from a sequence's subject,
*call* it eagerly or compiled, *change* it, *reset* the compiler for real, and *watch* compile
events. Everything a verb returns is plain data; the campaign never sees a tensor.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, NoReturn, Protocol

from rondo.errors import DeviceError, SubjectError
from rondo.oracle.observation import Observation
from rondo.oracle.result import Alarm
from rondo.sequences.step import Call, Change
from rondo.sequences.step import Sequence as StepSequence
from rondo.sequences.vocabulary import Vocabulary
from rondo.subjects.user import UserSubject

AUTO, CPU = "auto", "cpu"
"""What may be asked for besides the name of a device, and the device that every machine has."""


class DeviceLostError(BaseException):
    """The device does no more work in this process, whatever it is asked.

    No Exception: whoever takes a step's own errors for observations must not take this for one.
    """


def raise_lost(told: str) -> NoReturn:
    """Raise DeviceLostError with what the device told."""
    raise DeviceLostError(told)


class Arm(Enum):
    """One way to run a sequence."""

    EAGER = "eager"
    RETAINED = "retained"
    RESET = "reset"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class CallEvents:
    """What the compiler did during one step: readable labels without addresses, ids or times.

    `compiled` tells whether compiled code served the call, `compilations` how often the compiler
    produced code during it. `work` is what that took, counted and not timed, in usual executions of
    a small subject; None where an adapter counts nothing finer than compilations.
    """

    labels: tuple[str, ...]
    compiled: bool
    compilations: int
    work: float | None = None


@dataclass(frozen=True, slots=True)
class Layer:
    """One thing that the compiler retains: its name and the compiler changes that drop it alone.

    `drop` holds actions of the target `compiler` with their operands, made right before a call.
    """

    name: str
    doc: str
    drop: tuple[tuple[str, int], ...]
    disk: bool = False
    """Whether it exists only where the sequence keeps caches on disk."""


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """A finding that is to become a script: the sequence, its alarm, and what came before."""

    sequence: StepSequence
    alarm: Alarm
    establishing: int | None = None
    title: str = ""
    preludes: tuple[str, ...] = ()
    """Sources of the user's preloads, in order."""
    form: str = "script"
    """`script`, or `test` for one that pytest runs."""
    device: str = CPU
    """Where the subject lives."""


@dataclass(frozen=True, slots=True)
class Script:
    """A script, how it is laid out, and the environment in which its compiler does nothing.

    `agrees` is a regular expression that the script's line must match then: all arms are equal.
    """

    layout: str
    text: str
    compiler_off: Mapping[str, str]
    agrees: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables for every run; `{folder}` stands for the empty folder that it runs in."""


class Refusal(Protocol):
    """A documented refusal: exception types, a part of the message, where it is written."""

    @property
    def kind(self) -> str:
        """What is refused, and why."""

    @property
    def exceptions(self) -> frozenset[str]:
        """The types of exceptions that say so."""

    @property
    def message(self) -> str:
        """A part of their message; empty for any."""

    @property
    def link(self) -> str:
        """Where it is written."""


def always(sequence: StepSequence) -> bool:
    """Whether a rule may be asked for by any sequence: the answer of those that ask nothing."""
    return True


@dataclass(frozen=True, slots=True)
class Ablation:
    """A documented limitation that a setting lifts: its rule, and the context that lifts it.

    Trying it costs another run of the compiled arm. `concerns` says, once that arm has run, whether
    the setting can make any difference to a sequence; where it cannot, nobody tries. `anew` says
    that code which was just compiled has the limitation too: the others explain stateful bugs only.
    """

    rule: str
    lifted: Callable[[], AbstractContextManager[object]]
    concerns: Callable[[StepSequence], bool] = always
    anew: bool = False


class Program(ABC):
    """One arm's own copy of a subject. Arms share nothing but the seed."""

    @abstractmethod
    def call(self, call: Call, *, compiled: bool) -> Observation:
        """Invoke the subject once and return all that a user sees afterwards."""

    def invoke(self, call: Call, *, compiled: bool) -> None:
        """Invoke the subject once and look at nothing: what a call costs without an oracle."""
        self.call(call, compiled=compiled)

    @abstractmethod
    def change(self, change: Change) -> Observation | None:
        """Change program state; in a compiled arm also what configures later compiles.

        Returns an observation when the change itself raised or showed something.
        """

    @abstractmethod
    def compiler_change(self, change: Change) -> Observation | None:
        """Act on what the compiler has retained (only the retained arm does this)."""


class Framework(ABC):
    """An adapter to one compiler stack."""

    name: ClassVar[str]
    no_kernel: ClassVar[re.Pattern[str] | None] = None
    """What the message of an eager call says when no kernel takes its dtypes."""
    devices: ClassVar[tuple[str, ...]] = (CPU,)
    """Where subjects can live; the last one that this machine has is what `auto` means."""
    device: str = CPU
    """Where they live."""
    lose_device: Callable[[str], NoReturn] = staticmethod(raise_lost)
    """Gives up: by what it is told, the device does no more work in this process. A worker puts the
    end of its process in the place of this. A CPU is never lost."""

    def absent(self, device: str) -> str:
        """Return why `device`, one of `devices`, cannot be used here, or an empty text.

        This is asked before workers are forked and must not start the device's runtime: a process
        that has done so cannot be copied.
        """
        return ""

    def use_device(self, wanted: str, *, limit_mb: int = 0) -> None:
        """Have subjects live on `wanted`: the name of a device, or `auto`. Raises DeviceError.

        `limit_mb` bounds the device memory of each process (0: no bound); the CPU has none. To be
        called before the vocabulary is asked for, since a device may lack some subjects.
        """
        if wanted == AUTO:
            wanted = next(each for each in reversed(self.devices) if not self.absent(each))
        elif wanted not in self.devices:
            known = ", ".join((AUTO, *self.devices))
            raise DeviceError(f"{self.name} has no device {wanted!r} for subjects: {known}")
        elif reason := self.absent(wanted):
            raise DeviceError(reason)
        self.device = wanted

    def unforkable(self) -> str:
        """Return why this process can no longer be copied, or an empty text."""
        return ""

    @abstractmethod
    def vocabulary(self) -> Vocabulary:
        """Return all that sequences for this framework can say."""

    def add_subject(self, subject: UserSubject) -> None:
        """Make a user's model the only architecture there is. Raises SubjectError if it cannot."""
        raise SubjectError(f"{self.name} takes no subjects of the user's own yet")

    @abstractmethod
    def warm(self) -> None:
        """Import all that a first compile would import, without running or compiling anything."""

    @abstractmethod
    def session(self, sequence: StepSequence) -> AbstractContextManager[None]:
        """Configure the compiler for `sequence` and, on leaving, put every ambient state back."""

    @abstractmethod
    def arm(self, sequence: StepSequence, arm: Arm) -> AbstractContextManager[Program]:
        """Build the program of one arm; on leaving, put back what its steps changed."""

    @abstractmethod
    def reset(self) -> None:
        """Drop all that the compiler keeps in this process; give it empty disk caches."""

    @abstractmethod
    def begin_watch(self) -> None:
        """Forget compile events seen so far."""

    @abstractmethod
    def end_watch(self) -> CallEvents:
        """Return the compile events since `begin_watch`."""

    def documented(
        self, sequence: StepSequence, observation: Observation, *, fresh: bool = False
    ) -> str:
        """Return the documented rule under which the compiler refused a call, or an empty text.

        `fresh`: it is what a reset arm shows, so that nothing retained can be to blame for it.
        """
        return ""

    def cannot(self, observation: Observation) -> str:
        """Return that eager itself has no kernel for a call that raised there, or an empty text.

        A compiler that can do what eager cannot has made nothing wrong.
        """
        found = self.no_kernel.search(observation.message) if self.no_kernel else None
        return f"eager has no kernel: {found[0]}" if found else ""

    def exhausted(self, observation: Observation) -> str:
        """Return that a call raised for want of device memory, or an empty text.

        How much there is depends on what else runs: no arm is at fault.
        """
        return ""

    def refusals(self) -> Sequence[Refusal]:
        """Return the rules that `documented` goes by, for the table of limitations."""
        return ()

    def ablations(self) -> Sequence[Ablation]:
        """Return documented limitations that a setting lifts.

        A stateful difference that goes away under one of them is that limitation, and no fault.
        """
        return ()

    def source_trees(self) -> tuple[str, ...]:
        """Return the folders and files of the compiler's own Python source, for line coverage."""
        return ()

    def scripts(self, request: ScriptRequest) -> Iterator[Script]:
        """Yield ways to write a finding as a script of its own, the most readable first.

        Each is written when it is asked for; whether it shows the bug is the caller's to find out.
        """
        return iter(())

    def layers(self) -> tuple[Layer, ...]:
        """Return what the compiler retains between calls, innermost first, and what drops each."""
        return ()

    def inspect(self, sequence: StepSequence, position: int) -> dict[str, Any]:
        """Run the retained arm up to the call at `position` and say what it relies on.

        Plain data, as `rondo.findings.locate.Inspection` reads it; empty where nothing can be said.
        """
        return {}

    @abstractmethod
    def environment(self) -> dict[str, str]:
        """Return what a maintainer asks about the environment, as names and values."""
