"""A finding as an issue for the framework's maintainers, in Markdown.

The key insight: a report by a fuzzer is closed for what it leaves open - is it within tolerance, is
it an index, was the random state the same, which part of the compiler is it. So each of these has
its line here, filled in from runs and never from hope; what could not be measured says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from rondo.findings.export import Exported
from rondo.findings.export_check import Ran
from rondo.findings.locate import GUARDABLE, Located, Touched
from rondo.oracle.result import Alarm

SHOWN_GUARDS = 8
INDICES = re.compile(
    r"\b(?:argmax|argmin|argsort|argwhere|sort|topk|kthvalue|msort|median|nanmedian|mode|cummax"
    r"|cummin|nonzero|multinomial|unique|unique_consecutive|searchsorted|bucketize)(?=\()"
    r"|(?<=\.)(?:max|min)(?=\([^)])|\breturn_indices\b"
)
"""What may name an index in a script's text; `max` of a whole tensor names none."""


@dataclass(frozen=True, slots=True)
class Issue:
    """All that an issue says."""

    framework: str
    exported: Exported
    ran: Ran
    alarm: Alarm
    located: Located
    environment: Mapping[str, str]


def issue_text(issue: Issue) -> str:
    """Return the issue's body; its first line is a title."""
    return "\n".join(_lines(issue)).rstrip() + "\n"


def title(issue: Issue) -> str:
    """Return one line that names the bug."""
    identity, located = issue.alarm.identity, issue.located
    what = {"value": "wrong result", "exception": "spurious exception"}.get(
        identity.effect, f"wrong {identity.effect}"
    )
    if identity.verdict == "stateful":
        bare = located.unguarded
        cause = (
            f"no guard on {named(bare[0].path, issue.exported.text)}"
            if bare
            else f"stale {located.layer}"
        )
        return f"torch.compile: {what} on a later call, {cause}"
    return f"torch.compile: {what} ({located.backend})"


def named(path: str, script: str) -> str:
    """Return `path` by the name that it has in the script, where its file's name is none.

    What changed is named in the subject's own files, which whoever reads an issue has not got.
    """
    file, _, rest = path.partition(".")
    first = re.match(r"\w*", rest)
    if not first or not first[0] or re.search(rf"\b{re.escape(file)}\b", script):
        return path
    return rest if re.search(rf"\b{first[0]}\b", script) else path


def _lines(issue: Issue) -> Iterator[str]:
    yield f"# {title(issue)}"
    yield ""
    yield "### 🐛 Describe the bug"
    yield ""
    yield from _description(issue)
    yield ""
    yield "```python"
    yield issue.exported.text.rstrip()
    yield "```"
    yield ""
    yield "### Error logs"
    yield ""
    yield "```"
    yield issue.ran.verdict
    yield "```"
    yield ""
    off = " ".join(f"{name}={value}" for name, value in issue.exported.compiler_off.items())
    yield f"With `{off}` the same script finds all its runs equal and leaves with 0."
    yield ""
    yield "### Where it comes from"
    yield ""
    yield from _cause(issue.located, issue.exported.text)
    yield ""
    yield "### Ablation"
    yield ""
    yield from _ablation(issue.located)
    yield ""
    yield "### How it was compared"
    yield ""
    yield from _comparison(issue)
    yield ""
    yield "### Versions"
    yield ""
    yield "```"
    for name, value in issue.environment.items():
        yield f"{name}: {value}"
    yield "```"
    yield ""
    yield "label: `topic: fuzzer`"


