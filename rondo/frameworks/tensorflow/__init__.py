"""The adapter to TensorFlow and Keras: tf.function, its trace types, and everything they keep."""

from __future__ import annotations

REQUIREMENT = "tensorflow-cpu>=2.16"
