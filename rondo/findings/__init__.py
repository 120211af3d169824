"""Findings: shortened, named, and kept as reproducers that are data and nothing else."""
