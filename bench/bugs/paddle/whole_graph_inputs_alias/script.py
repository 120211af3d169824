"""One tensor passed as two arguments is two in a whole graph: a write is not seen."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import paddle



def added(counts, shown):
    counts[:] = counts + 1
    return shown * 3


compiled = paddle.jit.to_static(added, full_graph=True)
tensor = paddle.ones([1])
expected = added(tensor, tensor).item()
tensor = paddle.ones([1])
got = compiled(tensor, tensor).item()  # exposes, in a first call
written = tensor.item()
bug = got != expected and written == 2.0
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, compiled {got}; written: {written}")
sys.exit(bug)
