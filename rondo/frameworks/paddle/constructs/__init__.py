"""Paddle constructs, one file each; discovered by their folder."""
