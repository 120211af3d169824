"""A later call gives a wrong value (state.view_of_buffer). torch 2.13.0+cpu, backend aot_eager."""

import functools
import sys
import torch
from torch import nn

class ViewOfBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("bank", torch.zeros(3, 4))
        self.row = self.bank[0]

    def forward(self, hidden):
        with torch.no_grad():
            self.row.mul_(0.5).add_(1)
        return hidden + self.bank.sum(0).tanh().to(hidden.dtype) + self.row.to(hidden.dtype)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = ViewOfBuffer()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 4)
    f(x)  # establishes
    model.row = model.bank[1]  # changes
    if arm == "reset":
        torch._dynamo.reset()
    out = f(x)  # exposes
    return {"row": model.row}["row"].detach().clone()

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
