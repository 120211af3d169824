"""The named dimensions that architectures share, so that one call can size any of them.

Image sizes start at 5: two halvings leave a 2x2 map, so that batch norm in training mode always has
more than one value per channel, even for a batch of one.
"""

from __future__ import annotations

from rondo.sequences.vocabulary import BATCH, Dimension, InputSpec, Schema

BATCHES = Dimension(BATCH, (2, 3, 1, 4, 8))
LENGTHS = Dimension("length", (5, 7, 1, 8, 16))
HEIGHTS = Dimension("height", (8, 6, 5, 10))
WIDTHS = Dimension("width", (8, 10, 5, 6))

MAX_BATCH = max(BATCHES.sizes)
MAX_LENGTH = max(LENGTHS.sizes)

IMAGES = Schema(
    dimensions=(BATCHES, HEIGHTS, WIDTHS),
    inputs=(InputSpec("image", (BATCHES.name, HEIGHTS.name, WIDTHS.name, 3)),),
)
"""Colour images of any of the sizes, channels last."""
