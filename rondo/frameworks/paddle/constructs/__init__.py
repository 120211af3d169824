"""What Paddle programs read besides their inputs, one construct a file, each with its changes."""
