"""gan_step: generator and discriminator take turns; spectral norm iterates, an average trails."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

NOISE, WIDTH, SCORES = 4, 8, 3


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(NOISE, 12)
        self.norm = nn.LayerNorm(12)
        self.out = nn.Linear(12, WIDTH)

    def forward(self, noise: Tensor) -> Tensor:
        return torch.tanh(self.out(functional.relu(self.norm(self.hidden(noise)))))


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = spectral_norm(nn.Linear(WIDTH, 12))
        self.out = spectral_norm(nn.Linear(12, SCORES))

    def forward(self, sample: Tensor) -> Tensor:
        return self.out(functional.leaky_relu(self.hidden(sample), 0.2))


class GANStep(nn.Module):
    """Each training call is one player's turn and leaves the next one to the other player.

    The discriminator's turn judges real samples against detached fakes, the generator's turn lets
    gradients through to the fakes. Evaluation judges the trailing average of the generator.
    """

    def __init__(self) -> None:
        super().__init__()
        self.generator = Generator()
        self.discriminator = Discriminator()
        self.average = copy.deepcopy(self.generator).requires_grad_(False)
        self.decay = 0.75
        self.generators_turn = False

    @torch.no_grad()
    def trail(self) -> None:
        """Move the average's parameters towards the generator's, in place."""
        pairs = zip(self.average.parameters(), self.generator.parameters(), strict=True)
        for averaged, latest in pairs:
            averaged.lerp_(latest.to(averaged.dtype), 1.0 - self.decay)

    def forward(self, real: Tensor, noise: Tensor) -> Tensor:
        dtype = self.generator.out.weight.dtype
        real, noise = real.to(dtype), noise.to(dtype)
        if not self.training:
            return self.discriminator(self.average(noise))
        fake = self.generator(noise)
        turn = self.generators_turn
        self.generators_turn = not turn
        self.trail()
        if turn:
            return self.discriminator(fake)
        return self.discriminator(real) - self.discriminator(fake.detach())


ARCHITECTURE = Architecture(
    "gan_step",
    GANStep,
    schema=Schema(
        dimensions=(BATCHES,),
        inputs=(
            InputSpec("real", (BATCHES.name, WIDTH)),
            InputSpec("noise", (BATCHES.name, NOISE)),
        ),
    ),
    features=SCORES,
)


@ARCHITECTURE.observe
def observe(module: GANStep) -> dict[str, object]:
    """Report whose turn is next."""
    return {"generators_turn": module.generators_turn}


@ARCHITECTURE.change(values=2)
def set_turn(module: GANStep, value: int) -> None:
    """Give the next turn to one of the players."""
    module.generators_turn = (True, False)[value]


@ARCHITECTURE.change(values=3)
def set_decay(module: GANStep, value: int) -> None:
    """Let the average trail at another distance."""
    module.decay = (0.0, 0.99, 0.75)[value]


@ARCHITECTURE.change()
def adopt_average(module: GANStep, value: int) -> None:
    """Load the average's parameters into the generator."""
    module.generator.load_state_dict(module.average.state_dict())
