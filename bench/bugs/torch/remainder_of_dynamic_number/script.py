"""A later call gives an exception (exception). torch 2.13.0+cpu, backend aot_eager."""

import sys
import torch
from torch import nn

class IntegerInput(nn.Module):
    def forward(self, hidden, number):
        rest = number % 3
        hidden = hidden.roll(number, -1) + rest / 4
        if number > 2:
            hidden = -hidden
        data = torch.full((rest + 1,), number)
        return hidden, torch.tensor([number, rest, number // 2]).sum() + data

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = IntegerInput()
    f = model if arm == "eager" else torch.compile(model, backend="aot_eager")
    x = torch.randn(2, 4)
    f(x, 1)  # establishes
    if arm == "reset":
        torch._dynamo.reset()
    try:
        f(x, 2)  # exposes
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "returns"

expected, got, fresh = run("eager"), run("retained"), run("reset")
bug = got != expected and fresh == expected
print(f"{'BUG' if bug else 'ok'}: eager {expected}, retained {got},"
      f" after torch._dynamo.reset() {fresh}")
sys.exit(bug)
