"""What an earlier call left behind gives a wrong value (output).
torch, back end eager. Change: Switch the held context off or on."""
import functools
import sys
import torch
from torch import nn

class AutocastObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.precision = torch.amp.autocast('cpu', dtype=torch.bfloat16)

    def forward(self, hidden):
        with self.precision:
            mixed = self.mix(hidden.to(self.mix.weight.dtype))
        return (hidden + mixed.tanh().to(hidden.dtype), mixed)

torch.manual_seed(0)
model = AutocastObject()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
model.precision._enabled = False  # changes
expected = model(x)[0]  # what eager says
got = compiled(x)[0]  # exposes
torch._dynamo.reset()
fresh = compiled(x)[0]  # the same call, with nothing retained
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
