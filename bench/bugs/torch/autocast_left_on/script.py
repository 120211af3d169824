"""A compiled call gives a wrong fact (ambient.autocast_nesting). torch 2.13.0+cpu, backend eager."""

import contextlib
import sys
import torch
from torch import nn

class RaisedMidway(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)
        self.register_buffer("position", torch.tensor([0, 1]))

    def forward(self, hidden):
        table = torch.linspace(-1, 1, 4)
        with torch.autocast("cpu", dtype=torch.bfloat16), torch.no_grad():
            mixed = self.mix(hidden.to(self.mix.weight.dtype))
            picked = table.index_select(0, self.position).sum()
        return hidden + mixed.tanh().to(hidden.dtype) + picked.to(hidden.dtype)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = RaisedMidway()
    f = model if arm == "eager" else torch.compile(model, backend="eager")
    model.position.copy_(torch.tensor((0, 9)))  # changes
    x = torch.randn(2, 4)
    with contextlib.suppress(Exception):
        f(x)
    return torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()

expected, got = run("eager"), run("retained")
bug = got != expected
print(f"{'BUG' if bug else 'ok'}: eager {expected}, compiled {got}")
sys.exit(bug)
