"""An entry added to a dict is not seen by a loop over the dict."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.ones([1])


def folded(x, steps):
    for name in steps:
        x = x * 2 + steps[name]
    return x


captured = paddle.jit.to_static(folded, full_graph=False)
captured(x, {"first": 1, "second": 2})  # establishes
steps = {"first": 1, "second": 2, "third": 3}
got = captured(x, steps).item()  # exposes
OpcodeExecutorCache().clear()
fresh = captured(x, steps).item()  # the same call, with nothing retained
expected = folded(x, steps).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
