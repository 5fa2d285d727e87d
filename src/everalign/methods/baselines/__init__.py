"""The systems that the ContEA paper compares itself with, each in a file of its own.

A static method (`static.Static`) says how it learns and embeds; `retraining` learns it from
nothing at every version, `inductive` learns it once and then only embeds. Need PyTorch.
"""
