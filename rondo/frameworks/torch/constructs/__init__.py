"""Constructs: a piece of state that a forward reads, with its changes; one file each."""
