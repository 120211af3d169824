import functools
import sys
import torch
import torch._inductor.utils
from torch import nn
from torch.nn.functional import silu

torch._inductor.config.fallback_random = True  # random numbers as in eager

class FloatAsBound(nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 0.25

    def forward(self, hidden, limit):
        gate = silu(hidden).clamp(max=limit)
        return gate * hidden.clamp(min=-limit, max=limit) * self.factor

def backward(out, **how):
    wanted = [t for t in torch.utils._pytree.tree_leaves(out)
              if isinstance(t, torch.Tensor) and t.requires_grad]
    if wanted:
        weights = [torch.linspace(0.5, 1.5, t.numel(), dtype=t.dtype) for t in wanted]
        sum((t.flatten() * w).sum() for t, w in zip(wanted, weights)).backward(**how)

@torch._inductor.utils.fresh_cache()  # no file of an earlier run
def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = FloatAsBound()
    torch.manual_seed(0)
    compiled = torch.compile(model)
    f = compiled if arm == "retained" else model
    x = (torch.randn(2, 4, generator=torch.Generator().manual_seed(2363233923), dtype=torch.float64).to(torch.float32)).requires_grad_()
    out = f(x, 0.25)  # establishes
    backward(out)
    x = (torch.randn(2, 4, generator=torch.Generator().manual_seed(2363233923), dtype=torch.float64).to(torch.float32)).requires_grad_()
    out = f(x, 0.5)
    backward(out)
    f = model if arm == "eager" else compiled
    x = (torch.randn(2, 4, generator=torch.Generator().manual_seed(2363233923), dtype=torch.float64).to(torch.float32)).requires_grad_()
    out = f(x, 1.0)  # exposes
    backward(out)
    return out.detach().clone()

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
