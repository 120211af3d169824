"""The steps of a sequence as lines of a script: calls, changes, and what is said of each.

The key insight: the callee is a name, so the same lines serve every arm. `f` is the model in the
eager arm and its compiled form in the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rondo.frameworks.base import CPU
from rondo.frameworks.torch.changes.program import TAKES_ANY_RANK
from rondo.frameworks.torch.script_changes import (
    PROGRAM_MODULE,
    ChangeWriter,
    Compilation,
    compiler_change,
)
from rondo.frameworks.torch.script_inputs import InputWriter, Written
from rondo.frameworks.torch.script_model import Places
from rondo.sequences.step import Call, Change
from rondo.sequences.vocabulary import COMPILER, PROGRAM, Vocabulary

BACKWARD = (
    "def backward(out, **how):",
    "    wanted = [t for t in torch.utils._pytree.tree_leaves(out)",
    "              if isinstance(t, torch.Tensor) and t.requires_grad]",
    "    if wanted:",
    "        weights = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype) for t in wanted]",
    "        sum((t.flatten() * w).sum() for t, w in zip(wanted, weights)).backward(**how)",
)
"""Every output takes part, each element with a weight of its own, as in Rondo's calls."""


@dataclass
class Program:
    """The lines before the judged call, that call, and what they need besides."""

    lines: list[str] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)
    globals_: set[str] = field(default_factory=set)
    functions: list[str] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    judged: Written = field(default_factory=Written)
    arms_differ: bool = False
    """Whether some line is for the retained arm alone."""
    wraps_again: bool = False


