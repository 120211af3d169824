"""From a file to a script: the file is replayed, and what shows here and now is written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rondo.campaign.deaths import DIED
from rondo.campaign.loading import load
from rondo.campaign.locating import Laboratory, shown_here
from rondo.campaign.pool import Server
from rondo.campaign.preload import check_preloads
from rondo.campaign.workbench import framework_of
from rondo.errors import SubjectError
from rondo.findings.export import Exported, ExportError, export, request_of
from rondo.findings.export_check import run_script
from rondo.findings.export_issue import Issue, issue_text
from rondo.findings.preludes import prelude_of
from rondo.findings.replay import check_vocabulary, read
from rondo.sequences.codec import decode
from rondo.subjects.user import UserSubject, load_subject


def export_file(
    file: Path,
    *,
    framework: str = "torch",
    preloads: tuple[str, ...] = (),
    subject: str = "",
    device: str = "",
    seconds: float = 120.0,
    form: str = "script",
) -> Exported:
    """Write the finding in `file` as a `script`, an `issue` or a `test`. Raises RondoError."""
    check_preloads(preloads)
    preludes = tuple(prelude_of(path, number) for number, path in enumerate(preloads))
    replayable = read(file, framework=framework)
    name = framework_of(replayable, framework)
    if form == "issue" and name != "torch":
        raise ExportError("an issue is written for torch alone: it answers what PyTorch asks for")
    server = Server(name, preloads=preloads, subject=subject, device=replayable.device(device))
    try:
        check_vocabulary(replayable, server.vocabulary)
        laboratory = Laboratory.of(server, seconds)
        alarm = shown_here(laboratory, replayable, file)
        if alarm.identity.verdict == DIED:
            raise ExportError(
                f"a process that dies ({alarm.identity.effect}) says no verdict, and a script must;"
                " `rondo replay` shows it"
            )
        environment = laboratory.executor.environment()
        request = request_of(
            decode(replayable.data, server.vocabulary),
            alarm,
            server.vocabulary,
            version=environment.get(name, ""),
            preludes=preludes,
        )
        request = replace(request, device=server.device)
        if form == "test":
            request = replace(request, form=form)
        located = None
        if form == "issue":
            located = laboratory.locate(replayable.data, alarm, thorough=True)
            request = replace(request, establishing=located.establishing)
    finally:
        server.close()
    adapter = load(name)
    if subject:
        adapter.add_subject(named_subject(subject))
    exported = export(request, adapter, seconds=seconds)
    if located is None:
        return exported
    ran = run_script(exported.text, seconds=seconds, environment=exported.environment)
    issue = Issue(name, exported, ran, alarm, located, environment)
    return Exported(issue_text(issue), exported.layout)


def named_subject(path: str) -> UserSubject:
    """Return the user's subject, whose model a script must be able to build by a name."""
    described = load_subject(path)
    name = getattr(described.build, "__name__", "")
    if getattr(described.origin, name, None) is not described.build:
        raise SubjectError(
            f"{path} is built by {name or described.build!r}, which is no class or function of"
            f" {getattr(described.origin, '__name__', 'its module')}: a script has no name for it"
        )
    return described
