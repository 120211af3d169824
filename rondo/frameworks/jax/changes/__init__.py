"""The changes that any JAX subject knows: to the program, and to what JAX has retained."""
