"""The torch adapter under the oracle: verdicts on known cases, determinism, nothing left behind."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from rondo.frameworks.base import Arm
from rondo.frameworks.registry import load_framework
from rondo.frameworks.torch import ambient
from rondo.frameworks.torch.constructs import class_method
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import decode, encode
from rondo.sequences.step import Call, Change, Options, Sequence, Step, SubjectSpec, normalise

FRAMEWORK = load_framework("torch")
VOCABULARY = FRAMEWORK.vocabulary()
ROOT = Path(__file__).parents[2]


def change(target: str, action: str, value: int = 0) -> Change:
    names = [each.name for each in VOCABULARY.targets_by_name[target].actions]
    return Change(target, names.index(action), value)


def written(
    constructs: tuple[str, ...],
    *steps: Step,
    architecture: str = "identity",
    backend: str = "eager",
    cache: int = 0,
) -> bytes:
    options = Options(backend=VOCABULARY.backends.index(backend), cache=cache)
    return encode(
        normalise(Sequence(SubjectSpec(architecture, constructs), options, steps), VOCABULARY)
    )


def run(*args: object, settings: Settings | None = None, **options: object) -> Result:
    data = written(*args, **options)  # type: ignore[arg-type]
    return execute(data, FRAMEWORK, settings=settings, vocabulary=VOCABULARY)


REBOUND = (Call(), change("class_method", "rebind_on_class"), Call())


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_method_rebound_on_the_class_is_stateful(backend: str) -> None:
    result = run(("class_method",), *REBOUND, backend=backend)
    assert result.verdict == "stateful"
    assert result.alarms[0].identity.exposing == "class_method.rebind_on_class"
    assert result.alarms[0].identity.place == "output"


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_guarded_float_agrees_whichever_arm_is_asked(backend: str) -> None:
    steps = (Call(), change("float_attribute", "set_factor", 1), Call(sizes=(1,)), Call())
    result = run(
        ("float_attribute",), *steps, backend=backend, settings=Settings(always_reset=True)
    )
    assert result.verdict == "agree"
    assert [step.verdict for step in result.steps] == ["agree", "", "agree", "agree"]


def test_training_agrees_on_aot_eager_with_gradients_seen() -> None:
    steps = (Call(backward=1, inputs_grad=1), change("program", "sgd_step"), Call(backward=1))
    data = written((), *steps, architecture="mlp", backend="aot_eager")
    assert execute(data, FRAMEWORK, vocabulary=VOCABULARY).verdict == "agree"
    with (
        FRAMEWORK.session(decode(data, VOCABULARY)),
        FRAMEWORK.arm(decode(data, VOCABULARY), Arm.EAGER) as program,
    ):
        seen = program.call(Call(backward=1, inputs_grad=1, sizes=(0,)), compiled=False)
    assert {"grad.body.head.weight", "grad.input.x", "output[0]"} <= seen.leaves.keys()


def test_namespaces_modes_and_random_states_are_put_back() -> None:
    before = ambient.read_ambient()
    method = class_method.Activation.apply
    torch.manual_seed(5)
    random.seed(5)
    np.random.seed(5)
    digests = ambient.random_digests()
    steps = (
        *REBOUND,
        change("program", "default_dtype"),
        change("program", "grad_mode"),
        change("program", "deterministic"),
        change("program", "seed", 3),
        Call(),
    )
    run(("class_method",), *steps)
    assert ambient.read_ambient() == before
    assert ambient.random_digests() == digests
    assert class_method.Activation.apply is method


def test_settings_are_put_back() -> None:
    import torch._inductor.config as inductor

    before = (inductor.fx_graph_cache, torch._dynamo.config.recompile_limit)
    run((), change("compiler", "recompile_limit"), Call())
    assert (inductor.fx_graph_cache, torch._dynamo.config.recompile_limit) == before


BEHAVIOURS = """
import json, sys
from rondo.frameworks.registry import load_framework
from rondo.oracle.run import execute
torch = load_framework("torch")
result = execute(bytes.fromhex(sys.argv[1]), torch)
print(json.dumps([result.verdict, sorted(result.behaviours.values())]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_fresh_processes_show_equal_behaviours(backend: str) -> None:
    data = written(
        ("module_flag", "item_scalar"),
        Call(backward=1),
        change("module_flag", "set_shifted", 1),
        Call(sizes=(1,), number=2),
        change("program", "eval"),
        Call(sizes=(4,), grad=1),
        architecture="mlp",
        backend=backend,
    )
    shown = [fresh_behaviours(data, seed) for seed in ("1", "2")]
    assert shown[0] == shown[1]
    assert len(shown[0][1]) > 20
    assert not any("0x" in label or "/" in label for label in shown[0][1])


def fresh_behaviours(data: bytes, hash_seed: str) -> list[object]:
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", BEHAVIOURS, data.hex()],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    shown: list[object] = json.loads(done.stdout.splitlines()[-1])
    return shown


def test_any_bytes_execute() -> None:
    rng = random.Random(3)
    for _ in range(3):
        data = rng.randbytes(rng.randrange(40))
        sequence = decode(data, VOCABULARY)
        cheap = Sequence(
            SubjectSpec("identity", sequence.subject.constructs), Options(), sequence.steps
        )
        result = execute(encode(normalise(cheap, VOCABULARY)), FRAMEWORK, vocabulary=VOCABULARY)
        assert result.calls == len(list(cheap.calls()))


@pytest.mark.slow
def test_inductor_agrees_with_empty_disk_caches() -> None:
    steps = (Call(backward=1), change("compiler", "reset_memory"), Call(backward=1))
    result = run(
        ("float_attribute",),
        *steps,
        architecture="mlp",
        backend="inductor",
        cache=1,
        settings=Settings(always_reset=True),
    )
    assert result.verdict == "agree"
    assert any("autograd_cache_hit" in label for label in result.behaviours.values())


@pytest.mark.parametrize(("fullgraph", "verdict"), [(0, "agree"), (1, "documented")])
def test_what_fullgraph_refuses_is_documented(fullgraph: int, verdict: str) -> None:
    sequence = Sequence(
        SubjectSpec("identity", ("graph_break",)), Options(fullgraph=fullgraph), (Call(sizes=(0,)),)
    )
    result = execute(encode(sequence), FRAMEWORK, vocabulary=VOCABULARY)
    assert result.verdict == verdict
    assert not result.alarms
