"""What neural methods share: encoder, kernels, losses, training, growth. Needs PyTorch."""
