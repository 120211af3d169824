"""What a compiled entry of Dynamo relies on, in the words of the program that it serves.

The key insight: Dynamo prints its guards as a tree, with the source of each - a path from the
frame's locals or globals. Written over the subject's own names (`class_attribute.knobs.shift`
instead of eight nested dictionaries), such a path can be compared with what has changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any

from torch._dynamo import convert_frame, eval_frame

Path = tuple[str, ...]
"""Where something is: `("self", construct, attribute, ...)`, `("file", module, global, ...)` or
`("input", name, fact)`."""

LEAF = re.compile(r"\+- ([A-Z][A-Z_]+): (.*)$")
MANAGER = re.compile(r"\+- .*Manager: source=(.*?), (?:accessed_by|type)=")
PIECE = re.compile(r"\['([^']*)'\]|\[\"([^\"]*)\"\]|\[(\d+)\]|\.?([A-Za-z_]\w*)")
INTERNAL = frozenset({"_modules", "_parameters", "_buffers", "__dict__"})
"""Dictionaries that hold attributes: no word of the program's own."""
IMPORTED = "__import_"
BUILTINS = "__builtins_dict__"
MODES = {"function_modes": "TORCH_FUNCTION_MODE_STACK", "default_device": "DEFAULT_DEVICE"}
"""Modes of torch that have a guard of their own; all others are in GLOBAL_STATE."""
BOILERPLATE = (
    "_dynamic_indices",
    "_unbacked_indices",
    "_static_indices",
    "top_saved_tensors_hooks",
)
"""What every entry is guarded on, and what says nothing of the program."""


@dataclass(frozen=True, slots=True)
class Guard:
    """One check: its kind, its text, and the path that it is about (empty: several, or none)."""

    kind: str
    text: str
    path: Path = ()


@dataclass(frozen=True, slots=True)
class Names:
    """What the subject's parts are called: `tail` in order, inputs in order, and the frame."""

    constructs: tuple[str, ...]
    inputs: tuple[str, ...]
    scope: Mapping[str, Any]
    """`L` and `G` of the frame, to see which class a `type(...)` in a source means."""
    part: str = ""
    """The part that the frame's `self` is; empty where it is the whole subject."""

    def path(self, source: str) -> Path:
        """Return the path that a guard's source means."""
        text, front = self._resolve_types(source.replace("dict(", "("))
        pieces = [next(p for p in match if p) for match in PIECE.findall(text) if any(match)]
        pieces = [piece for piece in pieces if piece not in INTERNAL]
        return (*front, *pieces) if front else self._named(pieces)

    def _named(self, pieces: list[str]) -> Path:
        if pieces[:2] == ["L", "self"]:
            rest = pieces[2:]
            if self.part:
                return ("self", self.part, *rest)
            if rest[:1] == ["tail"] and len(rest) > 1 and rest[1].isdigit():
                return ("self", self.constructs[int(rest[1])], *rest[2:])
            return ("self", *rest)
        if pieces[:2] == ["L", "inputs"] and len(pieces) > 2 and pieces[2].isdigit():
            number = int(pieces[2])
            name = self.inputs[number] if number < len(self.inputs) else str(number)
            return ("input", name, *pieces[3:])
        if pieces[:1] == ["G"] and len(pieces) > 1:
            if pieces[1].startswith(IMPORTED):
                return ("file", pieces[1].rpartition("_dot_")[2], *pieces[2:])
            if pieces[1].startswith(BUILTINS):
                return ("builtins", *pieces[2:])
        return tuple(pieces)

    def _resolve_types(self, source: str) -> tuple[str, Path]:
        """Return what stands behind a `type(...)`, and the path of the class that this means."""
        start = source.rfind("type(")
        if start < 0:
            return source, ()
        end = _closing(source, start + len("type(") - 1)
        inner, rest = source[start : end + 1], source[end + 1 :]
        order = re.match(r"\.__mro__\[\d+\]", rest)
        if order:
            inner, rest = inner + order.group(0), rest[order.end() :]
        try:
            # The text is Dynamo's own, over the frame that it guards.
            cls = eval(inner, {"__builtins__": {"type": type}}, dict(self.scope))
        except Exception:
            return source, ()
        if not isinstance(cls, type):
            return source, ()
        return rest, class_path(cls)


