"""From a file to a script: the file is replayed, and what shows here and now is written down."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from rondo.campaign.loading import load
from rondo.campaign.replaying import replay_file
from rondo.errors import PreloadError
from rondo.findings.export import Exported, ExportError, export, request_of
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
    replayed = replay_file(file, framework=framework, preloads=preloads, seconds=seconds)
    alarm = replayed.alarm
    if alarm is None:
        raise ExportError(f"{file}: the bug does not show here ({replayed.result.verdict})")
    adapter = load(replayed.replayable.framework if ":" not in framework else framework)
    vocabulary = adapter.vocabulary()
    environment = adapter.environment()
    request = request_of(
        decode(replayed.replayable.data, vocabulary),
        alarm,
        vocabulary,
        version=environment.get(adapter.name, ""),
        preludes=tuple(map(_source, preloads)),
    )
    return export(replace(request), adapter, seconds=seconds)


def _source(path: str) -> str:
    """Return a preload's text, which becomes part of the script."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise PreloadError(f"--preload {path}: {error.strerror or error}") from None
    kept = [line for line in text.splitlines() if not line.startswith("from __future__ ")]
    return "\n".join(kept).strip()
