"""A reset that is none has leaked: found, told from the other verdicts, and from nothing at all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from rondo.commands import audit
from rondo.oracle.fresh import AFTER, difference_between, is_sampled, leak_between, measure
from rondo.oracle.observation import Leaf, Observation, pack_observation, unpack_observation
from rondo.oracle.result import Result
from rondo.oracle.run import Settings, execute
from rondo.sequences.codec import encode
from rondo.sequences.step import Call, Change, Options, Sequence, SubjectSpec, normalise
from tests.oracle import leaky_adapter
from tests.oracle.leaky_adapter import LeakyFramework, RaisingFramework
from tests.toy_framework import ToyFramework

VOCABULARY = ToyFramework().vocabulary()


def written(*steps: Call | Change) -> bytes:
    subject = SubjectSpec("chain", ("scale",))
    return encode(normalise(Sequence(subject, Options(), steps), VOCABULARY))


HIT = written(Call(), Call(), Call(value_seed=1))


@pytest.fixture(autouse=True)
def unworn() -> Iterator[None]:
    leaky_adapter.worn.clear()
    yield
    leaky_adapter.worn.clear()


class Processes:
    """Runs each execution as in a new process, and notes what was asked for."""

    def __init__(self, framework: type[ToyFramework]) -> None:
        self.framework = framework
        self.asked: list[Settings] = []

    def __call__(self, data: bytes, settings: Settings) -> Result:
        leaky_adapter.worn.clear()
        self.asked.append(settings)
        result = execute(data, self.framework(), settings=settings)
        return Result.from_data(result.to_data())


def test_nothing_leaks_from_a_compiler_that_resets() -> None:
    processes = Processes(ToyFramework)
    result = measure(HIT, processes, VOCABULARY)
    assert (result.verdict, result.alarms) == ("agree", ())
    assert [each.only_reset for each in processes.asked] == [None, 2, 1, 0]


@pytest.mark.parametrize(
    ("framework", "effect", "place", "alone"),
    [
        (LeakyFramework, "value", "output", "masked"),
        (RaisingFramework, "exception", "exception", "masked"),
    ],
)
def test_what_survives_a_reset_has_leaked(
    framework: type[ToyFramework], effect: str, place: str, alone: str
) -> None:
    assert execute(HIT, framework(), settings=AFTER).verdict == alone
    processes = Processes(framework)
    result = measure(HIT, processes, VOCABULARY)
    identity = result.alarms[0].identity
    assert result.verdict == identity.verdict == "leaked"
    assert (identity.effect, identity.place) == (effect, place)
    assert result.alarms[0].step == 2
    assert "in a fresh process: " in result.alarms[0].differences[0].reset
    assert result.steps[2].verdict == "leaked"
    assert [each.only_reset for each in processes.asked] == [None, 2]


def test_other_alarms_stay_beside_a_leak() -> None:
    result = measure(HIT, Processes(LeakyFramework), VOCABULARY)
    verdicts = {alarm.step: alarm.identity.verdict for alarm in result.alarms}
    assert verdicts[2] == "leaked"
    assert set(verdicts.values()) <= {"leaked", "masked"}


def test_a_process_that_compiled_nothing_measures_nothing() -> None:
    after = Processes(LeakyFramework)(HIT, AFTER)
    alone = Processes(LeakyFramework)(HIT, replace(AFTER, only_reset=2))
    assert leak_between(HIT, 2, after, alone, VOCABULARY) is not None
    eagerly = replace(alone, verdict="not compiled")
    assert leak_between(HIT, 2, after, eagerly, VOCABULARY) is None
    assert leak_between(HIT, 1, after, alone, VOCABULARY) is None


def test_only_calls_can_be_reset_alone() -> None:
    data = written(Change("scale", 0, 1), Call())
    with pytest.raises(ValueError, match="step 0 is no call"):
        execute(data, ToyFramework(), settings=Settings(only_reset=0))


def test_rounding_is_no_leak_and_a_type_of_exception_is_one() -> None:
    def seen(values: list[float]) -> Observation:
        return Observation({"output": Leaf("tensor", "float32", np.array(values))})

    assert difference_between(seen([1.0]), seen([1.0 + 1e-7])) is None
    assert difference_between(seen([1.0]), seen([1.1])) is not None
    one, other = (Observation({}, False, name, "no") for name in ("KeyError", "IndexError"))
    assert difference_between(one, replace(one, message="not")) is None
    found = difference_between(one, other)
    assert found is not None
    assert found[:3] == ("wrong exception", "exception", "IndexError")
    found = difference_between(one, seen([1.0]))
    assert found is not None
    assert found[0] == "missing exception"


def test_observations_survive_packing() -> None:
    meta = (("aliases", ""), ("strides", "dense"))
    observation = Observation(
        {
            "output[0]": Leaf("tensor", "float32", np.array([[1.0, np.nan]]), meta),
            "output[1]": Leaf("tensor", "complex64", np.array([1 + 2j])),
            "output[2]": Leaf("tensor", "int64", np.array(7)),
            "output[3]": Leaf("tensor", "bool", np.zeros((0, 2), dtype=bool)),
            "state.x": Leaf("fact", text="None"),
        },
        returned=False,
        exception="KeyError",
        message="call: no",
    )
    again = unpack_observation(pack_observation(observation))
    assert again.digest() == observation.digest()
    assert (again.returned, again.message) == (False, "call: no")
    for damaged in (b"", b"\x93", pack_observation(observation)[:-3], b"\x94\x80\xc3"):
        with pytest.raises(ValueError, match=r".*"):
            unpack_observation(damaged)


def test_the_sample_follows_from_the_bytes() -> None:
    datas = [bytes([number % 256, number // 256]) for number in range(4000)]
    chosen = [is_sampled(data) for data in datas]
    assert chosen == [is_sampled(data) for data in datas]
    assert 30 <= sum(chosen) <= 100
    assert not any(is_sampled(data, 0) for data in datas)


def command(*arguments: object) -> tuple[int, str]:
    done = CliRunner().invoke(audit.command, [*map(str, arguments)], standalone_mode=False)
    if done.exception is not None:
        raise done.exception
    return done.return_value, done.output


def test_the_command_measures_files_in_real_processes(tmp_path: Path) -> None:
    (tmp_path / "hit.seq").write_bytes(HIT)
    (tmp_path / "other.txt").write_text("no sequence")
    name = "tests.oracle.leaky_adapter:LeakyFramework"
    code, output = command("--fresh", tmp_path, "--framework", name)
    assert code == 1
    assert output.splitlines()[-1] == "1 files, 1 reset arms measured, 1 leaked"
    assert "step 2: leaked: value in output" in output
    code, output = command("--fresh", tmp_path / "hit.seq", "--json", "--framework", TOY)
    found = json.loads(output)
    assert (code, found["arms"], found["leaks"]) == (0, 3, 0)


TOY = "tests.toy_framework:ToyFramework"


def test_a_folder_without_sequences_is_said(tmp_path: Path) -> None:
    from rondo.errors import ReproducerError

    with pytest.raises(ReproducerError, match=r"no \.seq or \.rondo file in"):
        command("--fresh", tmp_path, "--framework", TOY)
