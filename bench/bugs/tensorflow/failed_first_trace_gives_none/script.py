"""After a first call that fails behind the creation of a variable, good calls return None."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import tensorflow as tf


class Lazy(tf.Module):
    def __init__(self):
        super().__init__()
        self.weight = None

    def apply(self, x):
        if self.weight is None:
            self.weight = tf.Variable(tf.ones([3, 2]))
        return tf.matmul(x, self.weight)


def run(first, later):
    """Make a call that must fail by `first`, then a good one by `later`; return what that gives."""
    layer = Lazy()
    functions = {"eager": layer.apply, "traced": tf.function(layer.apply)}
    try:
        functions[first](tf.ones([2, 5]))
    except (ValueError, tf.errors.InvalidArgumentError):
        return functions[later](tf.ones([2, 3]))
    raise AssertionError("a shape that does not fit must raise")


expected = run("eager", "eager")
got = run("traced", "traced")  # establishes and exposes
fresh = run("eager", "traced")  # the same good call, with nothing retained
bug = expected is not None and got is None and fresh is not None
kinds = [type(each).__name__ for each in (expected, got, fresh)]
print(f"{'BUG' if bug else 'ok'}: eager gives {kinds[0]}, retained {kinds[1]}, fresh {kinds[2]}")
sys.exit(bug)
