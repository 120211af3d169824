"""What is done to a layer of Paddle's own after it was captured is not seen."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["MIN_GRAPH_SIZE"] = "0"  # graphs of fewer than ten operations run eagerly otherwise

import paddle
from paddle.jit.sot.opcode_translator.executor.executor_cache import OpcodeExecutorCache

x = paddle.to_tensor([[-1.0, 2.0]])


def add_hook(layer):
    layer.register_forward_post_hook(lambda layer, inputs, outputs: outputs * 10)


def set_slope(layer):
    layer._negative_slope = 0.5


def bugs(change, layer):
    captured = paddle.jit.to_static(lambda x: layer(x) + 1, full_graph=False)
    OpcodeExecutorCache().clear()
    captured(x)  # establishes
    change(layer)
    got = captured(x).tolist()  # exposes
    OpcodeExecutorCache().clear()
    fresh = captured(x).tolist()  # the same call, with nothing retained
    expected = (layer(x) + 1).tolist()
    if got != expected == fresh:
        yield f"{change.__name__}: eager gives {expected}, retained {got}, fresh {fresh}"


found = [*bugs(add_hook, paddle.nn.ReLU()), *bugs(set_slope, paddle.nn.LeakyReLU(0.25))]
print(f"BUG: {'; '.join(found)}" if found else "ok: retained is what eager gives")
sys.exit(bool(found))
