"""Known faults of PaddlePaddle 3.3.1 in Rondo's words, and controls that must stay quiet.

Each is written as a user would meet it: a compiled call, one change, the same call again.
"""

from __future__ import annotations

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start Paddle, in an environment of its own.
if not is_installed("paddle"):
    pytest.skip("paddle is not installed", allow_module_level=True)

from rondo.sequences.writer import Writer
from tests.frameworks._running import judged

FRAMEWORK = load_framework("paddle")
VOCABULARY = FRAMEWORK.vocabulary()
VERSION = FRAMEWORK.environment()["paddle"]


def poked(construct: str, action: str, value: int = 0, mode: str = "sot") -> Writer:
    writer = Writer(VOCABULARY, "identity", construct, backend=mode)
    return writer.call().change(construct, action, value).call()


FAULTS = {
    "the slope of a built-in activation": poked("builtin_activation", "set_slope"),
    "a pre-hook on a built-in layer": poked("builtin_hook", "add_pre_hook"),
    "a parameter of a built-in layer replaced": poked("builtin_linear", "replace_weight"),
    "a default argument rebound": poked("function_defaults", "set_defaults"),
    "1 and True as arguments of a whole graph": poked("literal_argument", "set_literal", 1, "ast"),
    "gradients not recorded in a later call": Writer(VOCABULARY, "identity", "float_attribute")
    .call(inputs_grad="yes")
    .call(inputs_grad="yes", grad="no_grad"),
}

CONTROLS = {
    "a float attribute of a user's layer": poked("float_attribute", "set_factor"),
    "training mode": Writer(VOCABULARY, "identity", "builtin_dropout")
    .program("eval")
    .call()
    .program("train")
    .call(),
}


@pytest.mark.skipif(VERSION != "3.3.1", reason="faults of this version")
@pytest.mark.parametrize("name", FAULTS)
def test_a_known_fault_is_stateful(name: str) -> None:
    result = judged(FRAMEWORK, FAULTS[name])
    assert result.verdict == "stateful", result


@pytest.mark.parametrize("name", CONTROLS)
def test_a_control_agrees(name: str) -> None:
    result = judged(FRAMEWORK, CONTROLS[name])
    assert (result.verdict, result.alarms) == ("agree", ())