class StepWriter:
    """Writes the steps of one script, in order."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        files: Places,
        changes: ChangeWriter,
        inputs: InputWriter,
        compilation: Compilation,
        *,
        callee: str,
        exact: bool,
        arms: bool,
        clean: bool = False,
        keep_outputs: bool = False,
        is_tuple: bool = False,
        architecture: str = "",
        device: str = CPU,
    ) -> None:
        self.device = device
        self.architecture = architecture
        self.vocabulary = vocabulary
        self.files = files
        self.changes = changes
        self.inputs = inputs
        self.compilation = compilation
        self.callee = callee
        self.exact = exact
        self.arms = arms
        self.clean = clean
        self.keep_outputs = keep_outputs
        self.is_tuple = is_tuple
        self.program = Program()

    def wrap(self) -> list[str]:
        """Return the lines that make the callee."""
        expression = self.compilation.expression()
        if not self.arms:
            return [f"{self.callee} = {expression}"]
        if self.clean:
            # Only the retained arm has a compiled past.
            retained = f'{self.callee} = compiled if arm == "retained" else model'
            return [f"compiled = {expression}", retained]
        return [f'{self.callee} = model if arm == "eager" else {expression}']

    def write(
        self,
        steps: Sequence[Call | Change],
        judged: int,
        establishing: int | None,
        taken: set[str],
        renamed: dict[str, dict[str, str]],
    ) -> Program:
        """Write the steps before the judged one, and the inputs of that one."""
        program = self.program
        for position, step in enumerate(steps[:judged]):
            if isinstance(step, Call):
                note = "  # establishes" if position == establishing else ""
                written = self._inputs(step)
                name = "out" if step.backward or self.keep_outputs else ""
                if self.keep_outputs:
                    name = f"out{len(program.earlier) + 1}"
                    program.earlier.insert(0, name)
                lines = self.call(step, self.callee, written, name)
                first = next(i for i, line in enumerate(lines) if f"{self.callee}" in line)
                lines[first] += note
                program.lines += [*written.lines, *lines]
            elif step.target == COMPILER:
                self._compiler(step)
            else:
                self._change(step, taken, renamed)
        call = steps[judged]
        assert isinstance(call, Call)
        program.judged = self._inputs(call)
        program.lines = repeated(program.lines)
        return program

    def _inputs(self, call: Call) -> Written:
        """Write a call's inputs, marked as compiler changes before it have asked."""
        written = self.inputs.write(call)
        marks, self.compilation.marks = self.compilation.marks, []
        if not marks:
            return written
        for variable, rank in list(written.tensors.items()):
            if not rank:
                continue
            marked = variable
            if not self.exact and variable not in written.leaves.values():
                # Marks stay on a tensor, and later calls take theirs unmarked.
                marked = f"{variable}_marked"
                written.lines.append(f"{marked} = {variable}.clone()")
                written.arguments = {
                    name: marked if value == variable else value
                    for name, value in written.arguments.items()
                }
            written.lines += [mark.format(marked) for mark in marks]
        return written

    def call(self, call: Call, callee: str, written: Written, name: str) -> list[str]:
        """Return the lines of one call, its backward included; `name` takes the output."""
        arguments = ", ".join(written.arguments.values())
        contexts = []
        if call.grad:
            contexts.append(
                "torch.no_grad()" if call.choice("grad") == "no_grad" else "torch.inference_mode()"
            )
        if call.autocast:
            contexts.append(
                f'torch.autocast("{self.device}", dtype=torch.{call.choice("autocast")})'
            )
        if call.thread:
            self.program.modules.add("concurrent.futures")
            for context in contexts:
                callee = f"{context}({callee})"
            given = f"{callee}, {arguments}"
            if self.compilation.own_backend == "inductor":  # threads start with default settings
                self.program.modules.add("contextvars")
                given = f"contextvars.copy_context().run, {given}"
            pool = "1"
            if self.device != CPU:  # threads start with the CPU as the default device
                pool = f'1, initializer=torch.set_default_device, initargs=("{self.device}",)'
            expression = f"concurrent.futures.ThreadPoolExecutor({pool}).submit({given}).result()"
            contexts = []
        else:
            expression = f"{callee}({arguments})"
        line = f"{name} = {expression}" if name else expression
        lines = [line]
        if contexts:
            lines = [f"with {', '.join(contexts)}:", f"    {line}"]
        if call.backward and not call.grad:
            lines += self._backward(call, name, written)
        return lines

    def _backward(self, call: Call, name: str, written: Written) -> list[str]:
        kind = call.choice("backward")
        simple = not self.exact and not self.is_tuple
        if kind == "create_graph":
            leaves = ", ".join(written.leaves.values())
            if not leaves:
                return []
            loss = f"{name}.sum()" if not self.is_tuple else f"{name}[0].sum()"
            return [
                f"grads = torch.autograd.grad({loss}, [{leaves}], create_graph=True,"
                " allow_unused=True)",
                f"{name} = (*torch.utils._pytree.tree_leaves({name}),"
                " *[g.detach() for g in grads if g is not None])",
            ]
        if simple:
            twice = f"{name}.sum().backward(retain_graph=True)"
            return [*([twice] if kind == "twice" else []), f"{name}.sum().backward()"]
        if "\n".join(BACKWARD) not in self.program.functions:
            self.program.functions.append("\n".join(BACKWARD))
        if kind == "twice":
            # One loss, two passes: the second frees what the first has retained.
            return [f"backward({name}, retain_graph=True)", f"backward({name})"]
        return [f"backward({name})"]

    def _compiler(self, step: Change) -> None:
        program = self.program
        action = self.vocabulary.targets_by_name[COMPILER].actions[step.action]
        text = compiler_change(self.compilation, action.name, step.value)
        program.modules |= set(text.modules)
        lines = list(text.lines)
        if lines and not text.carries:
            program.arms_differ = True
            if self.arms:
                lines = ['if arm == "retained":', *(f"    {line}" for line in lines)]
        program.lines += lines
        if text.rewraps:
            program.wraps_again = True
            program.lines += self.wrap()

    def _change(self, step: Change, taken: set[str], renamed: dict[str, dict[str, str]]) -> None:
        program = self.program
        action = self.vocabulary.targets_by_name[step.target].actions[step.action].name
        if step.target == PROGRAM and action == "failing_call":
            self._failing_call(step.value)
            return
        module = PROGRAM_MODULE if step.target == PROGRAM else self.files[step.target][1]
        text = self.changes.write(step, action, module, taken, renamed)
        lines = list(text.lines) or ["pass"]
        if step.target == PROGRAM and action == "seed":
            lines = [line for line in lines if line.startswith("torch.") or _draws(line, taken)]
        program.globals_ |= text.globals_
        if text.function and text.function not in program.functions:
            program.functions.append(text.function)
        lines[0] += "  # changes"
        program.lines += lines

    def _failing_call(self, value: int) -> None:
        """Write the call that must raise: with tensors of rank 0 (0) or with nothing (1)."""
        arguments: list[str] = []
        if value == 0 and self.architecture not in TAKES_ANY_RANK:
            usual = Call(sizes=(0,) * len(self.inputs.dimensions))
            written = self.inputs.write(usual)
            self.program.lines += written.lines
            arguments = [
                f"{name}.new_zeros(())" if name in written.tensors else name
                for name in written.arguments.values()
            ]
        self.program.modules.add("contextlib")
        self.program.lines += [
            "with contextlib.suppress(Exception):  # a call that fails",
            f"    {self.callee}({', '.join(arguments)})",
        ]


def _draws(line: str, taken: set[str]) -> bool:
    return line.partition(".")[0] in taken


def repeated(lines: list[str]) -> list[str]:
    """Return the lines with three or more equal ones in a row as a loop."""
    result: list[str] = []
    position = 0
    while position < len(lines):
        line = lines[position]
        plain = line.partition("  # ")[0]
        count = 1
        while position + count < len(lines) and lines[position + count] == plain:
            count += 1
        if count >= 3 and not plain.startswith((" ", "with ", "if ", "for ", "def ")):
            result += [f"for _ in range({count}):", f"    {line}"]
            position += count
        else:
            result.append(line)
            position += 1
    return result
