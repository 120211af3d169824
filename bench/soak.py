"""Soak: a long campaign to which everything happens that happens to long campaigns.

The toy compiler of the tests, whose constructs also segfault, exit, hang and eat memory, is fuzzed
by several workers in a campaign folder, while faults are injected, one each interval:

    a random worker is killed (every interval), the server is killed, a worker is stopped, damaged
    files are dropped into the corpus, the driver is stopped for a while, the driver is killed and
    the campaign continued, the disk runs full and the campaign is continued

In the last quarter of the time the driver is left alive, since what it keeps for good shows in a
long life only. A small tmpfs is the disk where mounting is allowed, otherwise --max-disk stands in
for it. Checked:

    lost         findings and corpus files that were there once and are not, or no longer the same
    twice        findings that were reported more than once, over all drivers
    unreplayed   findings that a fresh process does not show at the end
    dead slot    longest time in which fewer workers lived than there are slots
    growth       memory of the driver, per hour, over its last life after the first minute of that;
                 over less than ten minutes it is not carried forward to an hour but must be below
                 it as it is
    zombies      processes that stayed unwaited for longer than ten seconds
    leftovers    temporary files at the end

    python bench/soak.py                    two hours, a fault every 30 seconds
    python bench/soak.py --minutes 10       as CI may run it
    python bench/soak.py --quick            half a minute, a fault every 2 seconds
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import click
import psutil

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.findings.bucket import find_alarm
from rondo.findings.reproducer import load

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the toy compiler lies among the tests
TOY = "tests.toy_framework:ToyFramework"
SECONDS, RSS_MB = 2, 120
"""Limits of an execution: eating so much must take less than so long, on a busy machine too."""
LOOK = 0.1
DEAD_SECONDS = 10.0
ZOMBIE_SECONDS = 10.0
GROWTH_MB = 50.0
WARM_UP = 60.0
"""What is kept up to a fixed number, such as features of calls, fills in the first minute."""
LONG_ENOUGH = 600.0
DISK_MB, DISK_MB_A_MINUTE = 64, 6
"""Room for what a campaign keeps by itself as well: a small file takes a whole page here."""
FULL = 4
STARTED = re.compile(r"\tINITED |INFO: continued ")


@dataclass
class Figures:
    """What the campaign suffered, and what became of it."""

    executions: int = 0
    drivers: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    lost: int = 0
    twice: int = 0
    unreplayed: int = 0
    dead_slot_seconds: float = 0.0
    growth_mb: float = 0.0
    measured_seconds: float = 0.0
    zombies: int = 0
    leftovers: int = 0
    complaints: list[str] = field(default_factory=list)

    @property
    def growth_mb_per_hour(self) -> float:
        """Growth of the driver's memory, 0 where its last life was too short."""
        return self.growth_mb / self.measured_seconds * 3600 if self.measured_seconds else 0.0

    @property
    def holds(self) -> bool:
        """Whether all targets hold."""
        return (
            not (self.lost or self.twice or self.unreplayed or self.zombies or self.leftovers)
            and not self.complaints
            and self.dead_slot_seconds <= DEAD_SECONDS
            and self.growth_mb < GROWTH_MB
            and (self.growth_mb_per_hour < GROWTH_MB or self.measured_seconds < LONG_ENOUGH)
            and self.findings > 0
        )


