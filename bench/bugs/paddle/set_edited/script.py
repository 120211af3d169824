"""A set is compared with itself, so that what is put into it is not seen."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.ones([1])
chosen = {1, 2}


def marked(x):
    return x * 100 if 3 in chosen else x + 1


captured = paddle.jit.to_static(marked, full_graph=False)
captured(x)  # establishes
chosen.add(3)  # changes
got = captured(x).item()  # exposes
OpcodeExecutorCache().clear()
fresh = captured(x).item()  # the same call, with nothing retained
expected = marked(x).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
