"""A finding as a standalone script: torch and nothing else, as a person would have written it.

The key insight: how a script has to be laid out follows from what the bug needs, and whether a
layout will do is found by running it. So there are several plans, the most readable first, and the
caller takes the first whose script shows the bug - and shows none with the compiler switched off.

1. *side by side*: one model; its eager call stands next to its compiled one;
2. *runs*: a function that runs the steps eagerly, retained and after a reset, on a model each;
3. *processes*: the same, each run in a forked process, for state of classes and globals;
4. the last two with classes as they are, and with the very inputs of the sequence, the reset run's
   past eager;
5. the same over the subject exactly as Rondo builds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Sequence as ManySteps
from dataclasses import dataclass
from types import ModuleType

from rondo.frameworks.base import CPU, Script, ScriptRequest
from rondo.frameworks.shared.script_fold import strip
from rondo.frameworks.shared.script_source import (
    Slice,
    class_name,
    defined_in,
    import_lines,
    rename,
    source_of,
)
from rondo.frameworks.shared.script_tidy import tidy
from rondo.frameworks.torch.script_changes import PROGRAM_MODULE, ChangeWriter, Compilation
from rondo.frameworks.torch.script_inputs import InputWriter
from rondo.frameworks.torch.script_model import ModelText, Places, definition_texts, write_model
from rondo.frameworks.torch.script_observe import (
    EXCEPTION_EFFECTS,
    Observed,
    Scene,
    UnwritableError,
    observed_of,
)
from rondo.frameworks.torch.script_steps import Program, StepWriter
from rondo.frameworks.torch.script_verdict import AGREES, INDENT, lines_of_test, verdict_lines
from rondo.oracle.result import Verdict
from rondo.sequences.step import Call, Change
from rondo.sequences.vocabulary import COMPILER, PROGRAM, Vocabulary
from rondo.subjects.target import Architecture, Construct

HARNESS = frozenset(
    [
        "model",
        "compiled",
        "f",
        "x",
        "out",
        "run",
        "arm",
        "got",
        "fresh",
        "expected",
        "same",
        "bug",
        "sys",
        "torch",
        "nn",
        "functools",
        "contextlib",
        "apart",
        "pool",
        "backward",
        "grads",
        "saved",
        "multiprocessing",
    ]
)
"""Names that the script itself uses."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a script is laid out."""

    style: str = "runs"
    """`side by side`, `runs` or `processes`."""
    trim: bool = False
    exact: bool = False
    whole: bool = False
    raising: bool = False
    """The judged call raises in every arm: what it leaves behind is looked at all the same."""

    def __str__(self) -> str:
        words = [self.style]
        words += ["trimmed"] if self.trim else []
        words += ["exact inputs"] if self.exact else []
        words += ["whole subject"] if self.whole else []
        words += ["a call that raises"] if self.raising else []
        return ", ".join(words)


PLANS = (
    Plan("side by side", trim=True),
    Plan("runs", trim=True),
    Plan("processes", trim=True),
    Plan("runs"),
    Plan("processes"),
    Plan("runs", exact=True),
    Plan("processes", exact=True),
    Plan("processes", exact=True, whole=True),
    Plan("runs", trim=True, raising=True),
    Plan("processes", exact=True, raising=True),
)


