"""What becomes of a target's alarms: a bound on time, known bugs, faults. In this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from rondo.libfuzzer import alarms
from rondo.libfuzzer.alarms import Alarms, ConfirmedBugError, known_buckets
from rondo.libfuzzer.flags import Options
from rondo.oracle.run import execute
from tests.campaign.conftest import STALE
from tests.targets.tame_toy import TameToy

TOY = "tests.targets.tame_toy:TameToy"


def test_what_time_did_not_suffice_for_is_decided_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    framework = TameToy()
    result = execute(STALE, framework)
    assert result.alarms
    kept = Alarms(Options(artifact_prefix=f"{tmp_path}/"), TOY, framework.vocabulary())
    monkeypatch.setattr(alarms, "TRIAGE_SECONDS", -1.0)
    kept.examine(STALE, result, given=STALE)
    assert not list(tmp_path.glob("findings/*/reproducer.rondo"))
    assert list(tmp_path.glob("findings/unconfirmed/*.seq")), "nothing found is lost"
    monkeypatch.setattr(alarms, "TRIAGE_SECONDS", 90.0)
    with pytest.raises(ConfirmedBugError, match="stateful: value in output on shallow"):
        kept.examine(STALE, result, given=STALE)
    assert list(tmp_path.glob("findings/*/reproducer.rondo"))
    assert not list(tmp_path.glob("crash-*")), "libFuzzer writes that one itself"
    kept.examine(STALE, result, given=STALE)
    assert kept.findings == 1, "and it is known from then on"
    capsys.readouterr()
    kept.close()
    (bucket,) = known_buckets([tmp_path / "findings"], framework.vocabulary())
    assert bucket.constructs == ("stale_scale",)


def test_a_sequence_that_cannot_be_executed_is_kept_and_no_crash(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = Alarms(Options(artifact_prefix=f"{tmp_path}/run-"), TOY, TameToy().vocabulary())
    kept.keep_fault(STALE, "Traceback ...\nValueError: broken\n")
    (path,) = tmp_path.glob("findings/faults/*.seq")
    assert path.read_bytes() == STALE
    assert "RONDO: a sequence could not be executed (ValueError: broken)" in capsys.readouterr().err


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "damaged.rondo").write_bytes(b"nothing")
    assert known_buckets([tmp_path], TameToy().vocabulary()) == []