def class_path(cls: type) -> Path:
    """Return the path of a class: the file that defines it and its name there."""
    return ("file", cls.__module__.rpartition(".")[2], *cls.__qualname__.split("."))


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position
    return len(text) - 1


def live_codes() -> list[CodeType]:
    """Return the code objects that Dynamo has seen and that have compiled entries."""
    codes = (reference() for reference in convert_frame.input_codes.seen)
    return [code for code in codes if code is not None and entries_of(code)]


def entries_of(code: CodeType) -> list[Any]:
    """Return the compiled entries of a frame's code, the one used last first."""
    return eval_frame._debug_get_cache_entry_list(code)


def guards_of(entry: Any, names: Names) -> list[Guard]:
    """Return the guards of an entry, in the order in which Dynamo prints them."""
    return list(_parse(str(entry.guard_manager).splitlines(), names))


def _parse(lines: Iterable[str], names: Names) -> Iterator[Guard]:
    sources: list[tuple[int, str]] = []
    for line in lines:
        indent = line.find("+- ")
        if indent < 0:
            continue
        manager = MANAGER.search(line)
        if manager:
            while sources and sources[-1][0] >= indent:
                sources.pop()
            sources.append((indent, manager.group(1)))
            continue
        leaf = LEAF.search(line)
        if leaf is None:
            continue
        kind, text = leaf.groups()
        while sources and sources[-1][0] >= indent:
            sources.pop()
        text = text.split("  # ")[0].strip()
        path = names.path(sources[-1][1]) if sources else ()
        if path and kind == "DICT_CONTAINS":
            # A check that a key is there, or is not: it is about that key.
            key = re.search(r"dict_contains\('([^']*)'", text)
            path = (*path, key.group(1)) if key else path
        yield Guard(kind, readable(text, names), path)


def readable(text: str, names: Names) -> str:
    """Return a guard's text over the subject's own names, without object ids."""
    text = re.sub(
        r"___check_(\w+)_id\((.*), \d+\)(?:, type=<class '(?:.*\.)?(\w+)'>)?",
        r"\1 of \2 is the same \3",
        text,
    )
    for number, construct in enumerate(names.constructs):
        text = text.replace(f"L['self']._modules['tail']._modules['{number}']", construct)
    for number, name in enumerate(names.inputs):
        text = text.replace(f"L['inputs'][{number}]", name)
    text = re.sub(r"G\['__import_(?:\w*_dot_)?(\w+?)'\]", r"\1", text)
    text = re.sub(r"G\['__builtins_dict__\w*'\]\['(\w+)'\]", r"builtins.\1", text)
    text = re.sub(r"\._(?:modules|parameters|buffers)\['(\w+)'\]", r".\1", text)
    return (
        text.replace("L['self']", names.part or "self")
        .replace("___dict_contains", "dict_contains")
        .strip()
    )


def about_program(guard: Guard) -> bool:
    """Whether a guard says something of the program under test."""
    if any(word in guard.text for word in BOILERPLATE):
        return False
    return not guard.path or guard.path[0] in ("self", "file", "input", "builtins")


def mentions(guard: Guard, path: Path) -> bool:
    """Whether a guard is about what stands at `path`, or about what is reached through it."""
    if path[0] == "mode":
        return guard.kind == MODES.get(path[1], "GLOBAL_STATE")
    if " and " in path[-1]:
        # A relation: a guard on either side alone says nothing of it.
        words = set(re.findall(r"\w+", guard.text))
        return all(side.rpartition(".")[2] in words for side in path[-1].split(" and "))
    if not guard.path:
        return path[0] == "input" and path[1] in re.findall(r"\w+", guard.text)
    if path[0] == "input":
        return guard.path[:2] == path[:2]
    return guard.path[: len(path)] == path
