"""JAX's own constructs, one file each."""
