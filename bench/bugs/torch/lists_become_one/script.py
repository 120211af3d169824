"""What an earlier call left behind gives a wrong value (output).
torch, back end eager."""
import functools
import sys
import torch
from torch import nn

class ListAlias(nn.Module):
    def forward(self, hidden, first, second):
        first.append(hidden + 1)
        second.append(hidden - 1)
        return (hidden + len(first) * 0.125, len(first), len(second))

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = ListAlias()
    f = model if arm == "eager" else torch.compile(model, backend="eager")
    x = torch.randn(2, 4)
    first = []
    second = []
    f(x, first, second)  # establishes
    if arm == "reset":
        torch._dynamo.reset()
    first = []
    out = f(x, first, first)  # exposes
    return out[0].detach().clone()

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
