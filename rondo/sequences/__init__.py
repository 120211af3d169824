"""Sequences of invocations as pure data: vocabulary, steps, bytes, mutation."""
