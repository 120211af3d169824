"""A later call gives a wrong value (output). torch 2.13.0+cpu, backend eager."""
import functools
import sys
import torch
from torch import nn
from types import ModuleType

class Record:
    pass

class MissingAttribute(nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = ModuleType('settings')
        self.record = Record()

        def hook():
            return None
        self.hook = hook

    def forward(self, hidden):
        hidden = hidden * getattr(self.settings, 'gain', 0.5)
        if hasattr(self.hook, 'negated'):
            hidden = -hidden
        try:
            shift = self.record.shift
        except AttributeError:
            shift = 0.25
        return hidden + shift

torch.manual_seed(0)
model = MissingAttribute()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
vars(model.hook).pop('negated', None)  # changes
model.hook.negated = True
expected = model(x)  # what eager says
got = compiled(x)  # exposes
torch._dynamo.reset()
fresh = compiled(x)  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
