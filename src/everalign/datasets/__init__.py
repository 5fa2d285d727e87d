"""Benchmark datasets: made from two large graphs and reference links, and counted.

``sources`` reads the graphs and the links as ids, ``beginning`` chooses the first snapshot,
``growth`` lets a side grow from it, ``building`` puts it all together and writes it.
``statistics`` counts what is in a dataset, whoever made it; ``dumping`` makes RDF of static ones.
"""

from __future__ import annotations

from everalign.datasets.building import Built, build
from everalign.datasets.config import BuildConfig
from everalign.datasets.dumping import dump
from everalign.datasets.sources import Sources
from everalign.datasets.statistics import SnapshotStatistics, statistics

__all__ = ["BuildConfig", "Built", "SnapshotStatistics", "Sources", "build", "dump", "statistics"]
