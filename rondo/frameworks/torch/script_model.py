"""The subject of a script: its classes, cut down, and the expression that builds it.

Three forms, the shortest that will do:

* the one class that is left, where the architecture does nothing or there is no construct;
* a `Model` written for the occasion, which runs the body and then each construct;
* the `Subject` that Rondo itself builds, when the other two do not show the bug.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType

from rondo.frameworks.shared.script_fold import strip, without_parameter
from rondo.frameworks.shared.script_source import (
    Slice,
    bound_names,
    class_name,
    rename,
    source_of,
)
from rondo.frameworks.shared.script_trim import trim
from rondo.sequences.step import SubjectSpec
from rondo.sequences.vocabulary import SMALLEST
from rondo.subjects.target import Architecture, Construct

Places = Mapping[str, tuple[Architecture | Construct, ModuleType]]
"""Name of an architecture or construct -> its target and the file that declares it."""

SUBJECT = "rondo.frameworks.torch.subject"


@dataclass(frozen=True, slots=True)
class ModelText:
    """How a script builds its subject and what the parts are called there."""

    build: str
    owners: dict[str, str]
    """Target name -> expression of the module that its changes act on."""
    places: dict[str, str]
    """`body` and `tail.N`, as parameter names begin -> expression of that module."""
    definition: str
    """A class written for the occasion, or nothing."""
    is_tuple: bool


def returns_tuple(module: ModuleType, name: str) -> bool:
    """Whether the forward of a class is annotated to return a tuple."""
    node = source_of(module.__name__).definitions[name]
    for item in ast.walk(node):
        if isinstance(item, ast.FunctionDef) and item.name == "forward":
            return item.returns is not None and ast.unparse(item.returns).startswith("tuple")
    return False


def write_model(
    spec: SubjectSpec, architectures: Places, constructs: Places, pieces: Slice, *, whole: bool
) -> ModelText:
    """Take the subject's classes into `pieces` and return how it is built."""
    body, body_module = architectures[spec.architecture]
    assert isinstance(body, Architecture)
    tail = [constructs[name] for name in spec.constructs]
    bare = spec.architecture == SMALLEST and not whole
    if not bare or not tail:
        pieces.need(body_module, [class_name(body)])
    for target, module in tail:
        pieces.need(module, [class_name(target)])
    if whole:
        return _as_rondo_builds_it(spec, body, tail, pieces)
    tuples = [returns_tuple(module, class_name(target)) for target, module in tail]
    if not tail or (bare and len(tail) == 1):
        name = spec.constructs[0] if tail else spec.architecture
        built = class_name(tail[0][0] if tail else body)
        place = {"tail.0": "model"} if tail else {"body": "model"}
        return ModelText(f"{built}()", {name: "model"}, place, "", any(tuples))
    return _model(spec, body, tail, tuples, bare=bare)


def _model(
    spec: SubjectSpec,
    body: Architecture,
    tail: list[tuple[Architecture | Construct, ModuleType]],
    tuples: list[bool],
    *,
    bare: bool,
) -> ModelText:
    """Return a `Model` that holds the body and each construct under its own name."""
    first = [each.name for each in body.schema.inputs]
    taken: list[str] = [*first]
    lines = ["class Model(nn.Module):", "    def __init__(self):", "        super().__init__()"]
    if not bare:
        lines.append(f"        self.body = {class_name(body)}()")
    lines += [
        f"        self.{name} = {class_name(target)}()"
        for name, (target, _) in zip(spec.constructs, tail, strict=True)
    ]
    calls = [] if bare else [f"        hidden = self.body({', '.join(first)})"]
    hidden, extras = ("hidden" if not bare else first[0]), []
    for number, (name, (target, _), many) in enumerate(
        zip(spec.constructs, tail, tuples, strict=True)
    ):
        own = []
        for each in target.inputs:
            own.append(_free(each.name, taken))
            taken.append(own[-1])
        given = ", ".join([hidden, *own])
        hidden = "hidden"
        if many:
            extras.append(f"*more{number}")
            calls.append(f"        {hidden}, {extras[-1]} = self.{name}({given})")
        else:
            calls.append(f"        {hidden} = self.{name}({given})")
    if extras:
        calls.append(f"        return {', '.join([hidden, *extras])}")
    else:
        calls[-1] = calls[-1].replace("hidden = ", "return ", 1)
    lines += ["", f"    def forward(self, {', '.join(taken)}):", *calls]
    owners = {name: f"model.{name}" for name in spec.constructs}
    places = {f"tail.{number}": owners[name] for number, name in enumerate(spec.constructs)}
    if not bare:
        owners[spec.architecture] = places["body"] = "model.body"
    return ModelText("Model()", owners, places, "\n".join(lines), bool(extras))


def _free(name: str, taken: list[str]) -> str:
    candidate, number = name, 2
    while candidate in taken:
        candidate, number = f"{name}{number}", number + 1
    return candidate


def _as_rondo_builds_it(
    spec: SubjectSpec,
    body: Architecture,
    tail: list[tuple[Architecture | Construct, ModuleType]],
    pieces: Slice,
) -> ModelText:
    pieces.need(SUBJECT, ["Subject"])
    arities = (len(body.schema.inputs), *(len(target.inputs) for target, _ in tail))
    parts = ", ".join(f"{class_name(target)}()" for target, _ in tail)
    owners = {name: f"model.tail[{number}]" for number, name in enumerate(spec.constructs)}
    owners[spec.architecture] = "model.body"
    places = {f"tail.{number}": f"model.tail[{number}]" for number in range(len(tail))}
    places["body"] = "model.body"
    build = f"Subject({class_name(body)}(), [{parts}], {arities})"
    return ModelText(build, owners, places, "", True)


def definition_texts(
    pieces: Slice,
    features: int,
    built: set[str],
    renamed: Mapping[str, Mapping[str, str]],
    others: Sequence[ast.AST] | None,
) -> list[str]:
    """Return the source of each definition: stripped, with the width of `hidden` filled in.

    With `others`, the rest of the script's code, classes lose attributes that nothing changes.
    """
    nodes = []
    for module, definition in pieces.definitions():
        node = strip(definition)
        if isinstance(node, ast.ClassDef) and set(bound_names(node)) & built:
            node = without_parameter(node, "features", ast.Constant(features))
        nodes.append(rename(node, renamed.get(module, {})))
    if others is not None:
        nodes = [
            trim(node, [*others, *(each for each in nodes if each is not node)])
            if isinstance(node, ast.ClassDef)
            else node
            for node in nodes
        ]
    return [ast.unparse(ast.fix_missing_locations(node)) for node in nodes]
