import functools
import sys
import torch
import torch._inductor.utils
from torch import nn
from torch.nn.functional import silu

torch._inductor.config.fallback_random = True  # random numbers as in eager

class FloatAsBound(nn.Module):
    def forward(self, hidden, limit):
        gate = silu(hidden).clamp(max=limit)
        return gate * hidden.clamp(min=-limit, max=limit) * 0.25

@torch._inductor.utils.fresh_cache()  # no file of an earlier run
def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = FloatAsBound()
    compiled = torch.compile(model)
    f = compiled if arm == "retained" else model
    x = torch.randn(2, 4, requires_grad=True)
    out = f(x, 0.25)  # establishes
    out.sum().backward()
    out = f(x, 0.5)
    out.sum().backward()
    out = f(x, 1.0)
    out.sum().backward()
    out = f(x, 2.0)
    out.sum().backward()
    f = model if arm == "eager" else compiled
    if arm == "reset":
        torch._dynamo.reset()
    out = f(x, 0.5)  # exposes
    out.sum().backward()
    return out.detach().clone()

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
