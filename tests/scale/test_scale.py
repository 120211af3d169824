"""Campaigns on several machines: the store, the courier, nodes, and a real Ray on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import msgpack
import psutil
import pytest

from rondo._native.behaviour import BehaviourMap
from rondo.scale.courier import Courier
from rondo.scale.node import Node
from rondo.scale.store import Store
from tests.campaign.conftest import DYNAMIC, HARMLESS, ROOT, STALE, TOY
from tests.campaign.test_campaign import (
    SAFE,
    assert_gone,
    corpus_in,
    findings_in,
    seed,
    steps_by_bug,
)

FLAGS = ["--framework", TOY, SAFE, "-timeout=10", "-rss_limit_mb=200"]


def folder(path: Path, **sequences: bytes) -> Path:
    for name in ("corpus", "findings", "members"):
        (path / name).mkdir(parents=True, exist_ok=True)
    for name, data in sequences.items():
        (path / "corpus" / f"{name}.seq").write_bytes(data)
    return path


def test_the_store_tells_each_what_others_have_found() -> None:
    store = Store()
    assert store.trade("a", 0, {"corpus/1.seq": b"1"}).files == {}
    news = store.trade("b", 0, {"corpus/2.seq": b"2", "corpus/1.seq": b"other"})
    assert news.files == {"corpus/1.seq": b"1"}, "the first one stays"
    assert news.others is None, "who does not publish is not told"
    assert store.trade("b", news.position, {}).files == {}
    assert store.trade("a", 0, {}).files == {"corpus/2.seq": b"2"}


def published(counts: dict[int, int], name: str) -> bytes:
    """Return what a campaign publishes that has seen each behaviour so often."""
    seen = BehaviourMap([hash_ for hash_, count in counts.items() for _ in range(count)])
    seen.note_execution()
    labels = {hash_: f"label {hash_}" for hash_ in counts}
    packed: bytes = msgpack.packb(
        {"map": seen.to_bytes(), "labels": labels, "first": {name: list(counts)}}
    )
    return packed


def test_counts_add_up_and_come_back_without_ones_own() -> None:
    store = Store()
    store.trade("a", 0, {}, published({1: 2, 2: 1}, "a"))
    store.trade("b", 0, {}, published({1: 1, 3: 5}, "b"))
    news = store.trade("a", 0, {}, published({1: 4, 2: 1}, "a"))
    assert news.others is not None
    told = msgpack.unpackb(news.others, strict_map_key=False)
    others = BehaviourMap.from_bytes(told["map"])
    assert others.items() == [(1, 1), (3, 5)]
    assert others.executions == 1
    assert told["labels"] == {3: "label 3"}, "what is known is not told"
    assert told["first"] == {"b": [1, 3]}
    for_c = store.trade("c", 0, {}, published({}, "c")).others
    assert for_c is not None
    assert BehaviourMap.from_bytes(msgpack.unpackb(for_c, strict_map_key=False)["map"]).total == 11


def test_couriers_carry_sequences_findings_and_counts(tmp_path: Path) -> None:
    store = Store()
    one, two = folder(tmp_path / "1", a=HARMLESS), folder(tmp_path / "2", b=STALE)
    bucket = one / "findings" / "bucket-1" / "reproducer.rondo"
    bucket.parent.mkdir()
    bucket.write_bytes(b"a finding")
    (one / "findings" / "flaky").mkdir()
    (one / "findings" / "flaky" / "x.seq").write_bytes(b"flaky")
    (one / "members" / "1").mkdir()
    (two / "members" / "1").mkdir()
    (one / "members" / "1" / "published").write_bytes(published({7: 3}, "one"))
    (two / "members" / "1" / "published").write_bytes(published({7: 1, 8: 2}, "two"))
    couriers = [Courier(path.name, path, store.trade) for path in (one, two)]
    for courier in couriers * 2:
        courier.go()
    assert (
        corpus_in(one / "corpus")
        == corpus_in(two / "corpus")
        == {"a.seq": HARMLESS, "b.seq": STALE}
    )
    assert (two / "findings" / "bucket-1" / "reproducer.rondo").read_bytes() == b"a finding"
    assert not (two / "findings" / "flaky").exists()
    told = msgpack.unpackb(
        (two / "members" / "1000" / "published").read_bytes(), strict_map_key=False
    )
    assert BehaviourMap.from_bytes(told["map"]).items() == [(7, 3)]
    assert told["first"] == {"one": [7]}
    head = folder(tmp_path / "head")
    Courier("head", head, store.trade, everything=True).go()
    assert (head / "findings" / "flaky" / "x.seq").read_bytes() == b"flaky"
    assert all(courier.go() == [] for courier in couriers), "nothing is carried twice"


def test_an_alarm_that_was_decided_is_taken_away_where_all_is_kept(tmp_path: Path) -> None:
    store, waiting = Store(), "findings/unconfirmed/a.seq"
    node, head, other = (folder(tmp_path / name) for name in ("node", "head", "other"))
    for place in (node, other):
        (place / waiting).parent.mkdir(parents=True)
        (place / waiting).write_bytes(b"waits")
    serving = Courier("node", node, store.trade)
    keeping = Courier("head", head, store.trade, everything=True)
    for here in (True, False, True):  # it may come again
        if here:
            (node / waiting).write_bytes(b"waits")
        else:
            (node / waiting).unlink()
        serving.go()
        assert keeping.go() == ([waiting] if here else [])
        assert (head / waiting).exists() == here
    Courier("other", other, store.trade).go()
    (node / waiting).unlink()
    serving.go()
    assert Courier("other", other, store.trade).go() == []
    assert (other / waiting).read_bytes() == b"waits", "another's is its own"


@pytest.mark.parametrize(
    "path",
    ["../evil.seq", "corpus/../../evil.seq", "/etc/evil.seq", "corpus/.hidden/x.seq", "members/1/x",
     "findings/a/b/reproducer.rondo", "findings/a/settings.json", "corpus/x.py"],
)  # fmt: skip
def test_nothing_is_written_outside_corpus_and_findings(tmp_path: Path, path: str) -> None:
    store = Store()
    store.trade("evil", 0, {path: b"evil"})
    here = folder(tmp_path / "deep" / "here")
    before = sorted(tmp_path.rglob("*"))
    assert Courier("b", here, store.trade, everything=True).go() == []
    assert sorted(tmp_path.rglob("*")) == before


def test_two_nodes_share_what_they_find(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", environment["TMPDIR"])
    store = Store()
    nodes = [
        Node(f"n{n}", [*FLAGS, f"-seed={n + 1}", "-runs=250"], {"a.seq": STALE}, store.trade)
        for n in range(2)
    ]
    head = folder(tmp_path / "head")
    courier = Courier("head", head, store.trade, everything=True)
    deadline = time.monotonic() + 120
    figures = [{"running": True, "code": None}]
    while any(each["running"] for each in figures) and time.monotonic() < deadline:
        figures = [node.step() for node in nodes]
        time.sleep(0.1)
    courier.go()
    assert [each["code"] for each in figures] == [0, 0], figures
    assert [each["executions"] for each in figures] == [250, 250]
    assert set(steps_by_bug(head / "findings")) == {
        "stateful value of stale_scale",
        "stateful value of batch_mean",
    }
    assert len(corpus_in(head / "corpus")) > 50
    for node in nodes:
        node.end()
    assert list((tmp_path / "tmp").iterdir()) == []


ENDLESS = """
import sys, time
from rondo.scale.node import Node
from rondo.scale.store import Store
node = Node("n", sys.argv[1:], {}, Store().trade)
while True:
    print(node.step().get("executions", 0), flush=True)
    time.sleep(0.1)
