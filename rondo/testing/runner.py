"""The process that checks a model: a small campaign, and scripts for what it finds.

Started by `rondo.testing.process`, not by people.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rondo.errors import EXIT_OK, RondoError
from rondo.findings.reproducer import SUFFIX, Reproducer, load, write_atomically
from rondo.subjects.user import UserSubject
from rondo.testing.outcome import Found, Outcome

SCRIPT = "script.py"
SCRIPT_SECONDS = 300.0
WATCH_SECONDS = 0.1


def main(arguments: list[str]) -> int:
    """Check the subject, write the outcome, return an exit code."""
    subject, executions, seconds, seed, findings, outcome = arguments
    try:
        run(subject, int(executions), float(seconds), int(seed), Path(findings), Path(outcome))
    except RondoError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return EXIT_OK


def run(
    subject: str, executions: int, seconds: float, seed: int, findings: Path, outcome: Path
) -> None:
    """Run the campaign and write down what it saw. Raises RondoError."""
    from rondo.campaign.artifacts import UNCONFIRMED, count_kept
    from rondo.campaign.settings import Settings
    from rondo.fuzz import run as fuzz
    from rondo.report.record import FOLDER, read_records

    # A finding written as the campaign ends by itself must not interrupt what comes after it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    corpus = findings / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        (corpus,),
        runs=executions,
        max_total_time=seconds,
        seed=seed,
        artifact_prefix=findings,
        subject=subject,
        lines=False,
        verbosity=0,
        decide_at_once=True,
    )
    with stopping_at_a_finding(findings):
        fuzz(settings)
    records = read_records(findings / FOLDER)
    last = records[-1].moments[-1] if records and records[-1].moments else {}
    labels = [label for record in records for label in record.ledger.labels.values()]
    paths = sorted(findings.glob(f"*/*{SUFFIX}"))
    found = sorted((describe(path, load(path), subject) for path in paths), key=_stateful_first)
    Outcome(
        executions=int(last.get("executions", 0)),
        behaviours=int(last.get("behaviours", 0)),
        compiled=sum(": compile" in label or ": recompile" in label for label in labels),
        findings=tuple(found),
        undecided=count_kept(findings, UNCONFIRMED),
    ).save(outcome)


@contextmanager
def stopping_at_a_finding(findings: Path) -> Iterator[None]:
    """End the campaign as Ctrl-C does once it has written a finding: a test fails by its first."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(WATCH_SECONDS):
            if any(findings.glob(f"*/*{SUFFIX}")):
                os.kill(os.getpid(), signal.SIGINT)
                return

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def describe(path: Path, reproducer: Reproducer, subject: str) -> Found:
    """Return a finding with its script, or with its sequence in words where none shows the bug."""
    identity = reproducer.identity
    title = f"{identity.verdict}: {identity.effect} in {identity.place} on {identity.backend}"
    title += f", exposed by {identity.exposing}"
    try:
        text, runnable = script(reproducer, subject), True
        path = path.parent / SCRIPT
        write_atomically(path, text.encode())
    except RondoError as error:
        from rondo.commands.show import decoded_lines

        lines = [*decoded_lines(reproducer.decoded), f"(no script: {error})"]
        text, runnable = "\n".join(lines), False
    return Found(title, identity.verdict, text, runnable, str(path))


def script(reproducer: Reproducer, subject: str) -> str:
    """Return a script that shows the bug, the user's own code in it. Raises RondoError."""
    from rondo.findings.export import export, request_of
    from rondo.frameworks.torch.adapter import TorchFramework
    from rondo.sequences.codec import decode
    from rondo.subjects.user import load_subject

    described = load_subject(subject)
    framework = TorchFramework()
    framework.add_subject(described)
    vocabulary = framework.vocabulary()
    request = request_of(
        decode(reproducer.data, vocabulary),
        reproducer.alarm,
        vocabulary,
        version=framework.environment().get("torch", ""),
        preludes=registering(described),
    )
    return export(request, framework, seconds=SCRIPT_SECONDS).text


def registering(described: UserSubject) -> tuple[str, ...]:
    """Return what a script must run first, for the back ends of its own that a subject names.

    The folder is written out: a script is run from anywhere, and is for this project alone.
    """
    origin = described.origin
    if not described.backends or origin is None or not origin.__file__:
        return ()
    depth = origin.__name__.count(".")
    folder = Path(origin.__file__).resolve().parents[depth]
    first = f"sys.path.insert(0, {str(folder)!r})"
    return (f"import sys\n{first}\nimport {origin.__name__}  # registers the back end",)


def _stateful_first(found: Found) -> tuple[bool, str]:
    return found.verdict != "stateful", found.title


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
