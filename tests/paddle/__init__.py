"""Tests over Paddle: each file is skipped by name where it is not installed."""