"""


def test_a_campaign_ends_with_the_process_that_holds_its_node(
    environment: dict[str, str], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", ENDLESS, *FLAGS]
    holder = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    family: list[psutil.Process] = []
    while len(family) < 3 and time.monotonic() < deadline:
        family = psutil.Process(holder.pid).children(recursive=True)
        time.sleep(0.05)
    assert len(family) >= 3, "a campaign, its server, a worker"
    holder.kill()
    holder.communicate(timeout=10)
    assert_gone(family, within=20)


def test_a_node_whose_campaign_fails_says_why(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one line, whether it was an error of Rondo's or a package that a machine lacks."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("tempfile.tempdir", environment["TMPDIR"])
    (tmp_path / "msgpack.py").write_text("raise ImportError('no msgpack on this machine')\n")
    for path, flags, says in (
        ("", ["--framework", "no.such:Thing"], "error: no framework 'no.such:Thing'"),
        (f"{tmp_path}{os.pathsep}", [], "ImportError: no msgpack on this machine"),
    ):
        monkeypatch.setenv("PYTHONPATH", f"{path}{environment['PYTHONPATH']}")
        node = Node("n", flags, {}, Store().trade)
        deadline = time.monotonic() + 120
        while (figures := node.step())["running"] and time.monotonic() < deadline:
            time.sleep(0.05)
        assert figures["code"] not in (0, None)
        assert says in figures["said"]
        node.end()


# ------------------------------------------------------------------------------------------- Ray


def test_without_ray_one_line_says_what_to_install(
    environment: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "ray.py").write_text("raise ImportError('not here')\n")
    path = f"{tmp_path}{os.pathsep}{environment['PYTHONPATH']}"
    command = [sys.executable, "-m", "rondo.fuzz", "--campaign=c", "--ray=auto", *FLAGS]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**environment, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "error: Ray is not installed; run: pip install 'ray>=2.40'" in done.stderr


@pytest.mark.slow
def test_a_local_ray_with_two_workers_one_of_them_killed(
    environment: dict[str, str], tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    command = [sys.executable, "-m", "rondo.fuzz", "--campaign=c", "--ray=auto", "-workers=2"]
    command += ["seeds", *FLAGS, "-seed=5", "-max_total_time=600", "-runs=160"]
    seed(tmp_path / "seeds", stale=STALE, dynamic=DYNAMIC)
    env = {**environment, "RAY_TMPDIR": "/tmp", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"}
    head = subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True)
    said: list[str] = []

    def read() -> None:
        assert head.stderr is not None
        said.extend(head.stderr)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        actors = wait_for_actors(head.pid, 2)
        actors[0].kill()
        assert head.wait(660) == 0, said[-8:]
    finally:
        head.kill()
    reader.join(10)
    text = "".join(said)
    assert re.search(r"node \d was lost; another one takes its place", text), text[-800:]
    assert {name.split("-")[0] for name in findings_in(tmp_path / "c" / "findings")} == {"stateful"}
    assert len(findings_in(tmp_path / "c" / "findings")) == text.count("FIND ") == 2
    assert len(corpus_in(tmp_path / "c" / "corpus")) > 50


def wait_for_actors(pid: int, count: int) -> list[psutil.Process]:
    """Return the processes of node actors below `pid`, once each runs a campaign."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        found = []
        for process in psutil.Process(pid).children(recursive=True):
            try:
                if "rondo.scale.child" in process.cmdline():
                    found.append(process.parent())
            except psutil.Error:
                continue
        actors = [each for each in found if each is not None]
        if len(actors) >= count:
            return actors
        time.sleep(0.1)
    raise AssertionError("the nodes did not start")
