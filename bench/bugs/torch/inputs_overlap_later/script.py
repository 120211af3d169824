"""What an earlier call left behind gives a wrong value (output).
torch, back end aot_eager."""
import functools
import sys
import torch
from torch import nn

class InputAlias(nn.Module):
    def forward(self, hidden, first, second):
        with torch.no_grad():
            first.add_(1)
            product = first * second
        return (hidden + torch.tanh(product).sum().to(hidden.dtype), product)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = InputAlias()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 4)
    first = torch.randn(4)
    second = torch.randn(4)
    f(x, first, second)  # establishes
    if arm == "reset":
        torch._dynamo.reset()
    base = torch.randn(6)
    first = base[:4]
    second2 = base[2:6]
    out = f(x, first, second2)  # exposes
    return out[0].detach().clone()

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
