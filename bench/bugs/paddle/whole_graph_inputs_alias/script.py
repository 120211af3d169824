"""One tensor passed as two arguments is two in a whole graph: a write and a read race."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import paddle

CALLS = 100


def added(counts, shown):
    counts[:] = counts + 1
    return shown * 3


compiled = paddle.jit.to_static(added, full_graph=True)
tensor = paddle.ones([1])
expected = added(tensor, tensor).item()
wrong = 0
for _ in range(CALLS):
    tensor = paddle.ones([1])
    got = compiled(tensor, tensor).item()  # exposes, in a first call as in any other
    wrong += got != expected and tensor.item() == 2.0
print(f"{'BUG' if wrong else 'ok'}: eager gives {expected}, {wrong} of {CALLS} compiled calls another")
sys.exit(wrong > 0)
