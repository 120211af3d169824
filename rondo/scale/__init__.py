"""Many machines: campaigns on each, a store between them."""