ENVIRONMENT = {
    "TORCHINDUCTOR_CACHE_DIR": "{folder}/cache",
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""Runs of a script share no cache, start no pool of compilers, and can be forked."""

COMPILER_OFF = {"TORCH_COMPILE_DISABLE": "1"}
"""Under this `torch.compile` gives back what it was given: a script must show nothing then."""


def write_scripts(
    request: ScriptRequest, architectures: Places, constructs: Places, vocabulary: Vocabulary
) -> Iterator[Script]:
    """Yield the scripts of all plans that can express the finding, the most readable first.

    Raises UnwritableError where none of them can.
    """
    reason, written = "", False
    for plan in PLANS:
        try:
            text = ScriptWriter(request, plan, architectures, constructs, vocabulary).write()
        except UnwritableError as error:
            reason = str(error)
            continue
        written = True
        yield Script(str(plan), text, COMPILER_OFF, AGREES, ENVIRONMENT)
    if not written:
        raise UnwritableError(f"no script can say this: {reason}")


PINNED = (
    "torch.backends.cudnn.allow_tf32 = False",
    "torch.backends.cudnn.deterministic = True",
)
"""What the numbers of a GPU vary by without, as sequences run there."""


class ScriptWriter:
    """Writes one script by one plan. Raises UnwritableError where the plan cannot express it."""

    def __init__(
        self,
        request: ScriptRequest,
        plan: Plan,
        architectures: Places,
        constructs: Places,
        vocabulary: Vocabulary,
    ) -> None:
        self.request = request
        self.plan = plan
        self.constructs = constructs
        self.vocabulary = vocabulary
        self.sequence = request.sequence
        self.files: dict[str, tuple[Architecture | Construct, ModuleType]] = {**constructs}
        spec = self.sequence.subject
        architecture, _ = architectures[spec.architecture]
        assert isinstance(architecture, Architecture)
        self.architecture: Architecture = architecture
        self.files[spec.architecture] = architectures[spec.architecture]
        self.pieces = Slice()
        self.model: ModelText = write_model(
            spec, architectures, constructs, self.pieces, whole=plan.whole
        )
        self.backend = vocabulary.backends[self.sequence.options.backend]
        self.disk = self.sequence.options.choice("cache") == "disk"
        self.clean = self.disk or plan.exact
        self.verdict = request.alarm.identity.verdict
        self.judged = request.alarm.step
        self.difference = request.alarm.differences[0]

    # ------------------------------------------------------------------------------- gathering

    def write(self) -> str:
        """Return the script."""
        self._check_plan()
        changes = ChangeWriter(self.pieces, self.model.owners, self.model.places)
        self._gather(changes)
        observers = self._observers()
        renamed = self.pieces.clashes()
        taken = self.pieces.bound() | HARNESS
        preluded = defined_in(self.request.preludes)
        if shared := sorted(preluded & taken):
            raise UnwritableError(f"a preload and the script both define {', '.join(shared)}")
        taken |= preluded
        steps = self._step_writer(changes, taken)
        first_wrap = steps.wrap()
        program = steps.write(
            self.sequence.steps, self.judged, self._establishing(), taken, renamed
        )
        if program.arms_differ and self.plan.style == "side by side":
            raise UnwritableError("side by side: a step is for the retained arm alone")
        built = {class_name(self.architecture)}
        built |= {class_name(self.constructs[name][0]) for name in self._names()}
        body = self._body(program, steps, first_wrap, observers)
        rest = [self.model.definition, *program.functions, *body]
        definitions = definition_texts(
            self.pieces,
            self.architecture.features,
            built,
            renamed,
            [ast.parse(text) for text in rest] if self.plan.trim else None,
        )
        definitions += [self.model.definition] if self.model.definition else []
        parts = [*definitions, *program.functions, *body]
        header = self._header(program, "\n".join(parts))
        return tidy("\n\n".join([header, *self._joined(parts)]) + "\n")

    def _names(self) -> tuple[str, ...]:
        return self.sequence.subject.constructs

    def _check_plan(self) -> None:
        if self.plan.raising and not self.difference.path.startswith("ambient."):
            raise UnwritableError("a call that raises leaves nothing but modes to look at")
        if self.plan.style != "side by side":
            return
        if self.request.form == "test":
            raise UnwritableError("side by side: a test is a function")
        call = self.sequence.steps[self.judged]
        assert isinstance(call, Call)
        place = self.difference.path
        if self.backend == "inductor" or self.disk:
            raise UnwritableError("side by side: disk caches are kept apart by runs")
        if call.backward or call.thread or not place.startswith("output"):
            raise UnwritableError("side by side: the judged call leaves traces in the model")
        if self.difference.effect in EXCEPTION_EFFECTS:
            raise UnwritableError("side by side: one of the calls raises")

    def _gather(self, changes: ChangeWriter) -> None:
        for step in self._changes():
            if self._is(step, "failing_call"):
                continue
            action = self.vocabulary.targets_by_name[step.target].actions[step.action].name
            module = PROGRAM_MODULE if step.target == PROGRAM else self.files[step.target][1]
            changes.gather(step, action, module)
        if any(self._is(step, "seed") for step in self._changes()):
            # Python's and numpy's generators matter only where the subject draws from them.
            drawn = {"random", "np"} & self._drawn()
            for name in {"random", "np"} - drawn:
                self.pieces.imports.pop(name, None)

    def _is(self, step: Change, action: str) -> bool:
        """Whether a step is the change of program state of that name."""
        actions = self.vocabulary.targets_by_name[PROGRAM].actions
        return step.target == PROGRAM and actions[step.action].name == action

    def _drawn(self) -> set[str]:
        alone = Slice()
        for name in self._names():
            target, module = self.constructs[name]
            alone.need(module, [class_name(target)])
        return set(alone.imports)

    def _changes(self) -> list[Change]:
        steps: ManySteps[Call | Change] = self.sequence.steps[: self.judged]
        return [step for step in steps if isinstance(step, Change) and step.target != COMPILER]

    def _observers(self) -> dict[str, str]:
        """Take in the observer of the construct that differs; return how it is called."""
        path = self.difference.path
        if not path.startswith("state."):
            return {}
        name = path.split(".")[1]
        if name not in self.model.owners:
            raise UnwritableError(path)
        target, module = self.files[name]
        if target.observer is None:
            raise UnwritableError(path)
        function = target.observer.__name__
        definition = source_of(module.__name__).definitions[function]
        body = strip(definition).body  # type: ignore[attr-defined]
        owner = self.model.owners[name]
        self.pieces.need_names_of(module, body)
        if (
            len(body) == 1
            and isinstance(body[0], ast.Return)
            and isinstance(body[0].value, ast.Dict)
        ):
            key = path.split(".")[2].split("[")[0]
            for each, value in zip(body[0].value.keys, body[0].value.values, strict=True):
                if isinstance(each, ast.Constant) and each.value == key:
                    renamed = rename(ast.Expr(value), {"module": owner})
                    return {name: ast.unparse(ast.Dict([each], [renamed.value]))}  # type: ignore[attr-defined]
        node = strip(definition)
        node.decorator_list = []  # type: ignore[attr-defined]
        self._observer_text = ast.unparse(node)
        return {name: f"{function}({owner})"}

    _observer_text = ""

    def _establishing(self) -> int | None:
        if self.request.establishing is not None or self.verdict != Verdict.STATEFUL.value:
            return self.request.establishing
        return next(position for position, _ in self.sequence.calls())

    def _step_writer(self, changes: ChangeWriter, taken: set[str]) -> StepWriter:
        options = self.sequence.options
        dynamic = {"auto": None, "true": True, "false": False}[options.choice("dynamic")]
        compilation = Compilation(
            self.backend,
            mode=self.vocabulary.modes[options.mode],
            dynamic=dynamic,
            fullgraph=options.choice("fullgraph") == "yes",
        )
        specs = [
            *self.architecture.schema.inputs,
            *(each for name in self._names() for each in self.constructs[name][0].inputs),
        ]
        inputs = InputWriter(
            specs,
            self.architecture.schema.dimensions,
            seed=self.sequence.subject.seed,
            exact=self.plan.exact,
            taken=set(taken) - {"x"},
            device=self.request.device,
        )
        side = self.plan.style == "side by side"
        return StepWriter(
            self.vocabulary,
            self.files,
            changes,
            inputs,
            compilation,
            callee="compiled" if side else "f",
            exact=self.plan.exact,
            arms=not side,
            clean=self.clean,
            keep_outputs=self.difference.path.startswith("earlier"),
            is_tuple=self.model.is_tuple,
            architecture=self.sequence.subject.architecture,
            device=self.request.device,
        )

    # ------------------------------------------------------------------------------- layout

    def _seeds(self, when: str) -> list[str]:
        seed = self.sequence.subject.seed
        lines = [f"torch.manual_seed({seed})"]
        if when == "built":
            lines = lines if self.plan.exact else []
            lines += [f"{generator}.seed({seed})" for generator in self.pieces.generators()]
        return lines

    def _observed(self, program: Program, observers: dict[str, str]) -> Observed:
        call = self.sequence.steps[self.judged]
        assert isinstance(call, Call)
        extended = call.choice("backward") == "create_graph" and bool(program.judged.leaves)
        scene = Scene(
            output="out",
            is_tuple=self.model.is_tuple or extended,
            owners=self.model.places,
            inputs=program.judged.arguments,
            leaves=program.judged.leaves,
            earlier=program.earlier,
            observed=observers,
        )
        return observed_of(self.difference, scene)

    def _body(
        self, program: Program, steps: StepWriter, first_wrap: list[str], observers: dict[str, str]
    ) -> list[str]:
        observed = self._observed(program, observers)
        if observed.needs:
            program.modules.add(observed.needs)
        if self._observer_text:
            program.functions.append(self._observer_text)
        call = self.sequence.steps[self.judged]
        assert isinstance(call, Call)
        if self.plan.style == "side by side":
            lines = self._side_by_side(program, steps, first_wrap, call, observed)
            return ["\n".join([*lines, *verdict_lines(observed, self.verdict)])]
        run = [
            "def run(arm):",
            *(INDENT + line for line in self._run(program, steps, first_wrap, call, observed)),
        ]
        if self.backend == "inductor":
            run.insert(0, "@torch._inductor.utils.fresh_cache()  # no file of an earlier run")
            program.modules.add("torch._inductor.utils")
        parts = ["\n".join(run)]
        caller = "run"
        if self.plan.style == "processes":
            caller = "apart"
            parts.append("\n".join(APART))
            program.modules.add("multiprocessing")
        names, arms = ["expected", "got", "fresh"], ["eager", "retained", "reset"]
        if self.verdict == Verdict.STATELESS.value:
            names, arms = names[:2], arms[:2]
        calls = ", ".join(f'{caller}("{arm}")' for arm in arms)
        final = [f"{', '.join(names)} = {calls}"]
        if self.request.form == "test":
            words = [self.verdict, *(self._names() or (self.sequence.subject.architecture,))]
            test = lines_of_test(observed, self.verdict, final, words, self.request.title)
            return [*parts, "\n".join(test)]
        return [*parts, "\n".join([*final, *verdict_lines(observed, self.verdict)])]

    def _side_by_side(
        self,
        program: Program,
        steps: StepWriter,
        first_wrap: list[str],
        call: Call,
        observed: Observed,
    ) -> list[str]:
        lines = [*self._seeds("begin"), f"model = {self.model.build}", *self._seeds("built")]
        lines += [*first_wrap, *program.lines, *program.judged.lines]

        def judged(callee: str, name: str, note: str = "") -> list[str]:
            if observed.expression.startswith("out") and observed.expression.count("out") == 1:
                written = steps.call(call, callee, program.judged, name)
                tail = observed.expression.removeprefix("out")
                written[-1] += tail + note
                return written
            written = steps.call(call, callee, program.judged, "out")
            written[-1] += note
            return [*written, f"{name} = {observed.expression}"]

        lines += judged("model", "expected", "  # what eager says")
        if self.verdict != Verdict.STATELESS.value:
            lines += judged("compiled", "got", "  # exposes")
            lines.append("torch._dynamo.reset()")
            lines += judged("compiled", "fresh", "  # the same call, with nothing retained")
        else:
            lines += judged("compiled", "got")
        return lines

    def _run(
        self,
        program: Program,
        steps: StepWriter,
        first_wrap: list[str],
        call: Call,
        observed: Observed,
    ) -> list[str]:
        lines = [f"global {', '.join(sorted(program.globals_))}"] if program.globals_ else []
        lines += ["torch._dynamo.reset()", *self._seeds("begin"), f"model = {self.model.build}"]
        lines += [*self._seeds("built"), *first_wrap, *program.lines]
        stateless = self.verdict == Verdict.STATELESS.value
        if self.clean:
            lines.append('f = model if arm == "eager" else compiled')
        elif not stateless:
            lines += ['if arm == "reset":', "    torch._dynamo.reset()"]
        lines += program.judged.lines
        note = "" if stateless else "  # exposes"
        if observed.kind == "raises" or self.plan.raising:
            written = steps.call(call, "f", program.judged, "out" if call.backward else "")
            written[0] += note
            inside = [INDENT + line for line in written]
            if self.plan.raising:
                program.modules.add("contextlib")
                suppressed = ["with contextlib.suppress(Exception):", *inside]
                return [*lines, *suppressed, f"return {observed.expression}"]
            return [
                *lines,
                "try:",
                *inside,
                "except Exception as error:",
                f'{INDENT}return f"raises {{type(error).__name__}}"',
                'return "returns"',
            ]
        detached, fresh = ".detach().clone()", ".detach()"
        if self.request.device != CPU:  # another process cannot be handed memory of a device
            detached = fresh = ".detach().cpu()"
        if observed.kind == "object":
            detached = fresh = ""
        simple = observed.expression == "out" and not call.backward and not call.grad
        written = steps.call(call, "f", program.judged, "out")
        if simple and not call.autocast:
            value = written[0].removeprefix("out = ")
            return [*lines, f"return {value}{fresh}{note}"]
        written[0] += note
        return [*lines, *written, f"return {observed.expression}{detached}"]

    def _header(self, program: Program, text: str) -> str:
        imports = dict(self.pieces.imports)
        modules = {"sys", "torch", *program.modules}
        if self.request.form == "test":
            modules = {"pytest", "torch", *program.modules}
        if "functools." in text:
            modules.add("functools")
        for module in modules:
            imports.setdefault(module, (module, ""))
        imports["nn"] = ("torch", "nn")
        used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
        imports = {name: value for name, value in imports.items() if name.partition(".")[0] in used}
        doc = f'"""{self.request.title}"""\n\n' if self.request.title else ""
        blocks = [doc + "\n".join(import_lines(imports))]
        if self.request.device != CPU:
            on_device = [f'torch.set_default_device("{self.request.device}")', *PINNED]
            blocks.append("\n".join(on_device))
        if self.backend == "inductor":
            blocks.append(
                "torch._inductor.config.fallback_random = True  # random numbers as in eager"
            )
        return "\n\n".join([*blocks, *self.request.preludes])

    def _joined(self, parts: list[str]) -> list[str]:
        """Return the parts with one-line definitions drawn together."""
        joined: list[str] = []
        for part in parts:
            short = "\n" not in part
            if joined and short and not joined[-1].split("\n")[-1].startswith(" "):
                joined[-1] += "\n" + part
            else:
                joined.append(part)
        return joined


APART = (
    "def apart(arm):  # in a process of its own: classes and globals begin anew",
    '    with multiprocessing.get_context("fork").Pool(1) as pool:',
    "        return pool.apply(run, (arm,))",
)
