"""A function of Paddle's under a name, replaced by another, goes on being called."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.to_tensor([-2.0])


class Options:
    activation = paddle.nn.functional.relu


def activated(x):
    return Options.activation(x) + 1


captured = paddle.jit.to_static(activated, full_graph=False)
captured(x)  # establishes
Options.activation = paddle.abs  # changes
got = captured(x).item()  # exposes
OpcodeExecutorCache().clear()
fresh = captured(x).item()  # the same call, with nothing retained
expected = activated(x).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
