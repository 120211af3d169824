"""What the adapters to JAX, TensorFlow and Paddle share: architectures, inputs, small helpers.

No framework is imported here. PyTorch's adapter came first and has its own of everything: its
inputs know strides and aliasing views, its architectures are `nn.Module`s that use them.
"""
