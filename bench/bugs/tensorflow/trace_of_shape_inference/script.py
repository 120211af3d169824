"""A model whose call is a tf.function goes on with the trace that Keras made of placeholders."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import numpy as np
import tensorflow as tf


class Model(keras.Model):
    def __init__(self):
        super().__init__()
        self.inner = keras.layers.Dense(1, use_bias=False, kernel_initializer="ones")

    @tf.function
    def call(self, x):
        return self.inner(x)


x = tf.ones([1, 2])
model = Model()
model(x)  # establishes: the model is built, which traces `call`
model.set_weights([np.full((2, 1), 0.5, np.float32)])  # changes
got = model(x).numpy()  # exposes
fresh = tf.function(model.inner)(x).numpy()  # another trace of the same computation
expected = model.inner(x).numpy()  # what eager says
bug = not np.allclose(got, expected) and np.allclose(fresh, expected)
print(
    f"{'BUG' if bug else 'ok'}: retained off by {abs(got - expected).max():.2g},"
    f" traced anew off by {abs(fresh - expected).max():.2g}"
)
sys.exit(bug)
