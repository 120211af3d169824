"""mlp_mixer: layers that mix tokens, then channels; the blocks may be reordered or shared."""

from __future__ import annotations

from torch import Tensor, nn

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.frameworks.torch.architectures._layers import DropPath, FeedForward
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

TOKENS, WIDTH = 6, 8


class MixerBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        # No dropout here: `aot_eager` views its transposed gradient and raises in every backward
        # pass (pytorch/pytorch#120035).
        self.mix_tokens = FeedForward(TOKENS, 12)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.mix_channels = FeedForward(WIDTH, 16, dropout=0.1)
        self.drop_path = DropPath(0.1)

    def forward(self, x: Tensor) -> Tensor:
        mixed = self.mix_tokens(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        x = x + self.drop_path(mixed)
        return x + self.drop_path(self.mix_channels(self.norm2(x)))


class MLPMixer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(4, WIDTH)
        self.blocks = nn.ModuleList(MixerBlock() for _ in range(2))
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x.to(self.stem.weight.dtype))
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


ARCHITECTURE = Architecture(
    "mlp_mixer",
    MLPMixer,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, TOKENS, 4)),)),
    features=WIDTH,
)


@ARCHITECTURE.change()
def reverse_blocks(module: MLPMixer, value: int) -> None:
    """Run the blocks in the opposite order from now on."""
    module.blocks = nn.ModuleList(reversed(list(module.blocks)))


@ARCHITECTURE.change()
def share_blocks(module: MLPMixer, value: int) -> None:
    """Let the last block be the first one, so that both use the same parameters."""
    module.blocks[-1] = module.blocks[0]


@ARCHITECTURE.change(values=2)
def set_gelu(module: MLPMixer, value: int) -> None:
    """Let every GELU be the approximate one, or the exact one."""
    for layer in module.modules():
        if isinstance(layer, nn.GELU):
            layer.approximate = ("tanh", "none")[value]
