"""held_optimizer: a step of SGD inside the forward, its settings edited between calls.

Rates and switches live in the dict of a parameter group, which user code and schedulers edit, and
the state of each leaf appears at its first step only. The leaves are no parameters of the module,
so that nothing else updates, freezes or clears them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from rondo.subjects.target import Construct


class HeldOptimizer(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.slope = torch.linspace(-1, 1, features)
        self.weight = torch.linspace(-0.5, 0.5, features).requires_grad_()
        self.bias = torch.full((features,), 0.25).requires_grad_()
        self.weight.grad, self.bias.grad = self.slope.clone(), self.slope.clone()
        self.renew()

    def renew(self) -> None:
        self.optimizer = torch.optim.SGD((self.weight, self.bias), lr=0.1, momentum=0.5)

    def forward(self, hidden: Tensor) -> Tensor:
        with torch.no_grad():
            self.optimizer.step()
        shift = self.weight.detach() - self.bias.detach()
        return hidden + shift.to(hidden.dtype)


CONSTRUCT = Construct("held_optimizer", HeldOptimizer, kind="py-object guard")


@CONSTRUCT.change(values=3)
def set_gradients(module: HeldOptimizer, value: int) -> None:
    """Clear all gradients, only the second one, or give both leaves one."""
    module.weight.grad = None if value == 0 else module.slope.clone()
    module.bias.grad = module.slope.clone() if value == 2 else None


@CONSTRUCT.change(values=3)
def set_rate(module: HeldOptimizer, value: int) -> None:
    """Set the learning rate."""
    module.optimizer.param_groups[0]["lr"] = (0.01, 0.25, 0.1)[value]


@CONSTRUCT.change(values=2)
def set_decay(module: HeldOptimizer, value: int) -> None:
    """Set the weight decay."""
    module.optimizer.param_groups[0]["weight_decay"] = (0.5, 0.0)[value]


@CONSTRUCT.change(values=2)
def set_maximize(module: HeldOptimizer, value: int) -> None:
    """Climb rather than descend, or descend again."""
    module.optimizer.param_groups[0]["maximize"] = value == 0


@CONSTRUCT.change(values=2)
def set_momentum(module: HeldOptimizer, value: int) -> None:
    """Switch the momentum off or on."""
    module.optimizer.param_groups[0]["momentum"] = (0.0, 0.5)[value]


@CONSTRUCT.change()
def replace_optimizer(module: HeldOptimizer, value: int) -> None:
    """Hold another optimizer, without state, over the same leaves."""
    module.renew()


@CONSTRUCT.observe
def steps(module: HeldOptimizer) -> dict[str, object]:
    """Report the leaves and what the optimizer keeps of each."""
    leaves = (module.weight, module.bias)
    kept = [module.optimizer.state[leaf] for leaf in leaves if leaf in module.optimizer.state]
    return {"leaves": [leaf.detach() for leaf in leaves], "state": [dict(each) for each in kept]}
