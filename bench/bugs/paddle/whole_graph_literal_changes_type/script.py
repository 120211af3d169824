"""Python arguments that compare equal share a whole graph: 1, True and 1.0."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import paddle

x = paddle.to_tensor([7])


def halved(x, by):
    return x // 2 if isinstance(by, bool) else x * by / 2


compiled = paddle.jit.to_static(halved, full_graph=True)
compiled(x, 1)  # establishes
got = compiled(x, True).item()  # exposes
fresh = paddle.jit.to_static(halved, full_graph=True)(x, True).item()  # with nothing retained
expected = halved(x, True).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
