import sys
import torch
import torch._inductor.utils
from torch import nn

torch._inductor.config.fallback_random = True  # random numbers as in eager

class UnusedSize(nn.Module):
    def __init__(self):
        super().__init__()
        self.compared = True

    def forward(self, hidden):
        if self.compared and hidden.shape[0] < 12:
            pass
        return hidden.tanh() * 3 + 0.25

@torch._inductor.utils.fresh_cache()  # no file of an earlier run
def run(arm):
    torch._dynamo.reset()
    torch.manual_seed(0)
    model = UnusedSize()
    compiled = torch.compile(model)
    f = compiled if arm == "retained" else model
    x = torch.randn(4, 4)
    x_marked = x.clone()
    torch._dynamo.mark_dynamic(x_marked, 0)
    f(x_marked)  # establishes
    model.compared = False  # changes
    if arm == "retained":
        torch.compiler.reset()
    f = model if arm == "eager" else compiled
    if arm == "reset":
        torch._dynamo.reset()
    x_marked = x.clone()
    torch._dynamo.mark_dynamic(x_marked, 0, min=2, max=64)
    try:
        f(x_marked)  # exposes
    except Exception as error:
        return f"raises {type(error).__name__}"
    return "returns"

expected, got, fresh = run("eager"), run("retained"), run("reset")
bug = got != expected and fresh == expected
print(f"{'BUG' if bug else 'ok'}: eager {expected}, retained {got},"
      f" after torch._dynamo.reset() {fresh}")
sys.exit(bug)
