"""Every error that a user can meet: one class each, one sentence that tells what to do.

Commands print `error: <sentence>` on one line and leave with the class's exit code; library code
raises and never exits.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_OK = 0
EXIT_BUG = 1
"""A replayed bug shows; from `rondo.fuzz` with -error_exitcode, a finding was made."""
EXIT_BAD_INPUT = 2
EXIT_INTERRUPTED = 130


class RondoError(Exception):
    """Base of all errors that are the user's to mend."""

    exit_code: ClassVar[int] = EXIT_BAD_INPUT
    slug: ClassVar[str] = "error"


class UnknownFrameworkError(RondoError):
    """No adapter of that name."""

    slug = "unknown-framework"

    def __init__(self, name: str, known: list[str]) -> None:
        super().__init__(f"no framework {name!r}; there is {', '.join(known)}")


class MissingFrameworkError(RondoError):
    """The framework's package is not installed."""

    slug = "missing-framework"

    def __init__(self, name: str, requirement: str) -> None:
        super().__init__(f"{name} is not installed; run: pip install '{requirement}'")


class CampaignError(RondoError):
    """A campaign folder cannot be used as asked."""

    slug = "campaign"


class CorpusError(RondoError):
    """A corpus folder or file cannot be used."""

    slug = "corpus"


class ReproducerError(RondoError):
    """A reproducer cannot be read."""

    slug = "reproducer"


class ArtifactError(RondoError):
    """Findings cannot be written where they should go."""

    slug = "artifacts"


class SubjectError(RondoError):
    """A user's subject cannot be loaded or is described wrongly."""

    slug = "subject"


class PreloadError(RondoError):
    """The user's --preload file cannot be run."""

    slug = "preload"


class DeviceError(RondoError):
    """There is no device of that name here, or subjects cannot live on it."""

    slug = "device"


class BackendError(RondoError):
    """A back end cannot compile anything on this machine."""

    slug = "backend"


class WorkerError(RondoError):
    """The worker process could not be started or kept alive."""

    exit_code = 3
    slug = "worker"
