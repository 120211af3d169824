"""Steps as lines of a script of jax: calls, changes of flags, and what is done to JAX's caches."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from rondo.frameworks.jax.changes.compiler import OPTIONS
from rondo.frameworks.jax.flags import CHOICES, FLAGS
from rondo.frameworks.jax.program import PRECISIONS
from rondo.frameworks.jax.script_inputs import InputWriter, UnwritableError, Written
from rondo.frameworks.jax.script_verdict import Observed
from rondo.frameworks.shared.script_fold import may_inline, specialise
from rondo.frameworks.shared.script_source import Slice, source_of
from rondo.sequences.step import Call, Change
from rondo.sequences.vocabulary import COMPILER, PROGRAM, Vocabulary

INDENT = "    "
LONGEST_INLINE = 3
OF_MODULES = frozenset(
    [
        "train",
        "eval_",
        "train_part",
        "sgd_step",
        "scale_parameters",
        "copy_parameters",
        "cast_parameters",
        "reset_buffers",
        "load_checkpoint",
    ]
)
"""Changes of parameters and modes, of which a plain function has none."""

RETAINED = {
    "clear_caches": ("jax.clear_caches()",),
    "collect_garbage": ("gc.collect()",),
    "clear_own": ("{f}.clear_cache()", "{f}._clear_cache()"),
    "ahead_of_time": (
        "{f}.eval_shape({x})",
        "{f}.lower({x})",
        "{f}.lower({x}).compile()",
    ),
}
"""Changes of what was retained, by operand."""

OUTCOME = (
    "def outcome(function, *inputs):\n"
    "    try:\n"
    "        jax.block_until_ready(function(*inputs))\n"
    "    except Exception as error:\n"
    '        return f"raises {type(error).__name__}"\n'
    '    return "returns"'
)
APART = (
    "def apart(function, *arguments):  # in a thread of its own\n"
    "    with concurrent.futures.ThreadPoolExecutor(1) as pool:\n"
    "        return pool.submit(function, *arguments).result()"
)
EAGER = "def eager(*inputs):\n    with jax.disable_jit():\n        return {f}(*inputs)"


@dataclass
class Program:
    """The steps of one script, over `{call}` (an earlier call), `{f}` (the jitted function)."""

    judged: Written = field(default_factory=Written)
    lines: list[str] = field(default_factory=list)
    contexts: str = ""
    """The `with` that the judged call is made under."""
    flags: dict[str, object] = field(default_factory=dict)
    """Flags that are changed, with their defaults."""
    modules: set[str] = field(default_factory=set)
    wrap: str = "jax.jit({subject})"

    def lines_of(
        self, layout: str, subject: str, observed: Observed, *, stateless: bool
    ) -> list[str]:
        """Return the script's parts behind its definitions; the last one ends with the arms."""
        wrap = self.wrap.format(subject=subject)
        before = [OUTCOME] if observed.kind == "raises" else []
        if layout == "side by side":
            return [*before, "\n".join(self._side_by_side(wrap, subject, observed, stateless))]
        body = self._run(wrap, observed, layout, stateless=stateless)
        run = ["def run(arm):", *(INDENT + line if line else "" for line in body)]
        parts = [*before, EAGER.format(f=subject), "\n".join(run)]
        arms = ["eager", "retained"] if stateless else ["eager", "retained", "reset"]
        names = ["expected", "got", "fresh"][: len(arms)]
        each = 'apart(run, "{}")' if layout == "threads" else 'run("{}")'
        if layout == "threads":
            self.modules.add("concurrent.futures")
            parts.insert(-1, APART)
        calls = ", ".join(each.format(arm) for arm in arms)
        return [*parts, f"{', '.join(names)} = {calls}"]

    def _value(self, callee: str, observed: Observed) -> str:
        arguments = ", ".join(self.judged.arguments)
        if observed.kind == "raises":
            return f"outcome({', '.join([callee, *self.judged.arguments])})"
        return observed.expression.format(f"{callee}({arguments})")

    def _side_by_side(
        self, wrap: str, subject: str, observed: Observed, stateless: bool
    ) -> list[str]:
        lines = [f"jitted = {wrap}"]
        lines += [line.format(call="jitted", f="jitted", subject=subject) for line in self.lines]
        lines += self.judged.lines
        lines += self._under(f"got = {self._value('jitted', observed)}  # exposes")
        if not stateless:
            lines.append("jax.clear_caches()")
            note = "  # the same call, with nothing retained"
            lines += self._under(f"fresh = {self._value('jitted', observed)}{note}")
        eager = ["with jax.disable_jit():  # what JAX says without jit"]
        eager += [f"{INDENT}expected = {self._value(subject, observed)}"]
        return [*lines, *(self._under(eager[0], eager[1]) if self.contexts else eager)]

    def _under(self, *lines: str) -> list[str]:
        """Return lines under the contexts of the judged call."""
        if not self.contexts:
            return list(lines)
        return [f"with {self.contexts}:", *(INDENT + line for line in lines)]

    def _run(self, wrap: str, observed: Observed, layout: str, *, stateless: bool) -> list[str]:
        lines = ["jax.clear_caches()"]
        lines += [f"jax.config.update({n!r}, {v!r})" for n, v in self.flags.items()]
        lines += [f"jitted = {wrap}", 'call = jitted if arm == "retained" else eager']
        for line in self.lines:
            plain = line.format(call="call", f="jitted", subject="")
            if plain.startswith("# retained: "):
                lines += ['if arm == "retained":', INDENT + plain.removeprefix("# retained: ")]
            else:
                lines.append(plain)
        lines += self.judged.lines
        lines.append('call = eager if arm == "eager" else jitted')
        value = self._under(f"return {self._value('call', observed)}  # exposes")
        if stateless:
            return [*lines, *value]
        if layout == "threads":
            lines += ["", "def exposed():", *(INDENT + line for line in value), ""]
            lines.append('return apart(exposed) if arm == "reset" else exposed()')
            return lines
        lines += ['if arm == "reset":', f"{INDENT}jax.clear_caches()"]
        return [*lines, *value]


