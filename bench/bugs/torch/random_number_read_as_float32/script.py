"""A compiled call gives a wrong value (output). torch 2.13.0+cpu, backend inductor."""

import functools
import random
import sys
import torch
import torch._inductor.utils
from torch import nn

torch._inductor.config.fallback_random = True  # random numbers as in eager

class RandomObject(nn.Module):
    def __init__(self):
        super().__init__()
        self.source = random.Random(1234)

    def forward(self, hidden):
        return hidden + self.source.random()

@torch._inductor.utils.fresh_cache()  # no file of an earlier run
def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = RandomObject()
    f = model if arm == "eager" else torch.compile(model)
    x = torch.randn(2, 4)
    return f(x).detach()

expected, got = run("eager"), run("retained")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected)
print(f"{'BUG' if bug else 'ok'}: compiled off by {(got - expected).abs().max():.2g}")
sys.exit(bug)
