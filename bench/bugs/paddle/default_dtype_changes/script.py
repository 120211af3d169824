"""The default dtype is in no guard: what is made is of the dtype that was the default."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.ones([1])


def made(x):
    return paddle.ones([2]) * 3


captured = paddle.jit.to_static(made, full_graph=False)
captured(x)  # establishes
paddle.set_default_dtype("float64")  # changes
got = str(captured(x).dtype)  # exposes
OpcodeExecutorCache().clear()
fresh = str(captured(x).dtype)  # the same call, with nothing retained
expected = str(made(x).dtype)
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
