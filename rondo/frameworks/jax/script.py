"""A finding as a standalone script: jax and numpy and nothing else, as a person would write it.

The key insight: a subject whose forward reads nothing of its module is a plain function, and what
jit knows of a plain function is what it knows of the subject. So such subjects become functions, a
line for each call and change. A forward that does read its module is refused and not guessed: there
jit's key holds the module's attributes, and a function that closes over them would be stale by
JAX's own documentation, which is another bug or none.

Layouts, the most readable first:

1. *side by side*: the jitted call next to the same call after `jax.clear_caches()` and without jit;
2. *runs*: the steps run eagerly, retained and after a reset, with JAX's flags put back before each;
3. *threads*: the same, each run in a thread of its own, for what JAX keeps in a thread.

Each is tried with round numbers as inputs first, then with the numbers of the sequence.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from types import ModuleType
from typing import Any

from rondo.errors import RondoError
from rondo.frameworks.base import Script, ScriptRequest
from rondo.frameworks.jax.script_inputs import InputWriter, UnwritableError
from rondo.frameworks.jax.script_steps import StepWriter
from rondo.frameworks.jax.script_verdict import AGREES, observed_of, verdict_lines
from rondo.frameworks.shared.script_fold import strip, without_parameter
from rondo.frameworks.shared.script_source import (
    Slice,
    class_name,
    defined_in,
    import_lines,
    rename,
    source_of,
)
from rondo.frameworks.shared.script_tidy import tidy
from rondo.frameworks.shared.script_trim import trim
from rondo.oracle.result import Verdict
from rondo.sequences.step import Call
from rondo.sequences.vocabulary import SMALLEST, Vocabulary
from rondo.subjects.target import Architecture, Construct

Places = Mapping[str, tuple[Architecture | Construct, ModuleType]]

LAYOUTS = ("side by side", "runs", "threads")
INPUTS = {False: "", True: ", exact inputs"}
COMPILER_OFF = {"JAX_DISABLE_JIT": "1"}
"""Under this `jax.jit` gives back what it was given: a script must show nothing then."""
ENVIRONMENT = {"JAX_PLATFORMS": "cpu"}
HARNESS = frozenset(
    ["f", "jitted", "call", "run", "eager", "apart", "expected", "got", "fresh", "bug", "x"]
)
"""Names that the script itself uses."""
BASE = "rondo.frameworks.jax.module"


class NoScriptError(RondoError):
    """The finding cannot be written as a script of jax; the text says why."""

    slug = "export"


def write_scripts(
    request: ScriptRequest, architectures: Places, constructs: Places, vocabulary: Vocabulary
) -> Iterator[Script]:
    """Yield the scripts of all layouts that can express the finding. Raises NoScriptError."""
    reason, written = "", False
    places = architectures, constructs
    for exact, layout in product(INPUTS, LAYOUTS):
        try:
            text = ScriptWriter(request, layout, *places, vocabulary, exact=exact).write()
        except UnwritableError as error:
            reason = str(error)
            continue
        written = True
        yield Script(f"{layout}{INPUTS[exact]}", text, COMPILER_OFF, AGREES, ENVIRONMENT)
    if not written:
        raise NoScriptError(f"a script of jax cannot say this yet: {reason}")


@dataclass(frozen=True, slots=True)
class Part:
    """A construct as a function: its name, its definition, whether it puts out a tuple."""

    name: str
    definition: ast.FunctionDef
    is_tuple: bool
    module: ModuleType


class ScriptWriter:
    """Writes one script in one layout. Raises UnwritableError where that cannot express it."""

    def __init__(
        self,
        request: ScriptRequest,
        layout: str,
        architectures: Places,
        constructs: Places,
        vocabulary: Vocabulary,
        *,
        exact: bool,
    ) -> None:
        self.request = request
        self.exact = exact
        self.layout = layout
        self.vocabulary = vocabulary
        self.sequence = request.sequence
        spec = self.sequence.subject
        if request.form == "test":
            raise UnwritableError("tests are written for torch alone")
        if spec.architecture != SMALLEST:
            raise UnwritableError(f"the architecture {spec.architecture}")
        if not spec.constructs:
            raise UnwritableError("there is no construct")
        if self.sequence.options.choice("cache") == "disk":
            raise UnwritableError("the persistent cache")
        architecture = architectures[spec.architecture][0]
        assert isinstance(architecture, Architecture)
        self.architecture = architecture
        self.constructs = {name: constructs[name] for name in spec.constructs}
        self.pieces = Slice()
        self.verdict = request.alarm.identity.verdict
        self.stateless = self.verdict == Verdict.STATELESS.value
        if self.verdict not in (Verdict.STATEFUL.value, Verdict.STATELESS.value):
            raise UnwritableError(f"the verdict {self.verdict}")

    def write(self) -> str:
        """Return the script."""
        parts = [self._part(name) for name in self.constructs]
        steps = StepWriter(
            self.vocabulary,
            {name: module for name, (_, module) in self.constructs.items()},
            self._inputs(),
            jit=self.vocabulary.backends[self.sequence.options.backend] == "jit",
            side_by_side=self.layout == "side by side",
        )
        judged = self.request.alarm.step
        program = steps.write(self.sequence.steps, judged, self.request.establishing, self.pieces)
        taken = self.pieces.bound()
        if shared := sorted((HARNESS | defined_in(self.request.preludes)) & taken):
            raise UnwritableError(f"the name {', '.join(shared)}, which is the script's own")
        renamed = self.pieces.clashes()
        functions = [
            ast.unparse(rename(p.definition, renamed.get(p.module.__name__, {}))) for p in parts
        ]
        helpers = [
            ast.unparse(rename(strip(node), renamed.get(module, {})))
            for module, node in self.pieces.definitions()
        ]
        is_tuple = any(part.is_tuple for part in parts)
        observed = observed_of(self.request.alarm.differences[0], is_tuple=is_tuple)
        subject = parts[0].name if len(parts) == 1 else "f"
        composed = [] if len(parts) == 1 else [self._composed(parts)]
        call = self.sequence.steps[judged]
        assert isinstance(call, Call)
        body = program.lines_of(self.layout, subject, observed, stateless=self.stateless)
        verdict = verdict_lines(observed, stateless=self.stateless)
        text = "\n\n".join(
            [*helpers, *functions, *composed, *body[:-1], "\n".join([body[-1], *verdict])]
        )
        return tidy(f"{self._header(text, program.modules)}\n\n{text}\n")

    def _inputs(self) -> InputWriter:
        specs = [
            *self.architecture.schema.inputs,
            *(spec for target, _ in self.constructs.values() for spec in target.inputs),
        ]
        return InputWriter(
            specs,
            self.architecture.schema.dimensions,
            seed=self.sequence.subject.seed,
            exact=self.exact,
        )

    def _part(self, name: str) -> Part:
        """Return a construct as a function of its inputs. Raises UnwritableError."""
        target, module = self.constructs[name]
        built = class_name(target)
        node: Any = strip(source_of(module.__name__).definitions[built])
        node = without_parameter(node, "features", ast.Constant(self.architecture.features))
        node = trim(node, [])
        left = [item.name for item in node.body if isinstance(item, ast.FunctionDef)]
        (forward,) = (item for item in node.body if getattr(item, "name", "") == "forward")
        reads = {each.id for each in ast.walk(forward) if isinstance(each, ast.Name)}
        own = forward.args.args[0].arg
        if own in reads or left != ["forward"]:
            raise UnwritableError(f"the construct {name}, whose forward reads its module")
        function = ast.FunctionDef(
            name=name,
            args=ast.arguments([], forward.args.args[1:], forward.args.vararg, [], [], None, []),
            body=forward.body,
            decorator_list=[],
        )
        self.pieces.need_names_of(module, forward.body)
        results = [each.value for each in ast.walk(forward) if isinstance(each, ast.Return)]
        is_tuple = any(isinstance(value, ast.Tuple) for value in results)
        return Part(name, ast.fix_missing_locations(function), is_tuple, module)

    def _composed(self, parts: list[Part]) -> str:
        """Return the function that runs one construct after the other."""
        names = [spec.name for spec in self.architecture.schema.inputs]
        first, given, extras = names[0], list(names), []
        lines = []
        for number, part in enumerate(parts):
            own = [f"{arg.arg}{number or ''}" for arg in part.definition.args.args[1:]]
            given += own
            arguments = ", ".join(["hidden" if number else first, *own])
            more = f", *more{number}" if part.is_tuple else ""
            extras += [f"*more{number}"] if part.is_tuple else []
            lines.append(f"    hidden{more} = {part.name}({arguments})")
        lines.append(f"    return {', '.join(['hidden', *extras])}")
        return "\n".join([f"def f({', '.join(given)}):", *lines])

    def _header(self, text: str, modules: set[str]) -> str:
        imports = dict(self.pieces.imports)
        for module in ("sys", "jax", *modules):
            imports.setdefault(module, (module, ""))
        imports["np"] = ("numpy", "")
        imports["jnp"] = ("jax.numpy", "")
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        imports = {name: value for name, value in imports.items() if name.partition(".")[0] in used}
        doc = f'"""{self.request.title}"""\n\n' if self.request.title else ""
        return "\n\n".join([doc + "\n".join(import_lines(imports)), *self.request.preludes])
