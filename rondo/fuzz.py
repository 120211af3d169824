"""The main job: `python -m rondo.fuzz corpus/ -max_total_time=900`.

Puts a campaign together and sees to its end. Whatever is wrong with what was asked for is told in
one line before anything runs.
"""

from __future__ import annotations

import random
import sys
from contextlib import ExitStack
from dataclasses import replace

from rondo.campaign.flags import HELP_FLAGS, help_text, parse_flags
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
        return run(parse_flags(arguments))
    except RondoError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code


def run(settings: Settings) -> int:
    """Run the campaign that `settings` describe and return its exit code. Raises RondoError."""
    from rondo.campaign.artifacts import Artifacts
    from rondo.campaign.corpora import Scope, check_folders, open_corpus
    from rondo.campaign.driver import Campaign, Progress
    from rondo.campaign.executor import Executor
    from rondo.campaign.pool import Limits, Server
    from rondo.campaign.preload import check_preloads
    from rondo.campaign.turns import Turns
    from rondo.report.recording import recorded
    from rondo.search.sampler import MAX_LENGTH, SearchState
    from rondo.search.samplers import create_sampler

    if not settings.seed:
        settings = replace(settings, seed=random.SystemRandom().randrange(1, 1 << 32))
    check_folders(settings.corpora)
    check_preloads(settings.preloads)
    artifacts = Artifacts(settings.artifact_prefix)
    stop = Stop()
    with ExitStack() as stack:
        stack.enter_context(stop.listening())
        status = _status(settings)
        stack.callback(status.close)
        status.info(f"Seed: {settings.seed}")
        try:
            turns = Turns()
            server = Server(
                settings.framework,
                preloads=settings.preloads,
                subject=settings.subject,
                interrupted=stop.check,
                turns=turns,
            )
            stack.callback(server.close)
            scope = Scope.of(settings, server.vocabulary, usual_length=MAX_LENGTH)
            corpus, left_out = open_corpus(settings, server.vocabulary, scope)
            limits = Limits(settings.timeout, settings.rss_limit_mb << 20)
            executors = tuple(
                Executor(server, limits, settings.batch, stop.check) for _ in range(settings.slots)
            )
            executors[0].start()
        except StoppedError:
            return SIGNALLED + stop.signal
        status.info(f"{len(corpus)} seeds" + (f", {left_out} out of scope" if left_out else ""))
        state = SearchState.begin(scope.vocabulary, corpus, max_length=scope.max_length)
        sampler = create_sampler(
            settings.sampler, state, seed=settings.seed, backends=scope.backends
        )
        campaign = Campaign(
            settings=settings,
            vocabulary=server.vocabulary,
            executors=executors,
            state=state,
            sampler=sampler,
            artifacts=artifacts,
            status=recorded(status, artifacts.folder, settings, state.ledger, server.trees),
            stop=stop,
            progress=Progress.begin(entry.sequence for entry in corpus),
            turns=turns,
        )
        stop.start_clock(settings.total_seconds)
        try:
            campaign.run()
        finally:
            if settings.print_final_stats or stop.signal:
                status.final(campaign.stats.final(stop.elapsed))
    if stop.signal:
        return SIGNALLED + stop.signal
    return settings.error_exitcode if campaign.stats.findings else EXIT_OK


def _status(settings: Settings) -> Status:
    if settings.json:
        return JsonStatus()
    if sys.stderr.isatty() and settings.verbosity == 1:
        from rondo.campaign.live import LiveStatus

        return LiveStatus(settings)
    return PlainStatus(verbosity=settings.verbosity)


if __name__ == "__main__":
    sys.exit(main())
