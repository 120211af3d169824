"""Which device subjects live on: chosen once, recorded with a finding, and lost with its worker."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rondo import cli
from rondo.campaign.deaths import DEVICE_EXIT, DEVICE_LOST, Cause, classify
from rondo.campaign.executor import Executor
from rondo.campaign.journal import Entry
from rondo.campaign.pool import RUNTIME_BYTES, FrameworkError, Limits, Server
from rondo.errors import DeviceError
from rondo.findings.replay import Replayable, read
from rondo.findings.reproducer import DEVICE, compose, load, save
from rondo.frameworks.base import DeviceLostError
from rondo.fuzz import main as fuzz
from tests.campaign.conftest import HARMLESS, STALE, TOY, VOCABULARY, toy_bytes
from tests.campaign.far_adapter import FarFramework
from tests.toy_framework import ToyFramework

FAR = "tests.campaign.far_adapter:FarFramework"
CRASH = toy_bytes("crash")


@pytest.fixture
def far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAR", "1")


def chosen(framework: ToyFramework, wanted: str) -> str:
    framework.use_device(wanted)
    return framework.device


def test_auto_is_the_preferred_device_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    assert chosen(FarFramework(), "auto") == "cpu"
    monkeypatch.setenv("FAR", "1")
    assert chosen(FarFramework(), "auto") == "far"
    assert chosen(FarFramework(), "cpu") == "cpu"
    assert chosen(ToyFramework(), "auto") == "cpu"


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ("far", "there is nothing far here"),
        ("farther", "toy has no device 'farther' for subjects: auto, cpu, far"),
    ],
)
def test_a_device_that_is_not_there_is_told_in_a_line(
    wanted: str, says: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with pytest.raises(DeviceError, match=says):
        FarFramework().use_device(wanted)
    (tmp_path / "corpus").mkdir()
    arguments = [str(tmp_path / "corpus"), "--framework", FAR, "--device", wanted, "-runs=1"]
    assert fuzz(arguments) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"error: {says}"


def test_nothing_is_forked_from_a_process_that_started_the_device(
    far: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_STARTED", "1")
    with pytest.raises(FrameworkError, match="somebody has started it"):
        Server(FAR, device="far")


def test_a_lost_device_ends_its_worker_and_is_a_death_with_a_name(far: None) -> None:
    server = Server(FAR, device="auto")
    try:
        assert server.device == "far"
        executor = Executor(server, Limits(seconds=60), 16, lambda: None)
        (alarm,) = executor.run(CRASH).alarms
        identity = alarm.identity
        assert (identity.verdict, identity.effect) == ("died", Cause.DEVICE.value)
        assert identity.exception == "illegal memory access"  # and not where that was
        assert (identity.place, alarm.step) == ("retained", 2)
        assert executor.run(HARMLESS).verdict == "agree"
        assert executor.forks == 2  # nothing is served by a process without its device
        assert executor.environment()[DEVICE] == "far"
    finally:
        server.close()


def test_without_a_worker_a_lost_device_is_no_exception_of_a_step() -> None:
    assert not issubclass(DeviceLostError, Exception)
    with pytest.raises(DeviceLostError, match="gone"):
        FarFramework().lose_device("gone")


def test_an_exit_code_alone_is_no_lost_device() -> None:
    entry = Entry(b"", "retained", 1)
    status = DEVICE_EXIT << 8
    assert classify(status, entry, output="bye").cause is Cause.EXIT
    lost = classify(status, entry, output=f"noise\n{DEVICE_LOST}CUDA error: odd 0x12")
    assert (lost.cause, lost.detail) == (Cause.DEVICE, "another error")
    assert lost.output.strip() == "CUDA error: odd 0x12"


def test_the_runtime_of_a_device_is_not_held_against_a_worker(far: None) -> None:
    for device, allowance in (("cpu", 0), ("far", RUNTIME_BYTES)):
        server = Server(FAR, device=device)
        try:
            assert server.allowance == allowance
        finally:
            server.close()


@pytest.fixture
def finding(tmp_path: Path, far: None) -> Path:
    """A finding that was made on the far device."""
    server = Server(FAR, device="far")
    try:
        executor = Executor(server, Limits(seconds=60), 1, lambda: None)
        result = executor.run_fresh(STALE)
        made = executor.environment()
    finally:
        server.close()
    path = tmp_path / "stale.rondo"
    save(compose(STALE, result.alarms[0], VOCABULARY, result=result, environment=made), path)
    return path


@pytest.mark.parametrize("command", ["replay", "verify", "shrink", "locate", "export"])
def test_commands_use_the_device_of_the_finding(
    command: str, finding: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAR")
    arguments = [command, str(finding), "--framework", FAR]
    refused = CliRunner().invoke(cli.main, arguments)
    assert (refused.exit_code, refused.output) == (2, "error: there is nothing far here\n")
    if command in ("replay", "verify"):
        shown = CliRunner().invoke(cli.main, [*arguments, "--device", "cpu"])
        assert shown.exit_code == {"replay": 1, "verify": 0}[command], shown.output


def test_a_file_that_names_no_device_was_made_on_the_cpu(finding: Path) -> None:
    assert load(finding).environment[DEVICE] == "far"
    replayable = read(finding)
    assert replayable.device() == "far"
    assert replayable.device("cpu") == "cpu"
    assert replayable.reproducer is not None
    older = replace(replayable.reproducer, environment={"torch": "2.12"})
    assert Replayable(STALE, "toy", older).device() == "cpu"
    assert Replayable(STALE, "toy").device() == "auto"


def test_the_cpu_is_recorded_too() -> None:
    server = Server(TOY)
    try:
        executor = Executor(server, Limits(seconds=60), 1, lambda: None)
        assert executor.environment() == {"toy": "1", DEVICE: "cpu"}
    finally:
        server.close()
