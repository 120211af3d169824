"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""

import functools
import math
import sys
import torch
from torch import nn

class SignedZero(nn.Module):
    def __init__(self):
        super().__init__()
        self.zero = 0.0

    def forward(self, hidden):
        signed = torch.full((2,), self.zero).copysign(torch.full((2,), self.zero))
        return (hidden * math.copysign(0.5, self.zero), 1 / signed)

torch.manual_seed(0)
model = SignedZero()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
model.zero = -0.0  # changes
expected = model(x)[0]  # what eager says
got = compiled(x)[0]  # exposes
torch._dynamo.reset()
fresh = compiled(x)[0]  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
