"""How a worker died, as a result like any other.

The key insight: a death has an identity too - what killed it, in which arm, behind which change -
so it is confirmed, shortened and bucketed by the code that does so for wrong values.
"""

from __future__ import annotations

import os
import re
import signal
from dataclasses import dataclass
from enum import Enum

from rondo.campaign.journal import Entry
from rondo.oracle.behaviours import cause_of
from rondo.oracle.result import Alarm, Difference, Identity, Result
from rondo.search.tiers import cost_of
from rondo.sequences.codec import decode
from rondo.sequences.step import Change, Sequence, describe_step
from rondo.sequences.vocabulary import Vocabulary

DIED = "died"
"""The verdict of a sequence that its worker did not survive."""
SHOWN_OUTPUT = 200
DEVICE_EXIT = 86
"""Exit code of a worker whose device refuses all further work; its last line begins as follows."""
DEVICE_LOST = "rondo: device lost: "
KIND_OF_LOSS = re.compile(
    r"device-side assert|illegal memory access|misaligned address|illegal instruction"
    r"|invalid program counter|unspecified launch failure|launch timed out|uncorrectable ECC"
)
"""The lasting errors of https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html, by
which a loss is named: the rest of a message has addresses and names of files."""
HANG_WORK = 240.0
"""Work of a hang, in usual executions of a quarter of a second on the cheapest back end: the usual
-timeout is a minute. Not the actual one, since that may change and the search may not."""
SLOW = 4.0
"""What takes longer than the time limit of a step, but less than so many times that, is slow and
does not hang: an execution whose steps all go on, or a step by itself. Some architectures compile
for minutes where all their sizes are symbols."""


class Cause(Enum):
    """What ended a worker; the value is the effect that a finding shows."""

    SIGNAL = "crash"
    EXIT = "exit"
    TIMEOUT = "hang"
    SLOWNESS = "slow"
    MEMORY = "memory"
    DEVICE = "device lost"


@dataclass(frozen=True, slots=True)
class Death:
    """The end of a worker. `detail` names the signal or the exit code; `output` its last words."""

    cause: Cause
    detail: str
    entry: Entry
    output: str = ""


def classify(
    status: int, entry: Entry, *, output: str = "", killed_for: Cause | None = None
) -> Death:
    """Return the death that a raw wait `status` tells of.

    `killed_for` is why the driver killed the worker, if it did. A SIGKILL that the driver did not
    send is the kernel's answer to exhausted memory.
    """
    if killed_for is not None:
        return Death(killed_for, "", entry, output)
    if not os.WIFSIGNALED(status):
        code = os.waitstatus_to_exitcode(status)
        _, lost, told = output.rpartition(DEVICE_LOST)
        if code == DEVICE_EXIT and lost:
            named = KIND_OF_LOSS.search(told)
            return Death(Cause.DEVICE, named[0] if named else "another error", entry, told)
        return Death(Cause.EXIT, str(code), entry, output)
    number = os.WTERMSIG(status)
    if number == signal.SIGKILL:
        return Death(Cause.MEMORY, "", entry, output)
    return Death(Cause.SIGNAL, signal.Signals(number).name, entry, output)


def death_result(death: Death, data: bytes, vocabulary: Vocabulary) -> Result:
    """Return the result that stands for `death`: one alarm, at the step that was in progress.

    None where every step went on and all of them together took too long: that is no fault.
    """
    sequence = decode(data, vocabulary)
    hang = HANG_WORK / cost_of(sequence.options.backend)  # work is in units of the back end's
    if death.cause is Cause.SLOWNESS:
        return Result(Cause.SLOWNESS.value, work=SLOW * hang)
    step = min(max(death.entry.step, 0), max(len(sequence.steps) - 1, 0))
    identity = Identity(
        verdict=DIED,
        effect=death.cause.value,
        backend=vocabulary.backends[sequence.options.backend],
        place=death.entry.arm or "outside",
        exposing=_exposing(sequence, death.entry.step, vocabulary),
        exception=death.detail,
    )
    said = " ".join(death.output.split())[-SHOWN_OUTPUT:]
    difference = Difference(
        path=f"step {step}: {_text(sequence, step, vocabulary)}",
        effect=death.cause.value,
        eager="survives",
        retained=": ".join(part for part in (death.detail or death.cause.value, said) if part),
    )
    work = hang if death.cause is Cause.TIMEOUT else 1.0
    return Result(DIED, (Alarm(step, identity, (difference,)),), work=work)


def _text(sequence: Sequence, step: int, vocabulary: Vocabulary) -> str:
    return describe_step(sequence.steps[step], sequence, vocabulary) if sequence.steps else ""


def _exposing(sequence: Sequence, step: int, vocabulary: Vocabulary) -> str:
    """Return what stands in front of the call in progress, or the change in progress itself."""
    if not 0 <= step < len(sequence.steps):
        return "nothing"
    now = sequence.steps[step]
    if isinstance(now, Change):
        return f"{now.target}.{vocabulary.targets_by_name[now.target].actions[now.action].name}"
    return cause_of(sequence, vocabulary, step)
