"""The adapter to PyTorch: torch.compile and everything it keeps between calls."""
