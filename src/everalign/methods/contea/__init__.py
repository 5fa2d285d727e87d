"""ContEA: continual entity alignment by a graph neural network (ISWC 2022). Needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everalign.config import build_settings
from everalign.methods.base import Method
from everalign.methods.contea.settings import ContEASettings

__all__ = ["ContEASettings", "make"]


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create ContEA.

    Args:
        settings: Settings that differ from the defaults of `ContEASettings`.
        seed: Random seed.

    Returns:
        The method, not fitted.

    Raises:
        ConfigError: A setting is unknown or has no valid value.
    """
    # Imported here: the settings can be read where PyTorch is not installed.
    from everalign.methods.contea.method import ContEA

    return ContEA(build_settings(ContEASettings, settings, "contea"), seed)
