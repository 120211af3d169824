"""A table of another size makes an embedding raise, once its size has become dynamic."""

import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import paddle
import paddle.nn.functional as F

indices = paddle.to_tensor([0, 2, 1])


def look_up(indices, table):
    return F.embedding(indices, table) + 1


def look_up_with_nothing_retained(indices, table):
    return F.embedding(indices, table) + 1


def outcome(function, rows):
    """Return the shape of what a call gives, or the type of what it raises."""
    try:
        return str(function(indices, paddle.rand([rows, 4])).shape)
    except Exception as error:
        return type(error).__name__


fresh = outcome(paddle.jit.to_static(look_up_with_nothing_retained, full_graph=False), 7)
expected = outcome(look_up, 7)
captured = paddle.jit.to_static(look_up, full_graph=False)
outcome(captured, 10)  # establishes: captured for ten rows
got = outcome(captured, 7)  # exposes: the number of rows becomes dynamic
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
