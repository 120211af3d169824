"""A traced layer goes on with the epsilon that was Keras's when it was traced."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import keras
import numpy as np

import tensorflow as tf

truth, guess = tf.constant([[0.0, 1.0]]), tf.constant([[1.0, 0.0]])
loss = keras.losses.CategoricalCrossentropy()

traced = tf.function(loss)
traced(truth, guess)  # establishes
keras.config.set_epsilon(1e-3)  # changes
got = traced(truth, guess).numpy()  # exposes
fresh = tf.function(loss)(truth, guess).numpy()  # the same call, with nothing retained
expected = loss(truth, guess).numpy()
bug = not np.allclose(got, expected) and np.allclose(fresh, expected)
print(
    f"{'BUG' if bug else 'ok'}: eager gives {expected:.3g}, retained {got:.3g}, fresh {fresh:.3g}"
)
sys.exit(bug)
