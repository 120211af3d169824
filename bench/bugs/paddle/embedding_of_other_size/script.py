"""A table of another size makes an embedding raise, once its size has become dynamic."""

import os
import subprocess
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import paddle
import paddle.nn.functional as F

indices = paddle.to_tensor([0, 2, 1])


def look_up(indices, table):
    return F.embedding(indices, table) + 1


def outcome(function, rows):
    """Return the shape of what a call gives, or the type of what it raises."""
    try:
        return str(function(indices, paddle.rand([rows, 4])).shape)
    except Exception as error:
        return type(error).__name__


captured = paddle.jit.to_static(look_up, full_graph=False)
if sys.argv[1:] == ["fresh"]:  # the exposing call alone, with nothing retained
    print(outcome(captured, 7))
    sys.exit()
fresh = subprocess.run([sys.executable, __file__, "fresh"], capture_output=True, text=True).stdout
fresh = fresh.strip().splitlines()[-1]
expected = outcome(look_up, 7)
outcome(captured, 10)  # establishes: captured for ten rows
got = outcome(captured, 7)  # exposes: the number of rows becomes dynamic
bug = got != expected == fresh
print(f"{'BUG' if bug else 'ok'}: eager gives {expected}, retained {got}, fresh {fresh}")
sys.exit(bug)
