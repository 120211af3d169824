"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""
import functools
import sys
import torch
from torch import nn

class BuiltinName(nn.Module):
    def forward(self, hidden):
        return hidden * abs(-0.5) + max(0.25, 0.5)

torch.manual_seed(0)
model = BuiltinName()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
globals().pop('abs', None)  # changes
globals()['abs'] = lambda number: 0.75
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
