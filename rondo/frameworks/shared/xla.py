"""How XLA is started: before a first array of this process makes it read its flags.

XLA may keep an intermediate bfloat16 at the precision that it was computed at, where operations one
by one round each result. Eager code then rounds and compiled code does not: both are right, and no
comparison of outputs can tell that from a fault, since an output in float32 says nothing of what
was rounded on the way.
"""

from __future__ import annotations

import os

EXCESS_PRECISION = "xla_allow_excess_precision"


def round_as_written() -> None:
    """Have compiled code round where the program says so, unless the user's flags decide it."""
    flags = os.environ.get("XLA_FLAGS", "")
    if EXCESS_PRECISION not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} --{EXCESS_PRECISION}=false".strip()
