"""The adapter to TensorFlow and Keras: tf.function, its trace types, and everything that it keeps."""

from __future__ import annotations

REQUIREMENT = "rondo[tensorflow]"
