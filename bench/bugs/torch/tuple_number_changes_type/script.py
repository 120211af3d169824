"""A later call gives a wrong dtype (output). torch 2.13.0+cpu, backend eager."""
import sys
import torch
from torch import nn
from typing import NamedTuple

class Pair(NamedTuple):
    gain: float
    shift: float

class TupleContent(nn.Module):
    def __init__(self):
        super().__init__()
        self.numbers = (1, 2)
        self.pair = Pair(0.5, 0.25)

    def forward(self, hidden):
        filled = torch.full((2,), self.numbers[0])
        hidden = hidden * self.pair.gain + self.pair.shift
        return (hidden + len(self.numbers) / 8, filled)

torch.manual_seed(0)
model = TupleContent()
compiled = torch.compile(model, backend="eager")
x = torch.randn(2, 4)
compiled(x)  # establishes
model.numbers = (True, 2)  # changes
expected = model(x)[1].dtype  # what eager says
got = compiled(x)[1].dtype  # exposes
torch._dynamo.reset()
fresh = compiled(x)[1].dtype  # the same call, with nothing retained
bug = got != expected and fresh == expected
print(f"{'BUG' if bug else 'ok'}: eager {expected}, retained {got},"
      f" after torch._dynamo.reset() {fresh}")
sys.exit(bug)
