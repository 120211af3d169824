"""vae: samples in training with noise that warms up by a step counter; averages its divergence."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from rondo.frameworks.torch.architectures._dimensions import BATCHES
from rondo.sequences.vocabulary import InputSpec, Schema
from rondo.subjects.target import Architecture

WIDTH, LATENT = 8, 3


class VAE(nn.Module):
    steps: Tensor
    divergence: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Linear(WIDTH, 12)
        self.mean = nn.Linear(12, LATENT)
        self.log_variance = nn.Linear(12, LATENT)
        self.decoder = nn.Sequential(nn.Linear(LATENT, 12), nn.SiLU(), nn.Linear(12, WIDTH))
        self.temperature = 1.0
        self.warm_up = 4
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("divergence", torch.zeros(()))

    def sample(self, mean: Tensor, log_variance: Tensor) -> Tensor:
        """Draw a latent by reparameterisation, with less noise in the first steps."""
        if torch.is_grad_enabled():
            # Not in place: compiled backward passes read the counter again, after it has moved
            # (pytorch/pytorch#197039), which would hide whatever else there is to find.
            self.steps = self.steps + 1
        else:
            self.steps += 1
        warmth = (self.steps / self.warm_up).clamp(max=1.0).to(mean.dtype)
        deviation = torch.exp(0.5 * log_variance)
        return mean + self.temperature * warmth * deviation * torch.randn_like(deviation)

    def forward(self, x: Tensor) -> Tensor:
        hidden = functional.silu(self.encoder(x.to(self.encoder.weight.dtype)))
        mean, log_variance = self.mean(hidden), self.log_variance(hidden).clamp(-4.0, 4.0)
        if not self.training:
            return self.decoder(mean)
        nats = 0.5 * (mean.square() + log_variance.exp() - 1.0 - log_variance).sum(1).mean()
        self.divergence.lerp_(nats.detach().to(self.divergence.dtype), 0.1)
        return self.decoder(self.sample(mean, log_variance))


ARCHITECTURE = Architecture(
    "vae",
    VAE,
    schema=Schema(dimensions=(BATCHES,), inputs=(InputSpec("x", (BATCHES.name, WIDTH)),)),
    features=WIDTH,
)


@ARCHITECTURE.change(values=3)
def set_temperature(module: VAE, value: int) -> None:
    """Scale the noise by another number."""
    module.temperature = (0.0, 2.0, 1.0)[value]


@ARCHITECTURE.change(values=3)
def set_steps(module: VAE, value: int) -> None:
    """Put the step counter back or forward, in place."""
    module.steps.fill_((0, 2, 100)[value])


@ARCHITECTURE.change(values=2)
def set_warm_up(module: VAE, value: int) -> None:
    """Warm up over another number of steps."""
    module.warm_up = (100, 4)[value]
