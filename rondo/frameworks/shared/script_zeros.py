"""Zeros of other signs: a difference that no tolerance shows; a script must ask for the signs."""

from __future__ import annotations

import re

from rondo.oracle.result import Difference

NUMBER = re.compile(r"-?(?:inf|nan|\d+(?:\.\d+)?(?:e[-+]?\d+)?)")


def differ_in_sign_of_zeros(difference: Difference) -> bool:
    """Whether what is shown of the arms is equal as numbers, and holds zeros."""
    shown = {text for text in (difference.eager, difference.retained, difference.reset) if text}
    numbers = {tuple(map(float, NUMBER.findall(text.rpartition(" [")[2]))) for text in shown}
    return len(shown) > 1 and len(numbers) == 1 and 0.0 in next(iter(numbers))
