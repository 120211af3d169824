"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""
import functools
import sys
import torch
from torch import nn

class Gain:
    def __init__(self):
        self.factor = 0.5

Chosen = Gain

class ClassRebound(nn.Module):
    def __init__(self):
        super().__init__()
        self.held = Gain()

    def forward(self, hidden):
        made = Chosen()
        if isinstance(self.held, Chosen):
            hidden = hidden + 1
        return hidden * made.factor

torch.manual_seed(0)
model = ClassRebound()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
def initialise(self):  # changes
    self.factor = 1.0
Gain.__init__ = initialise
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
