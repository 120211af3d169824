"""What an earlier call left behind gives a wrong value (output).
torch, back end eager. Change: Give the layer's class another method."""
import functools
import sys
import torch
from torch import nn

class Layer(nn.Module):
    def bend(self, hidden):
        return hidden.sin()

    @staticmethod
    def amount():
        return 0.5

    @classmethod
    def factor(cls):
        return 0.75

    def forward(self, hidden):
        return self.bend(hidden) * self.factor() + self.amount()

class ModuleMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = Layer()

    def tilt(self, hidden):
        return hidden * 0.5

    def forward(self, hidden):
        return self.tilt(self.layer(hidden))

torch.manual_seed(0)
model = ModuleMethod()
compiled = torch.compile(model, backend="eager")
x = torch.randn(8, 4)
compiled(x)  # establishes
Layer.bend = lambda self, hidden: hidden.cos()  # changes
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
