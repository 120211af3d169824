"""Python arguments that compare equal share a trace: 1, True and 1.0."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import tensorflow as tf


def half(number):
    return tf.convert_to_tensor(number) / 2 if number is not True else tf.constant(-1.0)


def shown(result):
    return f"{result.numpy():g} as {result.dtype.name}"


traced = tf.function(half)
traced(1)  # establishes
bugs = []
for number in (True, 1.0):  # exposes
    got = shown(traced(number))
    fresh = shown(tf.function(half)(number))  # the same call, with nothing retained
    expected = shown(half(number))
    if got != expected == fresh:
        bugs.append(f"{number}: eager gives {expected}, retained {got}, fresh {fresh}")
print(f"BUG: {'; '.join(bugs)}" if bugs else "ok: retained is what eager gives")
sys.exit(bool(bugs))
