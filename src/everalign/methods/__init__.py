"""The seam between graphs and candidates: one small protocol and a visible registry."""

from everalign.methods.protocol import Arrays, Method, Problem
from everalign.methods.registry import METHODS, Entry, make_method, register

__all__ = ["METHODS", "Arrays", "Entry", "Method", "Problem", "make_method", "register"]