def _description(issue: Issue) -> Iterator[str]:
    identity, located = issue.alarm.identity, issue.located
    difference = issue.alarm.differences[0]
    if identity.verdict == "stateful":
        yield (
            "A call of a compiled module differs from eager because of an earlier call: after"
            " `torch._dynamo.reset()` the same call is right."
        )
    elif identity.verdict == "masked":
        yield "A fresh compile is wrong; what an earlier call left behind hides it."
    else:
        yield "A call of a compiled module differs from eager."
    yield ""
    yield "As it was found, by the fuzzer's names; the script marks the same steps:"
    yield ""
    for line in located.between:
        number, _, text = line.partition("  ")
        note = {located.establishing: "establishes", located.exposing: "exposes"}.get(int(number))
        yield f"- step {number}: `{text}`" + (f" ({note})" if note else "")
    yield ""
    yield f"Expected `{difference.path}`: `{difference.eager}`. Got: `{difference.retained}`."


def _cause(located: Located, script: str) -> Iterator[str]:
    yield f"Layer: **{located.layer}**: {located.why}."
    seen = located.inspection
    if not (seen.entry or seen.changed):
        return
    yield ""
    if seen.entry:
        how = "served by" if located.served else "compiled anew, as"
        at = f", compiled at step {seen.compiled_at}" if located.served else ""
        held = "hold" if seen.held else "do not hold"
        yield (
            f"The call is {how} entry `{seen.entry}` of `{seen.frame}`{at}; its {seen.count}"
            f" guards {held}."
        )
    else:
        yield "No compiled code served the call."
    for relation in seen.broken:
        yield f"Its trace relied on `{relation}`, which does not hold."
    yield f"Changed since step {seen.since}:"
    yield ""
    for touched in seen.changed:
        yield f"- `{named(touched.path, script)}`: {_how(touched, served=located.served)}"
    if not seen.changed:
        yield "- nothing that the forward can read"
    if not seen.entry:
        return
    yield ""
    yield "Its guards nearest to that:"
    yield ""
    for kind, text in located.telling_guards(SHOWN_GUARDS):
        yield f"- {kind} `{text}`"
    yield ""
    yield 'All of them: `TORCH_LOGS="guards,recompiles" python script.py`.'


def _how(touched: Touched, *, served: bool) -> str:
    if touched.kind not in GUARDABLE:
        return touched.kind
    same = touched.before == touched.after
    how = f"another {touched.after}" if same else f"{touched.before} -> {touched.after}"
    if not served:
        return how
    if not touched.guards:
        return f"{how}; **no guard mentions it**"
    return f"{how}; guarded by `{touched.guards[0]}`"


def _ablation(located: Located) -> Iterator[str]:
    yield "| what | outcome |"
    yield "|---|---|"
    for name, outcome in located.ladder:
        yield f'| `backend="{name}"` | {outcome} |'
    for name, outcome in located.settings:
        yield f"| `{name}` | {outcome} |"
    for trial in located.trials:
        dropped = " and ".join(trial.dropped)
        yield f"| {dropped} dropped before the exposing call | {trial.outcome} |"


def _comparison(issue: Issue) -> Iterator[str]:
    identity = issue.alarm.identity
    yield "- tolerances: the defaults of `torch.testing.assert_close` for the dtype"
    found = sorted(set(INDICES.findall(issue.exported.text)))
    if found:
        yield f"- the program uses {', '.join(found)}; a tie decided otherwise would not be a fault"
    else:
        yield "- no indices (argmax, sort, topk) are compared: the program makes none"
    errors = issue.located.inspection.errors
    if errors:
        eager, retained = errors[0], errors[1]
        yield (
            f"- against a float64 eager reference, worst element: eager {eager:.3g},"
            f" compiled {retained:.3g}"
        )
        verdict = {1.0: "equal", 0.0: "different"}.get(errors[2])
        if verdict:
            yield f"- `torch._dynamo.utils.same(eager, compiled, float64)` calls them {verdict}"
    elif identity.effect == "value":
        yield "- float64 reference: not a float, compared exactly"
    else:
        yield f"- float64 reference: does not apply to this effect ({identity.effect})"
    yield (
        "- random state: seeded alike in all runs, `torch._inductor.config.fallback_random = True`"
        " where Inductor is used"
    )
    yield "- the script was seen to show the bug in a fresh process, and none with the compiler off"
