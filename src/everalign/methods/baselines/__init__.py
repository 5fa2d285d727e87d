"""The systems that the ContEA paper compares itself with, each in a file of its own.

`base` has what all of them share: a model defines its parameters, losses and vectors;
`RetrainedMethod` fits it anew at every version, `InductiveMethod` fits it once. `convolution`,
`negatives` and `losses` are parts that several models use. Needs PyTorch.
"""
