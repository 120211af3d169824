"""A user's own layer or function as a subject for `to_static`."""

from __future__ import annotations

from typing import Any

import pytest

from rondo.frameworks.registry import is_installed, load_framework

# Not by importing it: the adapter has to start Paddle, in an environment of its own.
if not is_installed("paddle"):
    pytest.skip("paddle is not installed", allow_module_level=True)

load_framework("paddle")

import numpy as np  # noqa: E402
import paddle  # noqa: E402  (the adapter starts Paddle with an environment of its own)

from rondo.errors import SubjectError  # noqa: E402
from rondo.frameworks.base import Arm  # noqa: E402
from rondo.frameworks.paddle.adapter import PaddleFramework  # noqa: E402
from rondo.frameworks.paddle.subject import as_layer  # noqa: E402
from rondo.oracle.run import Settings, execute  # noqa: E402
from rondo.sequences.codec import decode, encode  # noqa: E402
from rondo.sequences.writer import Writer  # noqa: E402
from rondo.subjects.user import NAME, subject  # noqa: E402


class Affine(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        values = np.eye(4, 3, dtype=np.float32)
        self.weight = paddle.create_parameter(
            [4, 3], "float32", default_initializer=paddle.nn.initializer.Assign(values)
        )

    def forward(self, x: Any) -> Any:
        return paddle.matmul(x, self.weight)


def doubled(x: Any) -> Any:
    return x * 2.0


def framework_for(build: Any) -> PaddleFramework:
    framework = PaddleFramework()
    framework.add_subject(subject(build, np.zeros((2, 4), np.float32)))
    return framework


@pytest.mark.parametrize("build", [Affine, lambda: doubled], ids=["layer", "function"])
def test_it_runs_and_agrees(build: Any) -> None:
    framework = framework_for(build)
    vocabulary = framework.vocabulary()
    assert [each.name for each in vocabulary.architectures] == [NAME]
    writer = Writer(vocabulary, NAME).call().call(batch=3).call()
    result = execute(
        encode(writer.sequence()),
        framework,
        settings=Settings(masked_every=1),
        vocabulary=vocabulary,
    )
    assert (result.verdict, result.raised) == ("agree", 0)


def test_the_parameters_of_a_layer_are_observed() -> None:
    framework = framework_for(Affine)
    writer = Writer(framework.vocabulary(), NAME).call(backward="once")
    sequence = decode(encode(writer.sequence()), framework.vocabulary())
    with framework.session(sequence), framework.arm(sequence, Arm.EAGER) as program:
        seen = program.call(next(call for _, call in sequence.calls()), compiled=False)
    assert "param.body.weight" in seen.leaves
    assert "grad.body.weight" in seen.leaves


def test_what_cannot_be_called_is_one_clear_line() -> None:
    with pytest.raises(SubjectError, match="built a int"):
        as_layer(3)
