"""mlp_mixer: layers that mix tokens, then channels; the blocks may be reordered or shared."""

from __future__ import annotations

from typing import Any

from rondo.frameworks.shared.architectures._blocks import feed_forward
from rondo.frameworks.shared.architectures._dimensions import BATCHES
from rondo.frameworks.shared.definition import Definition
from rondo.sequences.vocabulary import InputSpec, Schema

TOKENS, WIDTH = 6, 8


def define(nn: Any) -> Any:
    """Return the module class over `nn`."""
    feed = feed_forward(nn)

    class MixerBlock(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1 = nn.LayerNorm(WIDTH)
            self.mix_tokens = feed(TOKENS, 12, dropout=0.1)
            self.norm2 = nn.LayerNorm(WIDTH)
            self.mix_channels = feed(WIDTH, 16, dropout=0.1)

        def forward(self, x: Any) -> Any:
            turned = nn.transpose(self.norm1(x), (0, 2, 1))
            x = x + nn.transpose(self.mix_tokens(turned), (0, 2, 1))
            return x + self.mix_channels(self.norm2(x))

    class MLPMixer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.stem = nn.Linear(4, WIDTH)
            self.blocks = nn.Sequential(MixerBlock(), MixerBlock())
            self.norm = nn.LayerNorm(WIDTH)

        def forward(self, x: Any) -> Any:
            return self.norm(self.blocks(self.stem(nn.cast(x, self.stem.weight))))

    return MLPMixer


ARCHITECTURE = Definition(
    "mlp_mixer",
    define,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, TOKENS, 4)),)),
    features=WIDTH,
)


@ARCHITECTURE.change()
def reverse_blocks(module: Any, value: int) -> None:
    """Run the blocks in the opposite order from now on."""
    first, second = module.blocks.layers
    module.blocks.layers[0] = second
    module.blocks.layers[1] = first


@ARCHITECTURE.change()
def share_blocks(module: Any, value: int) -> None:
    """Let the last block be the first one, so that both use the same parameters."""
    module.blocks.layers[1] = module.blocks.layers[0]


@ARCHITECTURE.change(values=2)
def set_gelu(module: Any, value: int) -> None:
    """Let the first block's GELUs be the approximate ones, or the exact ones."""
    block = module.blocks.layers[0]
    block.mix_tokens.act = block.mix_channels.act = ("gelu_tanh", "gelu")[value]
