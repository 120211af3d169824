"""-merge=1, -minimize_crash=1 and --ray: what is done instead of a campaign here.

The key insight: all of them exist elsewhere under names of their own; here they only take the flags
that people know, and print lines that they can read.
"""

from __future__ import annotations

import random
from dataclasses import replace

from rondo.campaign.merging import merge
from rondo.campaign.settings import Settings
from rondo.campaign.shrinking import Request, shrink_file
from rondo.campaign.status import Status
from rondo.campaign.stop import Stop, StoppedError
from rondo.errors import EXIT_OK
from rondo.frameworks.base import AUTO

SIGNALLED = 128
EXIT_INCOMPLETE = 1
"""A merge came to its time limit: it adds everything or nothing."""


def run_merge(settings: Settings, status: Status, stop: Stop) -> int:
    """Add to the first folder what the others show beyond it; return the exit code."""
    stop.start_clock(settings.max_total_time)
    try:
        merged = merge(
            settings.corpora,
            framework=settings.framework,
            stop=stop,
            preloads=settings.preloads,
            subject=settings.subject,
            device=settings.device,
            seconds=settings.timeout,
            workers=settings.slots,
            progress=lambda done, total, behaviours: status.info(
                f"merged {done} of {total}, {behaviours} behaviours"
            ),
        )
    except StoppedError:
        status.info("the merge was stopped; nothing was added")
        return SIGNALLED + stop.signal if stop.signal else EXIT_INCOMPLETE
    status.info(
        f"MERGE-OUTER: {len(merged.kept)} new files, {merged.behaviours} behaviours;"
        f" {merged.alarming} with an alarm and {merged.faulty} that cannot run were left out"
    )
    return EXIT_OK


def run_elsewhere(settings: Settings, status: Status, stop: Stop) -> int:
    """Have a Ray cluster run the campaign; return the exit code."""
    from rondo.scale.cluster import run_on_ray

    if not settings.seed:
        settings = replace(settings, seed=random.SystemRandom().randrange(1, 1 << 31))
    return run_on_ray(settings, status, stop)


def run_minimize(settings: Settings, status: Status, stop: Stop) -> int:
    """Shorten one file into the artifact folder; return the exit code."""
    (file,) = settings.corpora
    out = settings.artifact_prefix / f"minimized-from-{file.stem}.rondo"
    stop.start_clock(settings.max_total_time)
    request = Request(
        file,
        out,
        settings.framework,
        settings.preloads,
        settings.subject,
        settings.timeout,
        settings.slots,
        device="" if settings.device == AUTO else settings.device,
    )
    try:
        shrunk = shrink_file(request, stop, lambda steps, runs: None)
    except StoppedError:
        status.info("stopped before anything was shorter")
        return SIGNALLED + stop.signal if stop.signal else EXIT_OK
    short = shrunk.short
    status.info(
        f"CRASH_MIN: {short.steps_before} steps became {short.steps_after}"
        f" in {short.executions} executions: {shrunk.path}"
    )
    return SIGNALLED + stop.signal if stop.signal else EXIT_OK