class StepWriter:
    """Writes the steps of one sequence. Raises UnwritableError."""

    def __init__(
        self,
        vocabulary: Vocabulary,
        files: Mapping[str, ModuleType],
        inputs: InputWriter,
        *,
        jit: bool,
        side_by_side: bool,
    ) -> None:
        self.vocabulary = vocabulary
        self.files = files
        self.inputs = inputs
        self.jit = jit
        self.side_by_side = side_by_side
        self.program = Program()
        if not jit:
            self.program.wrap = "{subject}"

    def write(
        self,
        steps: Many[Call | Change],
        judged: int,
        establishing: int | None,
        pieces: Slice,
    ) -> Program:
        """Return the program of the steps up to the judged call."""
        program = self.program
        first = next(number for number, step in enumerate(steps) if isinstance(step, Call))
        for number, step in enumerate(steps[:judged]):
            if isinstance(step, Call):
                written = self._inputs(step)
                note = "  # establishes" if number == (establishing or first) else ""
                line = f"{{call}}({', '.join(written.arguments)}){note}"
                under = contexts_of(step)
                program.lines += _literal(written.lines)
                program.lines += [f"with {under}:", INDENT + line] if under else [line]
            elif step.target == COMPILER:
                self._compiler(step)
            else:
                self._change(step, pieces)
        call = steps[judged]
        assert isinstance(call, Call)
        program.judged = self._inputs(call)
        program.contexts = contexts_of(call)
        return program

    def _inputs(self, call: Call) -> Written:
        if call.backward:
            raise UnwritableError("a call that asks for gradients")
        if call.thread:
            raise UnwritableError("a call in another thread")
        return self.inputs.write(call)

    def _compiler(self, step: Change) -> None:
        name = self.vocabulary.targets_by_name[COMPILER].actions[step.action].name
        program = self.program
        if name in ("jit_options", "donate") or (name == "wrap_again" and step.value == 0):
            options = OPTIONS[step.value] if name == "jit_options" else {}
            given = "".join(f", {key}={value!r}" for key, value in options.items())
            braced = given.replace("{", "{{").replace("}", "}}")
            if not self.side_by_side:
                raise UnwritableError("another jit of the same function, unless side by side")
            program.lines.append(f"{{f}} = jax.jit({{subject}}{braced})")
            return
        if name not in RETAINED or not self.jit:
            raise UnwritableError(f"compiler.{name}")
        if name == "collect_garbage":
            program.modules.add("gc")
        usual = Call(sizes=(0,) * len(self.inputs.dimensions))
        written = self.inputs.write(usual) if name == "ahead_of_time" else Written()
        program.lines += _literal(written.lines)
        text = RETAINED[name][step.value].replace("{x}", ", ".join(written.arguments))
        program.lines.append(text if self.side_by_side else f"# retained: {text}")

    def _change(self, step: Change, pieces: Slice) -> None:
        name = self.vocabulary.targets_by_name[step.target].actions[step.action].name
        if step.target == PROGRAM:
            self._program_change(name, step.value)
            return
        module = self.files[step.target]
        definitions = source_of(module.__name__).definitions
        function = definitions.get(name) or definitions.get(f"{name}_")
        if not isinstance(function, ast.FunctionDef):
            raise UnwritableError(f"the change {step.target}.{name}")
        body, locals_ = specialise(function, ast.Name("model", ast.Load()), step.value)
        if not may_inline(body, locals_, set(), LONGEST_INLINE):
            raise UnwritableError(f"the change {step.target}.{name}")
        lines: list[str] = []
        for line in body:
            flag = _flag_set(line, module)
            if flag is not None:
                lines.append(self._flag(*flag))
                continue
            if any(isinstance(n, ast.Name) and n.id == "model" for n in ast.walk(line)):
                raise UnwritableError(f"the change {step.target}.{name}")
            pieces.need_names_of(module, [line])
            lines += _literal(ast.unparse(line).split("\n"))
        lines[0] += "  # changes"
        self.program.lines += lines

    def _program_change(self, name: str, value: int) -> None:
        lines = self.program.lines
        if name == "flag":
            lines.append(f"{self._flag(*CHOICES[value])}  # changes")
        elif name == "seed":
            self.program.modules.add("random")
            lines += [f"random.seed({value})  # changes", f"np.random.seed({value})"]
        elif name == "failing_call" and value == 0:
            self.program.modules.add("contextlib")
            lines += ["with contextlib.suppress(Exception):  # a call that fails", "    {call}()"]
        elif name not in OF_MODULES:
            raise UnwritableError(f"program.{name}")

    def _flag(self, name: str, value: object) -> str:
        self.program.flags[name] = FLAGS[name][0]
        return f"jax.config.update({name!r}, {value!r})"


def contexts_of(call: Call) -> str:
    """Return the context that a call is made under, as an expression; empty where there is none."""
    if not call.autocast:
        return ""
    return f"jax.default_matmul_precision({PRECISIONS[call.choice('autocast')]!r})"


def _literal(lines: Many[str]) -> list[str]:
    """Return lines in which braces stand for themselves."""
    return [line.replace("{", "{{").replace("}", "}}") for line in lines]


def _flag_set(line: ast.stmt, module: ModuleType) -> tuple[str, Any] | None:
    """Return the flag and the value that a line sets by `set_flag`; None where it does not.

    Both are constants of the construct's own file, so they are looked up there.
    """
    if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Call)):
        return None
    call = line.value
    if not (isinstance(call.func, ast.Name) and call.func.id == "set_flag"):
        return None
    name, value = (
        eval(compile(ast.fix_missing_locations(ast.Expression(each)), "", "eval"), vars(module))
        for each in call.args
    )
    return name, value
