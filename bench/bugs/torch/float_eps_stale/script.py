import functools
import sys
import torch
import torch._inductor.utils
from torch import nn
from torch.nn.functional import rms_norm

torch._inductor.config.fallback_random = True  # random numbers as in eager

class FloatAsEps(nn.Module):
    def forward(self, hidden, scale):
        return rms_norm(hidden * scale, (4,), eps=scale + 1.25)

@torch._inductor.utils.fresh_cache()  # no file of an earlier run
def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = FloatAsEps()
    compiled = torch.compile(model)
    f = compiled if arm == "retained" else model
    x = torch.randn(2, 4)
    f(x, 0.5)  # establishes
    f(x, 1.0)
    f = model if arm == "eager" else compiled
    return f(x, 3.5).detach()  # exposes

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
