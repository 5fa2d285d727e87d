"""Evidence: propagation, relation alignment and a learned judge. No PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from everalign.config import build
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.protocol import Method

__all__ = ["EvidenceSettings", "make"]


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Evidence with its defaults, except for the given settings."""
    from everalign.methods.evidence.method import Evidence

    return Evidence(build(EvidenceSettings, settings, "evidence"), seed)
