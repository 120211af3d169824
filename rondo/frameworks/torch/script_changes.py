"""Changes as lines of a script: the body of a change, written in place or kept as a function.

Compiler changes are a table: what each does to how the script compiles, or to what it retained.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import ModuleType

from rondo.frameworks.shared.script_fold import may_inline, specialise
from rondo.frameworks.shared.script_source import Slice, rename, source_of, unused
from rondo.frameworks.torch.changes import compiler as compiler_changes
from rondo.frameworks.torch.changes import program as program_changes
from rondo.frameworks.torch.changes.compiler import (
    CONFIGURATIONS,
    CONFIGURED,
    MARK_BOUNDS,
    OTHER_BACKEND,
    STANCES,
)
from rondo.frameworks.torch.script_observe import UnwritableError
from rondo.sequences.step import Change
from rondo.sequences.vocabulary import PROGRAM

LONGEST_INLINE = 3
"""Statements that a change may have to be written in place instead of as a function."""

MARKS = (
    "torch._dynamo.maybe_mark_dynamic({}, 0)",
    "torch._dynamo.mark_static({}, 0)",
    "torch._dynamo.mark_dynamic({}, 0)",
    f"torch._dynamo.mark_dynamic({{}}, 0, min={MARK_BOUNDS[0]}, max={MARK_BOUNDS[1]})",
    "torch._dynamo.decorators.mark_unbacked({}, 0)",
)


@dataclass(frozen=True, slots=True)
class ChangeText:
    """A change: lines to write in place, with the globals that they assign, or a function."""

    lines: tuple[str, ...]
    globals_: frozenset[str] = frozenset()
    function: str = ""


class ChangeWriter:
    """Writes the changes of one script. First `gather` all, then `write` each."""

    def __init__(self, pieces: Slice, owners: Mapping[str, str], places: Mapping[str, str]) -> None:
        self.pieces = pieces
        self.owners = owners
        self.places = places
        self._functions: dict[str, tuple[ast.stmt, str]] = {}

    def gather(self, change: Change, action: str, module: ModuleType) -> None:
        """Take what the change refers to into the script."""
        body, _ = self._body(change, action, module)
        self.pieces.need_names_of(module, body)

    def write(
        self,
        change: Change,
        action: str,
        module: ModuleType,
        taken: set[str],
        renamed: Mapping[str, Mapping[str, str]],
    ) -> ChangeText:
        """Return the change as text; `taken` are the names that its locals must leave alone."""
        body, names = self._body(change, action, module)
        mine = renamed.get(module.__name__, {})
        body = [rename(line, mine) for line in body]
        declared = frozenset(
            name
            for line in body
            for node in ast.walk(line)
            if isinstance(node, ast.Global)
            for name in node.names
        )
        if may_inline(body, names, taken, LONGEST_INLINE):
            kept = [line for line in body if not isinstance(line, (ast.Global, ast.Pass))]
            return ChangeText(tuple(t for line in kept for t in _lines(line)), declared)
        text = "\n".join(f"    {t}" for line in body for t in _lines(line))
        name = unused(action, taken | set(self._functions))
        for known, (_, other) in self._functions.items():
            if other == text:
                name = known
        self._functions[name] = (body[0], text)
        owner = self.owners.get(change.target, "model")
        return ChangeText((f"{name}({owner})",), function=f"def {name}(model):\n{text}")

    def _body(
        self, change: Change, action: str, module: ModuleType
    ) -> tuple[list[ast.stmt], set[str]]:
        """Return the change's statements, over the module's name in the script."""
        source = source_of(module.__name__)
        function = source.definitions.get(action) or source.definitions.get(f"{action}_")
        if not isinstance(function, ast.FunctionDef):
            raise UnwritableError(f"the change {change.target}.{action}")
        if change.target == PROGRAM:
            body, names = specialise(function, ast.Name("program", ast.Load()), change.value)
            replaced = [_Program(self.places).visit(line) for line in body]
            return [ast.fix_missing_locations(line) for line in replaced], names
        owner = self.owners.get(change.target)
        if owner is None:
            raise UnwritableError(f"a change of {change.target}, which is left out")
        parsed = ast.parse(owner, mode="eval").body
        body, names = specialise(function, parsed, change.value)
        return body, names


def _lines(statement: ast.stmt) -> list[str]:
    return ast.unparse(statement).split("\n")


class _Program(ast.NodeTransformer):
    """Writes `program.module.body` and the like as what these are called in the script."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = places

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        text = ast.unparse(node)
        if text == "program.module.body":
            return self._place("body")
        if text == "program.module.tail":
            if "tail.1" in self.places:
                raise UnwritableError("a change of all constructs and not of the body")
            return self._place("tail.0")
        if text == "program.module":
            return ast.Name("model", ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == "program":
            raise UnwritableError("a change of the running program itself")
        return node

    def _place(self, name: str) -> ast.expr:
        if name not in self.places:
            raise UnwritableError(f"a change of the {name}, which is left out")
        return ast.parse(self.places[name], mode="eval").body


@dataclass
class Compilation:
    """How the script compiles, as compiler changes have left it."""

    backend: str
    mode: str = "default"
    dynamic: bool | None = None
    fullgraph: bool = False
    own_backend: str = ""
    marks: list[str] = field(default_factory=list)
    configured: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.own_backend = self.own_backend or self.backend

    def expression(self) -> str:
        """Return the call that wraps the model."""
        options = [] if self.backend == "inductor" else [f'backend="{self.backend}"']
        if self.backend == "inductor" and self.mode != "default":
            options.append(f'mode="{self.mode}"')
        if self.dynamic is not None:
            options.append(f"dynamic={self.dynamic}")
        if self.fullgraph:
            options.append("fullgraph=True")
        return f"torch.compile({', '.join(['model', *options])})"


@dataclass(frozen=True, slots=True)
class CompilerText:
    """A compiler change: its lines, whether it wraps again, and whether all arms make it."""

    lines: tuple[str, ...] = ()
    rewraps: bool = False
    carries: bool = False
    modules: tuple[str, ...] = ()


def compiler_change(compilation: Compilation, name: str, value: int) -> CompilerText:
    """Return what the compiler change does, and note in `compilation` what it leaves behind."""
    if name in ("dynamic", "wrap_again", "backend", "mode"):
        if name == "dynamic":
            compilation.dynamic = (None, True, False)[value]
        elif name == "backend":
            own = compilation.own_backend
            compilation.backend = own if value else OTHER_BACKEND.get(own, "eager")
        elif name == "mode":
            compilation.mode = ("reduce-overhead", "default")[value]
        return CompilerText((), rewraps=True, carries=True)
    if name == "mark_next_inputs":
        compilation.marks.append(MARKS[value])
        return CompilerText((), carries=True)
    if name == "configure":
        lines, modules = _configuration(compilation, value)
        return CompilerText(lines, rewraps=True, carries=True, modules=modules)
    if name == "recompile_limit":
        line = f"torch._dynamo.config.recompile_limit = {(1, 2, 8)[value]}"
        return CompilerText((line,), carries=True)
    if name == "stance":
        return CompilerText((f'torch.compiler.set_stance("{STANCES[value]}")',))
    lines, modules = RETAINED[name]
    if name == "drop_disk_cache":
        lines = (lines[value],)
    return CompilerText(lines, modules=modules)


def _configuration(compilation: Compilation, value: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the lines that flip one entry of torch's configuration, or put all of them back."""
    if value < len(CONFIGURED):
        name, flipped = CONFIGURED[value]
        compilation.configured.append(name)
        entries: dict[str, object] = {name: flipped}
    else:
        entries = {name: _usual(name) for name in compilation.configured}
    lines, modules = [], []
    for name, setting in entries.items():
        part, _, entry = name.partition(".")
        modules.append(f"torch._{part}.config")
        lines.append(f"{modules[-1]}.{entry} = {setting}")
    return tuple(lines), tuple(modules)


def _usual(name: str) -> object:
    part, _, entry = name.partition(".")
    return getattr(CONFIGURATIONS[part], entry)


RETAINED: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "mark_step_begin": (("torch.compiler.cudagraph_mark_step_begin()",), ()),
    "reset_memory": (("torch.compiler.reset()",), ()),
    "clear_fake_cache": (("torch._subclasses.fake_tensor.FakeTensorMode.cache_clear()",), ()),
    "collect_garbage": (("gc.collect()",), ("gc",)),
    "reset_code": (
        (
            "for code in [ref() for ref in torch._dynamo.convert_frame.input_codes.seen]:",
            "    torch._C._dynamo.eval_frame.reset_code(code)",
        ),
        ("torch._dynamo.convert_frame",),
    ),
    "forget_sizes": (
        ("torch._dynamo.pgo.reset_code_state()",),
        ("torch._dynamo.pgo",),
    ),
    "drop_disk_cache": (
        (
            "torch._inductor.codecache.FxGraphCache.clear()",
            "torch._functorch._aot_autograd.autograd_cache.AOTAutogradCache.clear()",
        ),
        ("torch._inductor.codecache", "torch._functorch._aot_autograd.autograd_cache"),
    ),
    "reload_artifacts": (
        (
            "saved = torch.compiler.save_cache_artifacts()",
            "torch.compiler.reset()",
            "torch._inductor.codecache.FxGraphCache.clear()",
            "torch._functorch._aot_autograd.autograd_cache.AOTAutogradCache.clear()",
            "torch.compiler.load_cache_artifacts(saved[0])",
        ),
        ("torch._inductor.codecache", "torch._functorch._aot_autograd.autograd_cache"),
    ),
}
"""Changes of what was retained: lines, and modules that must be imported for them."""

PROGRAM_MODULE: ModuleType = program_changes
COMPILER_MODULE: ModuleType = compiler_changes
