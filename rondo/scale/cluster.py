"""Campaigns on a Ray cluster: one node per worker, one store, and a head that keeps the folder.

The key insight: nodes are cattle. The head asks each for its figures now and then; one that does
not answer any more is replaced by another with a seed of its own, and loses nothing but what it had
found since its last trade. Machines that join give the missing nodes a place.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rondo.campaign.corpora import check_folders, framework_folder
from rondo.campaign.flags import CORPUS, FINDINGS
from rondo.campaign.folder import join
from rondo.campaign.settings import UNLIMITED, Settings
from rondo.campaign.status import Status
from rondo.campaign.stop import Stop
from rondo.errors import EXIT_OK, CampaignError, RondoError
from rondo.scale.courier import Courier
from rondo.scale.node import Node
from rondo.scale.store import Store

TRADE_SECONDS = 5.0
"""Seconds between two trades of a node."""
ANSWER_SECONDS = 60.0
"""How long a node may take to answer before it counts as lost."""


class RayError(RondoError):
    """Ray is not there, or the cluster cannot be reached."""

    slug = "ray"


@dataclass
class Placed:
    """A node somewhere in the cluster, and the answer that it owes."""

    name: str
    actor: Any
    owed: Any
    asked: float
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether its campaign has reached its limit."""
        return self.figures.get("running") is False


def connect(address: str, workers: int) -> Any:
    """Return the module `ray`, connected to `address`. Raises RayError.

    `auto` is the cluster that this machine belongs to; where it belongs to none, one is started
    here and ends with this process.
    """
    try:
        import ray
    except ImportError:
        raise RayError("Ray is not installed; run: pip install 'ray>=2.40'") from None
    options: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
    try:
        ray.init(address=address, **options)
    except ConnectionError as error:
        if address != "auto":
            raise RayError(f"no Ray cluster at {address}: {error}") from None
        ray.init(address="local", num_cpus=workers, include_dashboard=False, **options)
    return ray


def node_flags(settings: Settings, number: int, workers: int) -> list[str]:
    """Return the flags of the node that is started as `number`: one worker, its share, its seed."""
    flags = [f"-seed={settings.seed + number}", f"-timeout={settings.timeout}"]
    flags += [f"-rss_limit_mb={settings.rss_limit_mb}", "--framework", settings.framework]
    flags += ["--device", settings.device, "--device_limit_mb", str(settings.device_limit_mb)]
    flags += ["--sampler", settings.sampler, "--batch", str(settings.batch)]
    flags += [f"--lines={int(settings.lines)}", f"-max_len={settings.max_len}"]
    if settings.total_runs != UNLIMITED:
        flags.append(f"-runs={-(-settings.total_runs // workers)}")
    for name in ("backends", "constructs", "architectures"):
        if names := getattr(settings, name):
            flags += [f"--{name}", ",".join(names)]
    for path in settings.preloads:
        flags += ["--preload", os.path.abspath(path)]
    return flags + (["--subject", settings.subject] if settings.subject else [])


