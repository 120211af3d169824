"""A dict with equal entries in another order is served the program of the first."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.ones([1])


def folded(x, steps):
    for step in steps.values():
        x = x * 2 + step
    return x


captured = paddle.jit.to_static(folded, full_graph=False)
captured(x, {"add": 10, "skip": 0})  # establishes
steps = {"skip": 0, "add": 10}
got = captured(x, steps).item()  # exposes
OpcodeExecutorCache().clear()
fresh = captured(x, steps).item()  # the same call, with nothing retained
expected = folded(x, steps).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
