"""A derivative of a compiled gradient leaves out what went through it, where it should raise."""

import sys
import torch

def second(f):
    x = torch.tensor([0.5, 1.5], requires_grad=True)
    first = torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]
    return torch.autograd.grad((first * x).sum(), x)[0]

expected = second(torch.tanh)
try:
    got = second(torch.compile(torch.tanh, backend="aot_eager"))
    bug = not torch.allclose(got, expected)
except RuntimeError as error:  # that this does not work is documented, and that it raises
    got, bug = error, False
print(f"{'BUG' if bug else 'ok'}: eager {expected.tolist()}, compiled {got}")
sys.exit(bug)