class Watch(threading.Thread):
    """Looks at a driver and its processes ten times a second."""

    def __init__(self, driver: psutil.Process, slots: int, figures: Figures) -> None:
        super().__init__(daemon=True)
        self.driver = driver
        self.started = threading.Event()
        self._ended = threading.Event()
        self._slots = slots
        self._figures = figures
        self._zombies: dict[int, float] = {}
        self._counted: set[int] = set()

    def run(self) -> None:
        """Look until the end, once the driver works."""
        self.started.wait()
        began = whole = time.monotonic()
        first = last = 0
        while not self._ended.wait(LOOK):
            now = time.monotonic()
            with suppress(psutil.Error):
                if self.driver.status() == psutil.STATUS_STOPPED:
                    whole = now
                    continue
                alive = self._alive(now)
                if alive >= self._slots:
                    whole = now
                dead = now - whole
                self._figures.dead_slot_seconds = max(self._figures.dead_slot_seconds, dead)
                last = self.driver.memory_info().rss or last  # none once it has ended
            if now - began >= WARM_UP and not first:
                first = last
        lived = time.monotonic() - began
        if first:
            self._figures.growth_mb = (last - first) / (1 << 20)
            self._figures.measured_seconds = lived - WARM_UP

    def _alive(self, now: float) -> int:
        """Return how many workers live and are not stopped; note who stays a zombie."""
        alive, zombies = 0, set()
        for process in self.driver.children(recursive=True):
            status = process.status()
            if status == psutil.STATUS_ZOMBIE:
                zombies.add(process.pid)
            elif process.ppid() != self.driver.pid and status != psutil.STATUS_STOPPED:
                alive += 1
        self._zombies = {pid: self._zombies.get(pid, now) for pid in zombies}
        for pid, since in self._zombies.items():
            if now - since > ZOMBIE_SECONDS and pid not in self._counted:
                self._counted.add(pid)
                self._figures.zombies += 1
        return alive

    def end(self) -> None:
        """Stop looking."""
        self._ended.set()
        self.started.set()
        self.join()


