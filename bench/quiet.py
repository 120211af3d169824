"""Zero false alarms: calls over constructs whose changes Dynamo guards, on back end eager.

Random sequences over all constructs that promise to be guarded, on small architectures, are
executed as a campaign would, until enough calls were judged. Any alarm is printed and fails.

    python bench/quiet.py                 10,000 calls
    python bench/quiet.py --quick         as many as fit into 40 seconds
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from random import Random

import click

from rondo.campaign.executor import Executor
from rondo.campaign.pool import Limits, Server
from rondo.sequences.codec import encode
from rondo.sequences.distribution import SequenceDistribution

TARGET = 0
QUICK_SECONDS = 40.0
ARCHITECTURES = (
    "identity",
    "mlp",
    "cnn",
    "resnet_block",
    "lstm",
    "transformer_encoder",
    "gpt_decoder",
)
"""Small ones: what is counted are calls over constructs, and these compile fastest."""

LENGTH = 48
ECHO = 0.8
"""Long sequences that repeat themselves: most calls meet state that earlier ones left behind."""

PROGRESS_EVERY = 50
LIMITS = Limits(seconds=120.0, resident_bytes=4096 << 20)


@click.command()
@click.option("--quick", is_flag=True, help="At most 40 seconds of executions.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
@click.option("--calls", default=10_000, show_default=True, help="Calls to execute.")
@click.option("--seed", default=1, show_default=True)
@click.option("--backend", default="eager", show_default=True)
def main(quick: bool, as_json: bool, calls: int, seed: int, backend: str) -> None:
    """Count alarms over guarded constructs."""
    server = Server("torch")
    try:
        figures = measure(server, calls, seed, backend, QUICK_SECONDS if quick else float("inf"))
    finally:
        server.close()
    if as_json:
        print(json.dumps(figures))
    print(f"alarms in {figures['calls']} calls: {figures['alarms']} (target {TARGET})")
    sys.exit(figures["alarms"] != TARGET or not figures["calls"])


def measure(
    server: Server, wanted: int, seed: int, backend: str, seconds: float
) -> dict[str, int | float | dict[str, int]]:
    """Execute until `wanted` calls were made or `seconds` have passed; return the counts."""
    full = server.vocabulary
    guarded = frozenset(each.name for each in full.constructs if each.guarded)
    vocabulary = full.restricted(constructs=guarded, architectures=frozenset(ARCHITECTURES))
    distribution = SequenceDistribution(vocabulary, max_length=LENGTH, echo=ECHO)
    executor = Executor(server, LIMITS, batch=16, interrupted=lambda: None)
    rng = Random(seed)
    backends = (full.backends.index(backend),)
    verdicts: Counter[str] = Counter()
    calls = raised = alarms = sequences = 0
    began = time.monotonic()
    while calls < wanted and time.monotonic() - began < seconds:
        sequence = distribution.sample_sequence(rng, LENGTH, backends=backends)
        result = executor.run(encode(sequence))
        sequences += 1
        verdicts[result.verdict] += 1
        calls += result.calls
        raised += result.raised
        alarms += len(result.alarms)
        for alarm in result.alarms:
            print(f"ALARM {alarm.identity} in {encode(sequence).hex()}", flush=True)
        if sequences % PROGRESS_EVERY == 0:
            print(f"{calls} calls, {alarms} alarms", file=sys.stderr, flush=True)
    return {
        "calls": calls,
        "alarms": alarms,
        "sequences": sequences,
        "raised": raised,
        "constructs": len(guarded),
        "architectures": len(ARCHITECTURES),
        "verdicts": dict(verdicts),
        "seconds": round(time.monotonic() - began, 1),
    }


if __name__ == "__main__":
    main()
