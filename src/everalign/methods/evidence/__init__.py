"""Evidence: PARIS-style propagation, relation alignment and a learned classifier. No PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everalign.config import build_settings
from everalign.methods.base import Method
from everalign.methods.evidence.config import EvidenceParameters, EvidenceSettings

__all__ = ["EvidenceParameters", "EvidenceSettings", "make"]


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create the method from user settings.

    Args:
        settings: Names and values of `EvidenceSettings`; the others keep their defaults.
        seed: Random seed.

    Returns:
        The method, neither fitted nor loaded.

    Raises:
        ConfigError: If a setting is unknown or has an invalid value.
    """
    from everalign.methods.evidence.method import Evidence

    user_settings = build_settings(EvidenceSettings, settings, "evidence")
    return Evidence(EvidenceParameters.from_settings(user_settings), seed)
