"""After gradients of compiled loops that XLA refuses, the process dies of a damaged heap."""

import gc
import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf

weight = tf.Variable(tf.ones([4, 4]) * 0.1)
state = tf.Variable(tf.zeros([2, 4]), trainable=False)


def body(x):
    out = tf.scan(lambda carry, step: tf.tanh(carry @ weight + step), x, state * 1.0)
    state.assign(tf.stop_gradient(out[-1]))
    return out


def refused():
    """Ask for a gradient; say whether it was refused, as it is documented to be."""
    compiled = tf.function(body, jit_compile=True)
    try:
        with tf.GradientTape() as tape:
            total = tf.reduce_sum(compiled(tf.ones([7, 2, 4])))
        tape.gradient(total, weight)
    except tf.errors.UnimplementedError:
        return True
    return False


for _ in range(25):  # establishes
    refused()
    gc.collect()
for seed in range(300):  # uses the heap
    np.random.default_rng(seed).standard_normal((100, 100))
print(f"ok: the process lives, refused: {refused()}")
sys.exit(0)
