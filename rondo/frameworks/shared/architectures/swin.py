"""swin: attention in windows, shifted by an integer of the block, with a mask for the wrapped."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import feed_forward
from rondo.frameworks.shared.architectures._dimensions import IMAGES
from rondo.frameworks.shared.definition import Definition

WIDTH, HEADS, WINDOW = 8, 2, 2
AREA = WINDOW * WINDOW


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    feed = feed_forward(nn)

    def to_windows(x: Any) -> Any:
        """Cut (batch, height, width, channels) into (batch, windows, AREA, channels)."""
        batch, height, width, channels = nn.shape(x)
        rows, columns = height // WINDOW, width // WINDOW
        x = nn.reshape(x, (batch, rows, WINDOW, columns, WINDOW, channels))
        return nn.reshape(
            nn.transpose(x, (0, 1, 3, 2, 4, 5)), (batch, rows * columns, AREA, channels)
        )

    def from_windows(windows: Any, height: Any, width: Any) -> Any:
        """Undo `to_windows`."""
        batch, _, _, channels = nn.shape(windows)
        rows, columns = height // WINDOW, width // WINDOW
        x = nn.reshape(windows, (batch, rows, columns, WINDOW, WINDOW, channels))
        return nn.reshape(nn.transpose(x, (0, 1, 3, 2, 4, 5)), (batch, height, width, channels))

    def regions(height: Any, width: Any, shift: int, like: Any) -> Any:
        """Number the regions that were neighbours before the shift: (1, windows, AREA)."""
        down = nn.cast(nn.arange(height) >= height - shift, like)
        across = nn.cast(nn.arange(width) >= width - shift, like)
        numbers = down[:, None] + 2.0 * across[None, :]
        return to_windows(numbers[None, :, :, None])[..., 0]

    class WindowAttention(nn.Module):
        def __init__(self, shift: int) -> None:
            super().__init__()
            self.shift = shift
            self.inputs = nn.Linear(WIDTH, 3 * WIDTH)
            self.out = nn.Linear(WIDTH, WIDTH)
            self.bias = nn.parameter((HEADS, AREA, AREA), scale=0.1)

        def forward(self, x: Any) -> Any:
            _, height, width, _ = nn.shape(x)
            x = nn.pad(x, (0, -height % WINDOW, -width % WINDOW, 0))
            batch, padded_height, padded_width, _ = nn.shape(x)
            if self.shift:
                x = nn.roll(x, (-self.shift, -self.shift), (1, 2))
            windows = to_windows(x)
            count = nn.shape(windows)[1]
            shape = (batch, count, AREA, 3, HEADS, WIDTH // HEADS)
            parts = nn.transpose(nn.reshape(self.inputs(windows), shape), (3, 0, 1, 4, 2, 5))
            query, key, value = parts[0], parts[1], parts[2]
            scores = nn.matmul(query, nn.transpose(key, (0, 1, 2, 4, 3))) * (WIDTH // HEADS) ** -0.5
            scores = scores + self.bias
            if self.shift:
                region = regions(padded_height, padded_width, self.shift, scores)
                apart = nn.cast(region[:, :, :, None] != region[:, :, None, :], scores)
                scores = scores - 100.0 * apart[:, :, None]
            mixed = nn.transpose(nn.matmul(nn.softmax(scores), value), (0, 1, 3, 2, 4))
            mixed = self.out(nn.reshape(mixed, (batch, count, AREA, WIDTH)))
            x = from_windows(mixed, padded_height, padded_width)
            if self.shift:
                x = nn.roll(x, (self.shift, self.shift), (1, 2))
            return x[:, :height, :width]

    class Block(nn.Module):
        def __init__(self, shift: int) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(WIDTH)
            self.attention = WindowAttention(shift)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.feed_forward = feed(WIDTH, 2 * WIDTH)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.norm1(x))
            return x + self.feed_forward(self.norm2(x))

    class Swin(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv(3, WIDTH, 3, stride=2)
            self.straight = Block(0)
            self.shifted = Block(1)
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, image: Any) -> Any:
            x = self.patches(nn.cast(image, self.patches.weight))
            return self.norm(self.shifted(self.straight(x)))

    return Swin


ARCHITECTURE = Definition("swin", define, schema=IMAGES, features=WIDTH)


@ARCHITECTURE.change(values=2)
def set_shift(module: Any, value: int) -> None:
    """Shift the first block's windows as well, or not."""
    module.straight.attention.shift = (1, 0)[value]
