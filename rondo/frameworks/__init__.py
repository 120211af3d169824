"""Adapters to compiler stacks. Only the folder of a framework may import it."""
