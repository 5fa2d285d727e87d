"""Parts shared by the neural methods. Needs PyTorch.

- `encoder`: the encoder of Dual-AMN and ContEA
- `operators`, `kernels`: its differentiable operations and their compiled loops
- `training`: epochs, batches, early stopping
- `pairs`: seed, validation and candidate pairs as nodes of the union graph
- `initialisation`: parameters for graphs that have grown
"""
