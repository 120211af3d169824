"""A compiled call gives a wrong value (grad). torch 2.13.0+cpu, backend aot_eager."""

import functools
import sys
import torch
from torch import nn

class BufferUpdate(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("memory", torch.zeros(4))

    def forward(self, hidden):
        with torch.no_grad():
            news = hidden.flatten(0, -2).sum(0).tanh()
            self.memory.mul_(0.5).add_(news.to(self.memory.dtype))
        return (hidden + self.memory).to(hidden.dtype)

class StringAttribute(nn.Module):
    def forward(self, hidden):
        hidden = getattr(torch, "sin")(hidden)
        if "shift" in "shift+scale":
            hidden = hidden + len("shift+scale") / 16
        if f"{'shift+scale'}!".endswith("scale!"):
            hidden = hidden * 0.5
        return hidden

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.buffer_update = BufferUpdate()
        self.string_attribute = StringAttribute()

    def forward(self, x):
        hidden = self.buffer_update(x)
        return self.string_attribute(hidden)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = Model()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 4, requires_grad=True)
    out = f(x)
    out.sum().backward()
    return x.grad.detach().clone()

expected, got = run("eager"), run("retained")
same = functools.partial(torch.allclose, rtol=1.3e-06, atol=1e-05, equal_nan=True)
bug = not same(got, expected)
print(f"{'BUG' if bug else 'ok'}: compiled off by {(got - expected).abs().max():.2g}")
sys.exit(bug)
