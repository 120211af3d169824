"""A call that records gradients is served the program of one that did not."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

layer = paddle.nn.Linear(2, 1)
x = paddle.ones([1, 2])


def predict(x):
    return layer(x) * 2


captured = paddle.jit.to_static(predict, full_graph=False)
with paddle.no_grad():
    captured(x)  # establishes
got = not captured(x).stop_gradient  # exposes
OpcodeExecutorCache().clear()
fresh = not captured(x).stop_gradient  # the same call, with nothing retained
expected = not predict(x).stop_gradient
bug = got != expected == fresh
print(
    f"{'BUG' if bug else 'ok'}: is there a gradient? eager {expected}, retained {got}, fresh {fresh}"
)
sys.exit(bug)