class Soak:
    """One soak: the campaign's folder, its driver of the moment, and the faults."""

    def __init__(self, base: Path, workers: int, seed: int, disk_mb: int) -> None:
        self.figures = Figures()
        self.campaign = base / "campaign"
        self.temporary = base / "tmp"
        self.campaign.mkdir()
        self.temporary.mkdir()
        self.mounted = _mounted(self.campaign, disk_mb)
        self._rng = random.Random(seed)
        self._workers = workers
        self._seen: dict[Path, bytes] = {}
        self._told: Counter[str] = Counter()

    # ------------------------------------------------------------------------------------- drivers

    def start(self, *flags: str, resume: bool = True) -> None:
        """Start a driver and wait until it works."""
        command = [sys.executable, "-m", "rondo.fuzz", f"--campaign={self.campaign}"]
        command += [
            f"-workers={self._workers}",
            f"-timeout={SECONDS}",
            f"-rss_limit_mb={RSS_MB}",
            *flags,
        ]
        command += ["--resume"] if resume else ["--framework", TOY, "-seed=7"]
        self.process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.temporary), "PYTHONPATH": str(ROOT)},
            stderr=subprocess.PIPE,
            text=True,
        )
        self.figures.drivers += 1
        self._watch = Watch(psutil.Process(self.process.pid), self._workers, self.figures)
        self._watch.start()
        self._said: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._watch.started.wait(120) or self.process.poll() is not None:
            self.figures.complaints.append(f"a driver did not start: {self._said[-3:]}")

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self._said = [*self._said[-20:], line.strip()]
            if STARTED.search(line):
                self._watch.started.set()
            found = re.search(r"FIND +(.*) \(\d+ steps", line)
            if found:
                self._told[found[1]] += 1
        self._watch.started.set()

    def finish(self, number: int) -> int:
        """End the driver with a signal and return its exit code."""
        with suppress(ProcessLookupError):
            self.process.send_signal(number)
        return self.ended()

    def ended(self, seconds: float = 60.0) -> int:
        """Wait for the driver's end and look at what it leaves."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.figures.complaints.append(f"a driver did not end in {seconds:.0f} s")
            self.process.kill()
            code = self.process.wait()
        self._reader.join(10)
        self._watch.end()
        self.note_files()
        return code

    # -------------------------------------------------------------------------------------- faults

    def workers(self) -> list[psutil.Process]:
        """Return the workers that live now."""
        with suppress(psutil.Error):
            driver = psutil.Process(self.process.pid)
            family = driver.children(recursive=True)
            return [each for each in family if each.ppid() != driver.pid]
        return []

    def kill_worker(self) -> None:
        """Kill a worker."""
        self._to_some_worker(psutil.Process.kill)

    def stop_worker(self) -> None:
        """Stop a worker; the driver must notice."""
        self._to_some_worker(psutil.Process.suspend)

    def _to_some_worker(self, harm: Callable[[psutil.Process], None]) -> None:
        workers = self.workers()
        if workers:
            with suppress(psutil.Error):
                harm(self._rng.choice(workers))

    def kill_server(self) -> None:
        """Kill the server, and with it all workers."""
        with suppress(psutil.Error, IndexError):
            psutil.Process(self.process.pid).children()[0].kill()

    def stop_driver(self) -> None:
        """Stop the driver for a while; its workers must not be taken for hanging."""
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        self.process.send_signal(signal.SIGCONT)

    def damage_corpus(self) -> None:
        """Drop files into the corpus that are no sequences."""
        corpus = self.campaign / "corpus"
        whole = sorted(corpus.glob("*.seq"))
        data = self._rng.choice(whole).read_bytes() if whole else b""
        damaged = (data[: len(data) // 2], b"", self._rng.randbytes(200), data + b"\xff" * 9)
        for number, content in enumerate(damaged):
            name = f"damaged{self._rng.randrange(1 << 30)}-{number}.seq"
            with suppress(OSError):
                (corpus / name).write_bytes(content)

    def kill_driver(self) -> None:
        """Kill the driver and continue."""
        self.finish(signal.SIGKILL)
        self.start()

    def fill_disk(self) -> None:
        """Have the campaign run out of room; it must stop by itself, and continue with room."""
        ballast = self.campaign / "ballast"
        if self.mounted:
            with suppress(OSError), ballast.open("wb") as file:
                while True:
                    file.write(b"x" * (1 << 20))
                    file.flush()
        else:
            self.finish(signal.SIGTERM)
            ballast.write_bytes(b"x" * (2 << 20))
            self.start("--max-disk=1")
        code = self.ended()
        if code != FULL:
            self.figures.complaints.append(f"exit code {code} with a full disk: {self._said[-2:]}")
        ballast.unlink(missing_ok=True)
        self.start("--max-disk=1000")

    # ------------------------------------------------------------------------------------- checks

    def note_files(self) -> None:
        """Remember every finding and every corpus file, and count what is gone or different."""
        for path, content in self._seen.items():
            if not path.exists() or path.read_bytes() != content:
                self.figures.lost += 1
                self.figures.complaints.append(f"lost: {path.name}")
        for pattern in ("findings/*/*.rondo", "corpus/*.seq"):
            for path in self.campaign.glob(pattern):
                if not path.name.startswith("damaged"):
                    self._seen.setdefault(path, path.read_bytes())

    def conclude(self) -> None:
        """End the campaign politely and replay all that it found."""
        if self.finish(signal.SIGINT) != 128 + signal.SIGINT:
            self.figures.complaints.append(f"no clean end: {self._said[-2:]}")
        self.figures.twice = sum(count - 1 for count in self._told.values())
        found = sorted(self.campaign.glob("findings/*/*.rondo"))
        self.figures.findings = len(found)
        self._replay(found)
        self.figures.leftovers = len(list(self.temporary.iterdir()))
        stats = self.campaign / "members" / "1" / "stats.jsonl"
        self.figures.executions = json.loads(stats.read_text().splitlines()[-1])["executions"]

    def _replay(self, found: list[Path]) -> None:
        """Run every finding in fresh processes, under the limits that it was found with."""
        server = Server(TOY)
        try:
            executor = Executor(server, Limits(SECONDS, RSS_MB << 20), 1, lambda: None)
            for path in found:
                recorded = load(path)
                shown = find_alarm(
                    executor.run_fresh(recorded.data), recorded.identity, strict=False
                )
                if shown is None:
                    self.figures.unreplayed += 1
                    self.figures.complaints.append(f"does not replay: {path.parent.name}")
        finally:
            server.close()

    def close(self) -> None:
        """Leave nothing behind, whatever happened."""
        if self.process.poll() is None:
            self.process.kill()
        if self.mounted:
            subprocess.run(["umount", "-l", str(self.campaign)], check=False)


def _mounted(folder: Path, disk_mb: int) -> bool:
    """Make `folder` a small disk of its own if that is allowed here."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        return False
    command = ["mount", "-t", "tmpfs", "-o", f"size={disk_mb}m", "rondo-soak", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


RARE = ("stop_worker", "damage_corpus", "kill_server", "kill_driver", "stop_driver", "fill_disk")
"""One of these comes with every other killed worker, in turn."""

GENTLE = tuple(name for name in RARE if name not in ("kill_driver", "fill_disk"))
LAST = 0.25
"""Share of the time at the end in which the driver is not made to end."""


@click.command()
@click.option("--quick", is_flag=True, help="Half a minute: under 50 seconds on 2 cores.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--minutes", default=120.0, show_default=True)
@click.option("--interval", default=30.0, show_default=True, help="Seconds between two faults.")
@click.option("--workers", default=2, show_default=True)
@click.option("--seed", default=1, show_default=True, help="Of the choice of victims.")
def main(
    quick: bool, as_json: bool, minutes: float, interval: float, workers: int, seed: int
) -> None:
    """Soak a campaign."""
    if quick:
        minutes, interval = 0.45, 2.0
    elif minutes < 60:
        interval = min(interval, minutes)
    with tempfile.TemporaryDirectory(prefix="rondo-soak-", ignore_cleanup_errors=True) as base:
        disk_mb = DISK_MB + round(DISK_MB_A_MINUTE * minutes)
        soak = Soak(Path(base), workers, seed, disk_mb)
        try:
            soak.start(resume=False)
            until = time.monotonic() + 60 * minutes
            number = 0
            while time.monotonic() < until:
                time.sleep(interval)
                rare = RARE if until - time.monotonic() > LAST * 60 * minutes else GENTLE
                names = ["kill_worker"] + ([rare[number // 2 % len(rare)]] if number % 2 else [])
                for name in names:
                    getattr(soak, name)()
                    soak.figures.faults[name] += 1
                number += 1
            soak.conclude()
        finally:
            soak.close()
    figures = soak.figures
    if as_json:
        told = {**vars(figures), "faults": dict(figures.faults), "tmpfs": soak.mounted}
        print(json.dumps({**told, "growth_mb_per_hour": figures.growth_mb_per_hour}))
    else:
        disk = f"a tmpfs of {disk_mb} Mb" if soak.mounted else "--max-disk"
        _print(figures, minutes, disk)
    print(
        f"soak: lost {figures.lost}, longest dead slot {figures.dead_slot_seconds:.1f} s"
        f" (target: lost 0, dead slot <= {DEAD_SECONDS:.0f} s, growth < {GROWTH_MB:.0f} MB/h,"
        f" nothing twice, unreplayed or left over): {'holds' if figures.holds else 'FAILS'}"
    )
    sys.exit(not figures.holds)


def _print(figures: Figures, minutes: float, disk: str) -> None:
    measured = "its last life was too short to say"
    if figures.measured_seconds:
        measured = f"over {figures.measured_seconds / 60:.0f} minutes of its last life"
    print(f"{minutes:g} minutes, {figures.executions} executions, {figures.drivers} drivers")
    print(f"faults: {', '.join(f'{name} {n}' for name, n in figures.faults.items())}; disk: {disk}")
    print(f"findings: {figures.findings}, twice {figures.twice}, unreplayed {figures.unreplayed}")
    grown = f"{figures.growth_mb:.1f} MB, {figures.growth_mb_per_hour:.1f} MB/h"
    print(f"driver growth: {grown} ({measured})")
    print(f"zombies: {figures.zombies}, temporary folders left: {figures.leftovers}")
    for complaint in figures.complaints[:10]:
        print(f"complaint: {complaint}")


if __name__ == "__main__":
    main()
