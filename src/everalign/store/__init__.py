"""The state directory: what came in, what became of it, and who may write.

The only room that writes to disk. `Store.journal` keeps a delta before any work on it begins,
`Store.commit` adds the version that applies it; arrays lie in files that never change, and
one SQLite transaction makes a version exist.
"""

from __future__ import annotations

from everalign.store.records import Delta, Json, Roll, Side, Sort, Version, digest_of
from everalign.store.store import Store

__all__ = ["Delta", "Json", "Roll", "Side", "Sort", "Store", "Version", "digest_of"]
