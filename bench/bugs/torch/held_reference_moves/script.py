"""What an earlier call left behind gives a wrong value (output).
torch, back end eager. Change: Let the cursor refer to another node."""
import functools
import sys
import torch
from torch import nn

class Node:
    pass

class Ring:
    def __init__(self):
        self.first = Node()
        self.second = Node()
        self.third = Node()
        self.cursor = self.first

class ObjectIdentity(nn.Module):
    def __init__(self):
        super().__init__()
        self.ring = Ring()

    def forward(self, hidden):
        if self.ring.cursor is self.ring.first:
            return hidden + 1
        return hidden * 0.5

torch.manual_seed(0)
model = ObjectIdentity()
compiled = torch.compile(model, backend="eager")
model.ring.cursor = model.ring.second  # changes
x = torch.randn(2, 4)
compiled(x)  # establishes
model.ring.cursor = model.ring.first  # changes
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
