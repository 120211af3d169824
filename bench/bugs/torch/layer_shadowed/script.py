"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""
import functools
import sys
import torch
from torch import nn

class Shift(nn.Module):
    def __init__(self, amount):
        super().__init__()
        self.amount = amount

    def forward(self, hidden):
        return hidden + self.amount

class ShadowedLayer(nn.Module):
    def __init__(self):
        super().__init__()
        self.shift = Shift(0.5)

    def forward(self, hidden):
        return self.shift(hidden).tanh()

torch.manual_seed(0)
model = ShadowedLayer()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
model.__dict__.pop('shift', None)  # changes
model.__dict__['shift'] = Shift(-1.0)
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
