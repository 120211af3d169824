"""The main job: `python -m rondo.fuzz corpus/ -max_total_time=900`.

Puts a campaign together and sees to its end. Whatever is wrong with what was asked for is told in
one line before anything runs.
"""

from __future__ import annotations

import random
import sys
from contextlib import ExitStack
from dataclasses import replace

from rondo.campaign.flags import HELP_FLAGS, help_text, parse
from rondo.campaign.settings import Settings
from rondo.campaign.status import JsonStatus, PlainStatus, Status
from rondo.campaign.stop import Stop, StoppedError
from rondo.errors import EXIT_OK, RondoError

SIGNALLED = 128
"""A campaign ended by signal n leaves with 128 + n, as shells say it: 130, 143."""


def main(arguments: list[str] | None = None) -> int:
    """Run a campaign; return its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if any(argument in HELP_FLAGS for argument in arguments):
        print(help_text())
        return EXIT_OK
    try:
        return run(*parse(arguments))
    except RondoError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def run(settings: Settings, given: frozenset[str] = frozenset()) -> int:
    """Run the campaign that `settings` describe and return its exit code. Raises RondoError.

    `given` names the settings that were asked for: a continued campaign keeps the others as before.
    """
    from rondo.campaign.artifacts import Artifacts
    from rondo.campaign.corpora import Scope, check_folders
    from rondo.campaign.driver import Campaign
    from rondo.campaign.executor import Executor
    from rondo.campaign.opening import company, enter, open_keeper, open_search
    from rondo.campaign.pool import Limits, Server
    from rondo.campaign.preload import check_preloads
    from rondo.campaign.turns import Turns
    from rondo.frameworks.base import CPU
    from rondo.report.recording import recorded
    from rondo.search.sampler import MAX_LENGTH

    if settings.merge or settings.minimize_crash or settings.ray:
        return _other_mode(settings)
    member = None
    if settings.campaign is not None:
        member, settings = enter(settings, given)
    if not settings.seed:
        settings = replace(settings, seed=random.SystemRandom().randrange(1, 1 << 32))
    check_folders(settings.corpora)
    check_preloads(settings.preloads)
    artifacts = Artifacts(settings.artifact_prefix)
    stop = Stop()
    with ExitStack() as stack:
        if member is not None:
            stack.callback(member.close)
        stack.enter_context(stop.listening())
        status = _status(settings)
        stack.callback(status.close)
        status.info(f"Seed: {settings.seed}")
        if member is not None and not settings.resume:
            for line in company(member, settings):
                status.info(line)
        try:
            turns = Turns()
            server = Server(
                settings.framework,
                preloads=settings.preloads,
                subject=settings.subject,
                device=settings.device,
                device_limit_mb=settings.device_limit_mb,
                interrupted=stop.check,
                turns=turns,
            )
            stack.callback(server.close)
            # What `auto` was: a campaign that continues elsewhere must not change it.
            settings = replace(settings, device=server.device)
            if server.device != CPU:
                status.info(f"Device: {server.device}")
            scope = Scope.of(settings, server.vocabulary, usual_length=MAX_LENGTH)
            limits = Limits(settings.timeout, settings.rss_limit_mb << 20)
            executors = tuple(
                Executor(server, limits, settings.batch, stop.check) for _ in range(settings.slots)
            )
            executors[0].start()
        except StoppedError:
            status.info("stopped before anything ran")
            return SIGNALLED + stop.signal
        opened = open_search(settings, server.vocabulary, scope, member, artifacts, status.info)
        keeper = open_keeper(settings, server.folder, scope, member, artifacts, opened)
        campaign = Campaign(
            settings=settings,
            vocabulary=server.vocabulary,
            executors=executors,
            state=opened.state,
            sampler=opened.sampler,
            artifacts=artifacts,
            status=recorded(
                status,
                artifacts.folder,
                settings,
                opened.state.ledger,
                server.trees,
                member=keeper.name,
            ),
            stop=stop,
            progress=opened.progress,
            keeper=keeper,
            left=opened.left,
            turns=turns,
        )
        earlier = campaign.stats.findings
        stop.start_clock(settings.total_seconds)
        try:
            campaign.run()
        finally:
            if settings.print_final_stats or stop.signal:
                status.final(campaign.stats.final(opened.progress.seconds + stop.elapsed))
            if settings.show_documented:
                for line in campaign.stats.documented() or ["no documented limitation was met"]:
                    status.info(line)
    if stop.signal:
        return SIGNALLED + stop.signal
    return settings.error_exitcode if campaign.stats.findings > earlier else EXIT_OK


def _other_mode(settings: Settings) -> int:
    """Merge corpora, shorten a file, or have a cluster search. Raises RondoError."""
    from rondo.campaign.modes import run_elsewhere, run_merge, run_minimize

    stop, status = Stop(), _status(settings)
    try:
        with stop.listening():
            if settings.merge:
                return run_merge(settings, status, stop)
            if settings.minimize_crash:
                return run_minimize(settings, status, stop)
            return run_elsewhere(settings, status, stop)
    finally:
        status.close()


def _status(settings: Settings) -> Status:
    shown = _shown(settings)
    if settings.openmetrics is None:
        return shown
    from rondo.campaign.metrics import MetricsStatus

    return MetricsStatus(shown, settings.openmetrics)


def _shown(settings: Settings) -> Status:
    if settings.json:
        return JsonStatus()
    if sys.stderr.isatty() and settings.verbosity == 1:
        from rondo.campaign.live import LiveStatus

        return LiveStatus(settings)
    return PlainStatus(verbosity=settings.verbosity)


if __name__ == "__main__":
    sys.exit(main())
