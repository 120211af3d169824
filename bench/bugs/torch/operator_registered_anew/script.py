import functools
import sys
import torch
import torch._inductor.utils
from torch import nn

torch._inductor.config.fallback_random = True  # random numbers as in eager

@torch.library.custom_op('rondo::widen', mutates_args=(), schema='(Tensor hidden) -> Tensor')
def widen(hidden):
    return hidden.sin()

def register(factor, dtype):

    def kernel(hidden):
        return (hidden.sin() * factor).to(dtype or hidden.dtype)

    def fake(hidden):
        return torch.empty_like(hidden, dtype=dtype or hidden.dtype)

    def backward(ctx, gradient):
        return gradient * factor
    widen.register_kernel('cpu')(kernel)
    widen.register_fake(fake)
    widen.register_autograd(backward)

class CustomOperator(nn.Module):
    def __init__(self):
        super().__init__()
        register(0.5, None)

    def forward(self, hidden):
        bent = widen(hidden)
        return (hidden + bent.to(hidden.dtype), bent)

@torch._inductor.utils.fresh_cache()  # no file of an earlier run
def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = CustomOperator()
    compiled = torch.compile(model)
    f = compiled if arm == "retained" else model
    x = torch.randn(2, 4)
    f(x)  # establishes
    register(0.5, torch.float64)  # changes
    if arm == "retained":
        torch.compiler.reset()
    f = model if arm == "eager" else compiled
    out = f(x)  # exposes
    return out[0].detach().clone()

expected, got, fresh = run("eager"), run("retained"), run("reset")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected) and same(fresh, expected)
print(f"{'BUG' if bug else 'ok'}: retained off by {(got - expected).abs().max():.2g},"
      f" after torch._dynamo.reset() off by {(fresh - expected).abs().max():.2g}")
sys.exit(bug)
