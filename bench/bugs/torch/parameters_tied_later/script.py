"""What an earlier call left behind gives a wrong value (output).
torch, back end aot_eager. Change: Tie the parameters one way or the other, let them share storage, or untie them."""
import functools
import sys
import torch
from torch import nn

class TiedParameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.linspace(0.25, 0.75, 4))
        self.second = nn.Parameter(torch.linspace(-0.5, 0.5, 4))

    def forward(self, hidden):
        with torch.no_grad():
            self.first.neg_()
        return hidden + (self.first * 0.5 + self.second).to(hidden.dtype)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = TiedParameters()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 4)
    f(x)  # establishes
    model.second = model.first  # changes
    if arm == "reset":
        torch._dynamo.reset()
    return f(x).detach()  # exposes

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
