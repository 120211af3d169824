"""What users mistype and what disks do: one line, exit code 2, and before anything starts."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from rondo.campaign.figures import last_figures
from rondo.campaign.folder import Member, join, members_of, stored_settings
from rondo.campaign.settings import Settings
from rondo.cli import main
from rondo.errors import CampaignError


@pytest.fixture
def member(tmp_path: Path) -> Member:
    return join(tmp_path / "campaign")


def saved(member: Member, **changed: object) -> None:
    """Write the member's settings as a campaign does, some of them damaged."""
    settings = Settings((Path("corpus"),), campaign=Path("c"), openmetrics=Path("m"))
    data = {**asdict(settings), **changed}
    member.settings_file.write_text(json.dumps(data, default=str))


def test_settings_come_back_as_they_were(member: Member) -> None:
    saved(member, timeout=7)
    restored = stored_settings(member.folder)
    assert restored == Settings(
        (Path("corpus"),), campaign=Path("c"), openmetrics=Path("m"), timeout=7.0
    )


@pytest.mark.parametrize(
    "changed",
    [
        {"timeout": "soon"},
        {"timeout": float("nan")},
        {"timeout": True},
        {"batch": 1.5},
        {"lines": 1},
        {"sampler": None},
        {"corpora": "corpus"},
        {"corpora": [1]},
        {"backends": {"eager": 1}},
        {"campaign": 3},
        {"sampler": "nope"},
        {"batch": -1},
        {"timeout": -1},
        {"timeout": 10**400},
        {"seed": -1},
    ],
    ids=str,
)
def test_a_setting_of_another_type_is_damage(member: Member, changed: dict[str, object]) -> None:
    saved(member, **changed)
    with pytest.raises(CampaignError, match=f"settings.json is damaged: {next(iter(changed))}"):
        stored_settings(member.folder)


def test_members_are_numbers(member: Member) -> None:
    for name in ("²", "x", "-1"):
        (member.folder.parent / name).mkdir()
    assert [path.name for path in members_of(member.folder.parents[1])] == ["1"]


@pytest.mark.parametrize(
    ("text", "figures"),
    [
        ('{"executions": 3}\n{"exec', {"executions": 3}),
        ('{"exec', {}),
        ("", {}),
        ('{"exec\n', None),
        ("[1]\n", None),
        ('{"executions": "many"}\n', None),
        (f'{{"executions": 3, "seconds": {10**400}}}\n', None),
        ("[" * 200_000 + "\n", None),
        ('{"executions": 3, "seconds": "x"}\n', None),
        ('{"executions": 3, "seconds": NaN}\n', None),
        ('{"executions": 3}\n{"executions": 4.5}\n', {"executions": 3}),
    ],
)
def test_figures_that_cannot_be_read_are_no_zeros(
    tmp_path: Path, text: str, figures: dict[str, int] | None
) -> None:
    path = tmp_path / "stats.jsonl"
    path.write_text(text)
    if figures is None:
        with pytest.raises(CampaignError, match="damaged"):
            last_figures(path)
    else:
        assert last_figures(path) == figures


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["known", "list", "nowhere"], "nowhere is no folder of findings"),
        (["known", "list", "file"], "file is no folder of findings"),
        (["triage", "file"], "file is no folder of findings"),
        (["corpus", "show", "nowhere", "--framework", "no.such:Adapter"], "does not exist"),
        (["corpus", "stats", "file", "--framework", "no.such:Adapter"], "is a file"),
        (["replay", "file", "--timeout", "nan"], "no number of seconds above 0"),
        (["verify", "file", "--timeout", "-1"], "no number of seconds above 0"),
        (["shrink", "file", "--timeout", "inf"], "no number of seconds above 0"),
    ],
    ids=" ".join,
)
def test_one_line_says_what_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert says in capsys.readouterr().err
