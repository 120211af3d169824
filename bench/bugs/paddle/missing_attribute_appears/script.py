"""An attribute that `hasattr` did not find is not seen once it is there."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.ones([1])


class Options:
    pass


options = Options()


def scaled(x):
    return x * 100 if hasattr(options, "scale") else x + 1


captured = paddle.jit.to_static(scaled, full_graph=False)
captured(x)  # establishes
options.scale = 100  # changes
got = captured(x).item()  # exposes
OpcodeExecutorCache().clear()
fresh = captured(x).item()  # the same call, with nothing retained
expected = scaled(x).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
