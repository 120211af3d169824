"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""
import functools
import sys
import torch
from abc import ABC
from torch import nn

class AbstractClass(nn.Module):
    def __init__(self):
        super().__init__()

        class Scaled(ABC):
            pass

        class Plain:
            pass
        self.kind = Scaled
        self.member = Plain()

    def forward(self, hidden):
        return hidden * 0.5 if isinstance(self.member, self.kind) else hidden + 1

torch.manual_seed(0)
model = AbstractClass()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
model.kind.register(type(model.member))  # changes
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
