"""What an earlier call left behind gives a wrong value (output).
torch, back end eager. Change: Give the class another `__len__`."""
import functools
import sys
import torch
from torch import nn

class Policy:
    def __call__(self, hidden):
        return hidden.sin()

    def __bool__(self):
        return True

    def __len__(self):
        return 2

    def __getitem__(self, index):
        return 0.25

class SpecialMethod(nn.Module):
    def __init__(self):
        super().__init__()
        self.policy = Policy()

    def forward(self, hidden):
        hidden = self.policy(hidden) * self.policy[0]
        if self.policy:
            hidden = hidden + 1
        return hidden / len(self.policy)

torch.manual_seed(0)
model = SpecialMethod()
compiled = torch.compile(model, backend="eager")
x = torch.randn(3, 4)
compiled(x)  # establishes
Policy.__len__ = lambda self: 4  # changes
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
