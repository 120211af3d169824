"""Rondo: a stateful fuzzer for deep learning compilers.

Importing this package imports no framework; an adapter is loaded when one is asked for.
"""

from __future__ import annotations

__version__ = "0.1.0"
