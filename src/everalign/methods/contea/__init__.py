"""ContEA (ISWC 2022): encoder, kernels, losses, training. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everalign.config import build
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.protocol import Method

__all__ = ["ContEASettings", "make"]


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """ContEA with its defaults, except for the given settings."""
    from everalign.methods.contea.method import ContEA

    return ContEA(build(ContEASettings, settings, "contea"), seed)
