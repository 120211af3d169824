"""What an earlier call left behind gives a wrong value (output).
torch, back end eager."""
import functools
import random
import sys
import torch
from torch import nn

class RandomObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = random.Random(1234)

    def forward(self, hidden):
        return hidden + self.source.random()

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = RandomObject()
    random.seed(0)
    f = model if arm == "eager" else torch.compile(model, backend="eager")
    x = torch.randn(3, 4)
    f(x)  # establishes
    if arm == "reset":
        torch._dynamo.reset()
    return f(x).detach()  # exposes

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
