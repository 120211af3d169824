"""A compiled call gives an exception (exception). torch 2.13.0+cpu, backend eager."""

import sys
import numpy as np
import torch
from torch import nn

class NumpyValue(nn.Module):
    def __init__(self):
        super().__init__()
        self.scalar = np.float32(0.5)
        self.array = np.array([0.25, -0.5])

    def forward(self, hidden):
        filled = torch.as_tensor(self.array) * 2
        return (hidden * float(self.scalar) + float(self.array.sum()), filled)

def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = NumpyValue()
    f = model if arm == "eager" else torch.compile(model, backend="eager")
    x = torch.randn(2, 4)
    try:
        with torch.inference_mode():
            f(x)
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "returns"

expected, got = run("eager"), run("retained")
bug = got != expected
print(f"{'BUG' if bug else 'ok'}: eager {expected}, compiled {got}")
sys.exit(bug)
