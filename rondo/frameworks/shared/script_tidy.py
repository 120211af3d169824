"""The look of a script: what `ast.unparse` writes, as a person would have written it.

The key insight: none of this changes what a script does, and all of it decides whether a maintainer
reads a report or a dump: double quotes, bare tuples, no gaps behind the head of a definition, and
no name that says where the program came from.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize

NAMESPACE = "repro"
"""Where operators of the subject's own live in a script."""

HEAD = re.compile(r"(?m)^( *(?:class|def|async def) .*:)\n\n(?= )")
TUPLE = re.compile(r"^( *(?:return |[\w.,\[\] ]+ = ))\((.+)\)$")


def tidy(text: str) -> str:
    """Return source as `ast.unparse` gives it in the style of a person."""
    text = re.sub(r"\brondo::", f"{NAMESPACE}::", text)
    text = re.sub(r"\btorch\.ops\.rondo\b", f"torch.ops.{NAMESPACE}", text)
    text = HEAD.sub(r"\1\n", double_quoted(text))
    return "".join(map(_bare, text.splitlines(keepends=True)))


def double_quoted(text: str) -> str:
    """Return source with plain texts in double quotes."""
    lines = text.splitlines(keepends=True)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        row, column = token.start
        plain = token.string[1:-1]
        if token.type != tokenize.STRING or not re.fullmatch(r"'[^'\"\\\n]*'", token.string):
            continue
        line = lines[row - 1]
        end = column + len(token.string)
        lines[row - 1] = f'{line[:column]}"{plain}"{line[end:]}'
    return "".join(lines)


def _bare(line: str) -> str:
    """Return a line without the parentheses that stand around a whole tuple."""
    ending = "\n" if line.endswith("\n") else ""
    match = TUPLE.match(line.removesuffix("\n"))
    if match is None or "*" in match.group(2) or match.group(2).endswith(","):
        return line
    front, inner = match.groups()
    try:
        whole, bare = (ast.parse(f"x = {each}") for each in (f"({inner})", inner))
    except SyntaxError:
        return line
    if ast.dump(whole) == ast.dump(bare) and isinstance(whole.body[0].value, ast.Tuple):  # type: ignore[attr-defined]
        return f"{front}{inner}{ending}"
    return line