class Cluster:
    """The head of a campaign on a cluster."""

    def __init__(self, ray: Any, settings: Settings, status: Status, stop: Stop) -> None:
        if settings.campaign is None:
            raise CampaignError("--ray needs --campaign=FOLDER: that is where everything is kept")
        self._ray = ray
        self._settings = settings
        self._status = status
        self._stop = stop
        self._workers = settings.slots
        self._seeds = _seeds_of(settings)
        self._store = ray.remote(num_cpus=0)(Store).remote()
        self._node = ray.remote(num_cpus=1)(_RayNode)
        self._nodes: list[Placed] = []
        self._lost: dict[str, int] = {}
        self._started = 0
        self._courier = Courier("head", settings.campaign, self._trade, everything=True)
        self.findings = 0
        self.replaced = 0

    def _trade(self, *what: Any) -> Any:
        return self._ray.get(self._store.trade.remote(*what))

    def run(self) -> int:
        """Run until a limit or a signal; return the exit code."""
        try:
            while not self._stop.requested:
                while len(self._nodes) < self._workers:
                    self._place()
                self._listen()
                self._keep()
                if all(node.ended for node in self._nodes):
                    break
        finally:
            self._end()
        self._tell("DONE")
        if self._stop.signal:
            return 128 + self._stop.signal
        return self._settings.error_exitcode if self.findings else EXIT_OK

    def _place(self) -> None:
        """Start one more node; Ray finds a place for it, or waits until there is one."""
        name = f"node {self._started}"
        flags = node_flags(self._settings, self._started, self._workers)
        self._started += 1
        actor = self._node.remote(name, flags, self._seeds, self._store)
        self._nodes.append(Placed(name, actor, actor.step.remote(), time.monotonic()))

    def _listen(self) -> None:
        """Take the answers that come; ask those again that have answered."""
        owed = [node.owed for node in self._nodes if not node.ended]
        if not owed:
            return
        self._ray.wait(owed, num_returns=len(owed), timeout=1.0)
        for node in tuple(self._nodes):
            if node.ended:
                continue
            ready, _ = self._ray.wait([node.owed], timeout=0)
            if ready:
                self._heard(node)

    def _heard(self, node: Placed) -> None:
        try:
            node.figures = self._ray.get(node.owed)
        except self._ray.exceptions.RayError:
            self._replace(node)
            return
        if node.ended and node.figures.get("code") not in (EXIT_OK, None):
            raise RayError(f"{node.name}: {node.figures['said'] or 'its campaign failed'}")
        node.owed = node.actor.step.remote(TRADE_SECONDS)
        node.asked = time.monotonic()

    def _replace(self, node: Placed) -> None:
        self._nodes.remove(node)
        self._lost[node.name] = int(node.figures.get("executions", 0))
        self.replaced += 1
        self._status.info(f"{node.name} was lost; another one takes its place")

    def _keep(self) -> None:
        """Write down what the store holds, and tell of findings: each once, whoever made it."""
        for path in self._courier.go():
            if path.startswith(f"{FINDINGS}/") and path.endswith(".rondo"):
                self.findings += 1
                self._status.info(f"FIND   {path}")
        self._tell("pulse")

    def _tell(self, event: str) -> None:
        executions = sum(self._lost.values())
        executions += sum(int(node.figures.get("executions", 0)) for node in self._nodes)
        self._status.info(
            f"#{executions} {event}: {len(self._nodes)} nodes, {self.findings} findings"
        )

    def _end(self) -> None:
        """End every node politely, take along what it still has, and let Ray go."""
        ending = [node.actor.end.remote() for node in self._nodes]
        if ending:
            self._ray.wait(ending, num_returns=len(ending), timeout=ANSWER_SECONDS)
        for node, reference in zip(self._nodes, ending, strict=True):
            try:
                node.figures = self._ray.get(reference, timeout=1)
            except (self._ray.exceptions.RayError, TimeoutError):
                continue
        self._keep()
        self._ray.shutdown()


class _RayNode:
    """A node as an actor: it reaches the store by a message."""

    def __init__(self, name: str, flags: list[str], seeds: dict[str, bytes], store: Any) -> None:
        import ray

        def trade(*what: Any) -> Any:
            return ray.get(store.trade.remote(*what))

        self._node = Node(name, flags, seeds, trade)

    def step(self, wait: float = 0.0) -> dict[str, Any]:
        """Wait, trade and tell how far it is."""
        time.sleep(wait)
        return self._node.step()

    def end(self) -> dict[str, Any]:
        """End the campaign."""
        return self._node.end()


def _seeds_of(settings: Settings) -> dict[str, bytes]:
    """Return the seeds of all given folders by file name; they travel with each node."""
    framework = settings.framework.partition(":")[0]
    seeds: dict[str, bytes] = {}
    for folder in settings.corpora:
        for path in sorted(framework_folder(Path(folder), framework).rglob("*.seq")):
            seeds[f"{len(seeds)}.seq"] = path.read_bytes()
    return seeds


def run_on_ray(settings: Settings, status: Status, stop: Stop) -> int:
    """Run the campaign of `settings` on a cluster and return its exit code. Raises RondoError."""
    if settings.campaign is None:
        raise CampaignError("--ray needs --campaign=FOLDER: that is where everything is kept")
    member = join(settings.campaign)
    try:
        check_folders(settings.corpora)
        ray = connect(settings.ray, settings.slots)
        status.info(f"Seed: {settings.seed}; folders {CORPUS}, {FINDINGS} in {settings.campaign}")
        cluster = Cluster(ray, settings, status, stop)
        stop.start_clock(settings.total_seconds)
        return cluster.run()
    finally:
        member.close()
