"""Rondo: a stateful fuzzer for deep learning compilers.

Importing this package imports no framework; an adapter is loaded when one is asked for.
"""

from __future__ import annotations

from rondo.subjects.user import UserSubject, subject

__all__ = ["UserSubject", "__version__", "subject"]
__version__ = "0.1.0"
