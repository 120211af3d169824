"""The default of an inlined function's argument, rebound later, is not seen."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.ones([1])


def scaled(x, by=1.0):
    return x * by


def total(x):
    return scaled(x) + 1


captured = paddle.jit.to_static(total, full_graph=False)
captured(x)  # establishes
scaled.__defaults__ = (100.0,)  # changes
got = captured(x).item()  # exposes
OpcodeExecutorCache().clear()
fresh = captured(x).item()  # the same call, with nothing retained
expected = total(x).item()
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
