"""The kinds of TensorFlow constructs: what the thing that a forward reads is to tf.function."""

from __future__ import annotations

ARGUMENT = "argument"
"""An argument of the compiled function: tf.function promises to see it."""

CAPTURED = "captured Python state"
"""Python state that a trace reads and keeps, as the guide says: documented, never an alarm."""

SIDE_EFFECT = "side effect"
"""Python state that the forward changes, which happens while tracing only, as the guide says."""

SETTING = "setting"
"""TensorFlow's or Keras's own configuration, read while tracing and not part of the key."""

RANDOM = "random state"
"""A generator of TensorFlow's or Keras's, or the seed from which draws are made."""

NESTED = "nested trace"
"""A tf.function inside, with traces of its own."""

VARIABLE = "variable"
"""A variable that is captured, written, or made by the forward."""

FAILED = "failed trace"
"""What a call that raised while it was traced leaves behind."""

CONTROL_FLOW = "control flow"
"""Branches and loops on tensors or on Python values."""

RUN_TIME = "Python at run time"
"""Python code that runs at every call and not while tracing."""
