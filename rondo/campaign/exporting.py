"""From a file to a script: the file is replayed, and what shows here and now is written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rondo.campaign.loading import load
from rondo.campaign.locating import Laboratory, shown_here
from rondo.campaign.pool import Server
from rondo.campaign.preload import check_preloads
from rondo.errors import PreloadError
from rondo.findings.export import Exported, export, request_of
from rondo.findings.export_check import run_script
from rondo.findings.export_issue import Issue, issue_text
from rondo.findings.replay import check_vocabulary, read
from rondo.sequences.codec import decode


def export_file(
    file: Path,
    *,
    framework: str = "torch",
    preloads: tuple[str, ...] = (),
    seconds: float = 120.0,
    form: str = "script",
) -> Exported:
    """Write the finding in `file` as a `script`, an `issue` or a `test`. Raises RondoError."""
    check_preloads(preloads)
    replayable = read(file, framework=framework)
    name = replayable.framework if ":" not in framework else framework
    server = Server(name, preloads=preloads)
    try:
        check_vocabulary(replayable, server.vocabulary)
        laboratory = Laboratory.of(server, seconds)
        alarm = shown_here(laboratory, replayable, file)
        environment = laboratory.executor.environment()
        request = request_of(
            decode(replayable.data, server.vocabulary),
            alarm,
            server.vocabulary,
            version=environment.get(name, ""),
            preludes=tuple(map(_source, preloads)),
        )
        if form == "test":
            request = replace(request, form=form)
        located = None
        if form == "issue":
            located = laboratory.locate(replayable.data, alarm, thorough=True)
            request = replace(request, establishing=located.establishing)
    finally:
        server.close()
    exported = export(request, load(name), seconds=seconds)
    if located is None:
        return exported
    ran = run_script(exported.text, seconds=seconds, environment=exported.environment)
    issue = Issue(name, exported, ran, alarm, located, environment)
    return Exported(issue_text(issue), exported.layout)


def _source(path: str) -> str:
    """Return a preload's text, which becomes part of the script."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise PreloadError(f"--preload {path}: {error.strerror or error}") from None
    kept = [line for line in text.splitlines() if not line.startswith("from __future__ ")]
    return "\n".join(kept).strip()
