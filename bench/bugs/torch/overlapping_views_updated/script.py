"""A compiled call gives an exception (exception). torch 2.13.0+cpu, backend aot_eager."""

import sys
import torch
from torch import nn

class InputAlias(nn.Module):
    def forward(self, hidden, first, second):
        with torch.no_grad():
            first.add_(1)
            product = first * second
        return hidden + torch.tanh(product).sum().to(hidden.dtype), product

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = InputAlias()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 4, requires_grad=True)
    base = torch.randn(6, requires_grad=True)
    first = base[:4]
    second = base[2:6]
    try:
        f(x, first, second)
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "returns"

expected, got = run("eager"), run("retained")
bug = got != expected
print(f"{'BUG' if bug else 'ok'}: eager {expected}, compiled {got}")
sys.exit(bug)
