"""A compiled call gives a wrong value (grad). torch 2.13.0+cpu, backend eager."""

import functools
import sys
import torch
from torch import nn
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint

class Checkpointed(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.rate = 0.0

    def part(self, hidden):
        mixed = self.mix(hidden.to(self.mix.weight.dtype)).tanh()
        return dropout(mixed, self.rate).to(hidden.dtype)

    def forward(self, hidden):
        return hidden + checkpoint(self.part, hidden, use_reentrant=False)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Checkpointed()
    f = model if arm == "eager" else torch.compile(model, backend="eager")
    model.rate = 0.25  # changes
    x = torch.randn(2, 4)
    out = f(x)
    out.sum().backward()
    return model.mix.bias.grad.detach().clone()

expected, got = run("eager"), run("retained")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected)
print(f"{'BUG' if bug else 'ok'}: compiled off by {(got - expected).abs().max():.2g}")
sys.exit(bug)
