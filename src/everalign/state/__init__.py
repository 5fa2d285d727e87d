"""The state directory of an alignment, and the only code that writes to it.

`StateStore.journal_delta` stores an update before any work on it begins, and
`StateStore.commit_version` adds the version that applies it. Large arrays lie in files that never
change; a version exists once one SQLite transaction has been committed.
"""

from __future__ import annotations

from everalign.state.deltas import Delta, Json, NameKind, NameList, Side, Version, compute_digest
from everalign.state.store import StateStore

__all__ = [
    "Delta",
    "Json",
    "NameKind",
    "NameList",
    "Side",
    "StateStore",
    "Version",
    "compute_digest",
]
