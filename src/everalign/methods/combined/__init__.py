"""Evidence whose judge also weighs ContEA's vectors. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from everalign.config import build
from everalign.methods.contea import ContEASettings
from everalign.methods.evidence import EvidenceSettings
from everalign.methods.protocol import Method

__all__ = ["make"]

# A second round of ContEA's training brings the judge nothing, and most of the first is enough.
CONTEA = {"max_epochs": 18, "bootstrap": 0.0}


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """The two with their defaults, except for the given settings of either."""
    from everalign.methods.combined.method import Combined

    of_contea = {entry.name for entry in fields(ContEASettings)}
    one = {name: value for name, value in settings.items() if name not in of_contea}
    two = {name: value for name, value in settings.items() if name in of_contea}
    return Combined(
        build(EvidenceSettings, one, "combined"),
        build(ContEASettings, {**CONTEA, **two}, "combined"),
        seed,
    )
