"""A compiled call gives a wrong value (output). torch 2.13.0+cpu, backend aot_eager."""

import functools
import sys
import torch
from torch import nn

class ItemScalar(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, hidden):
        self.count.add_(1)
        count = self.count.item()
        step = 0.1 / (1 - 0.5 ** count)
        spread = (hidden.square() + 1).sqrt() / (1 - 0.8 ** count) ** 0.5 + 0.001
        moved = hidden.addcdiv(hidden.sin(), spread, value=-step)
        return moved.addcmul(hidden.cos(), spread.reciprocal(), value=step * 2)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = ItemScalar()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    model.count = torch.full((), 2.0, dtype=torch.float64)  # changes
    x = torch.randn(2, 4)
    return f(x).detach()

expected, got = run("eager"), run("retained")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected)
print(f"{'BUG' if bug else 'ok'}: compiled off by {(got - expected).abs().max():.2g}")
sys.exit(bug)
