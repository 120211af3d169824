"""Scripts of jax say what sequences say, or are refused; each runs here, in this process."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import redirect_stdout

import pytest

from rondo.frameworks.registry import is_installed

if not is_installed("jax"):
    pytest.skip("jax is not installed", allow_module_level=True)

import jax

from rondo.frameworks.base import Script, ScriptRequest
from rondo.frameworks.jax.flags import Ambient, forget_thread_hook
from rondo.frameworks.jax.script import LAYOUTS, NoScriptError
from rondo.frameworks.jax.script_verdict import AGREES
from rondo.frameworks.registry import load_framework
from rondo.oracle.result import Alarm, Difference, Identity
from rondo.sequences.writer import Writer

FRAMEWORK = load_framework("jax")
VOCABULARY = FRAMEWORK.vocabulary()


@pytest.fixture(autouse=True)
def flags_put_back() -> Iterator[None]:
    before = Ambient()
    yield
    before.restore()
    forget_thread_hook()
    jax.clear_caches()


def on(*constructs: str, **options: str) -> Writer:
    return Writer(VOCABULARY, "identity", *constructs, backend="jit", **options)


def scripts(
    writer: Writer, effect: str = "value", path: str = "output[0]", verdict: str = "stateful"
) -> list[Script]:
    sequence = writer.sequence()
    identity = Identity(verdict, effect, "jit", "output", "a change")
    difference = Difference(path, effect, "float32[2, 4] [1]", "float32[2, 4] [2]", "")
    alarm = Alarm(len(sequence.steps) - 1, identity, (difference,))
    return list(FRAMEWORK.scripts(ScriptRequest(sequence, alarm, title="A title.")))


def ran_without_jit(script: Script) -> str:
    printed = io.StringIO()
    code = compile(script.text, "<script>", "exec")
    # For all threads, unlike the context manager: some layouts start their own.
    jax.config.update("jax_disable_jit", True)
    try:
        with redirect_stdout(printed), pytest.raises(SystemExit):
            exec(code, {"__name__": "__main__"})
    finally:
        jax.config.update("jax_disable_jit", False)
    return printed.getvalue().strip()


GUMBEL = on("gumbel_flag").call().change("gumbel_flag", "set_flag_to", 1).call()
HARMLESS = on("gumbel_flag", "custom_prng_flag").call().program("flag", 2).call(dtype="float16")


def test_a_plain_function_is_what_a_person_would_write() -> None:
    first = scripts(GUMBEL)[0]
    assert first.layout == "side by side"
    for line in (
        "def gumbel_flag(hidden):",
        "jitted = jax.jit(gumbel_flag)",
        "jitted(x)  # establishes",
        'jax.config.update("jax_high_dynamic_range_gumbel", True)  # changes',
        "jax.clear_caches()",
    ):
        assert line in first.text.splitlines()
    assert "rondo" not in first.text
    assert first.text.count("\n") <= 40


@pytest.mark.parametrize("number", range(2 * len(LAYOUTS)))
def test_without_jit_every_layout_finds_all_runs_equal(number: int) -> None:
    for writer in (GUMBEL, HARMLESS):
        script = scripts(writer)[number]
        line = ran_without_jit(script)
        assert re.search(AGREES, line), (script.layout, line)


@pytest.mark.parametrize(
    ("writer", "reason"),
    [
        (on("static_field").call().change("static_field", "set_factor", 1).call(), "static_field"),
        (on("gumbel_flag").call().call(backward="once"), "gradients"),
        (on("gumbel_flag").call().call(thread="other"), "thread"),
        (on("gumbel_flag", cache="disk").call().call(), "persistent cache"),
        (Writer(VOCABULARY, "mlp", "gumbel_flag").call().call(), "architecture mlp"),
    ],
)
def test_what_a_script_cannot_say_is_refused_with_its_reason(writer: Writer, reason: str) -> None:
    with pytest.raises(NoScriptError, match=reason):
        scripts(writer)


def test_what_differs_elsewhere_is_refused() -> None:
    with pytest.raises(NoScriptError, match=r"ambient\.jax_enable_x64"):
        scripts(GUMBEL, "fact", "ambient.jax_enable_x64")
    with pytest.raises(NoScriptError, match="verdict masked"):
        scripts(GUMBEL, verdict="masked")
    assert "outcome(jitted, x)" in scripts(GUMBEL, "exception", "exception")[0].text
    assert ".dtype)" in scripts(GUMBEL, "dtype")[0].text
    assert 'run("reset")' not in scripts(GUMBEL, verdict="stateless")[1].text
