"""A whole graph of axis -1 serves axis -2: its key is compared by its hash alone."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import paddle

x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])


def total(x, axis):
    return paddle.sum(x, axis=axis)


compiled = paddle.jit.to_static(total, full_graph=True)
compiled(x, -1)  # establishes
got = compiled(x, -2).tolist()  # exposes: hash(-1) == hash(-2) in CPython
fresh = paddle.jit.to_static(total, full_graph=True)(x, -2).tolist()  # with nothing retained
expected = total(x, -2).tolist()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
