"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""
import functools
import sys
import torch
from torch import nn

class GradHistory(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = 4
        self.held = torch.ones(4, requires_grad=True)
        self.table = torch.ones(4)

    def forward(self, hidden):
        if self.held.is_leaf:
            hidden = hidden + 1
        if self.table._base is None:
            hidden = hidden - 0.25
        return hidden

torch.manual_seed(0)
model = GradHistory()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
leaf = torch.ones(model.features, requires_grad=True)  # changes
with torch.enable_grad():
    model.held = leaf * 1
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
