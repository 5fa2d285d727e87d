"""EverAlign keeps the identity links between two growing knowledge graphs right.

>>> from everalign import Aligner, Config
>>> Config(seed=7).seed
7
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from everalign.aligner import Aligner
    from everalign.change import Change
    from everalign.config import Config
    from everalign.errors import EverAlignError
    from everalign.evaluation.metrics import Scores
    from everalign.evaluation.protocol import Benchmark
    from everalign.reports import (
        Explanation,
        Happening,
        Link,
        Outcome,
        RelationLink,
        Report,
        Status,
    )

# Names are imported when they are first used: the command line must not wait for them.
_HOME = {
    "Aligner": "aligner",
    "Benchmark": "evaluation.protocol",
    "Change": "change",
    "Config": "config",
    "EverAlignError": "errors",
    "Explanation": "reports",
    "Happening": "reports",
    "Link": "reports",
    "Outcome": "reports",
    "RelationLink": "reports",
    "Report": "reports",
    "Scores": "evaluation.metrics",
    "Status": "reports",
}

__all__ = [
    "Aligner",
    "Benchmark",
    "Change",
    "Config",
    "EverAlignError",
    "Explanation",
    "Happening",
    "Link",
    "Outcome",
    "RelationLink",
    "Report",
    "Scores",
    "Status",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'everalign' has no attribute {name!r}")
    return getattr(import_module(f"everalign.{_HOME[name]}"), name)
