"""Strings to ids that never change; two growing graphs as immutable arrays."""

from everalign.graph.graph import Graph, IntArray, intern
from everalign.graph.intake import (
    LinkSource,
    TripleSource,
    count_and_take,
    pairs_of,
    refuse_swapped_sides,
    refuse_unreadable,
    take_links,
    take_triples,
)
from everalign.graph.names import Names, Vocabulary
from everalign.graph.union import UnionGraph, union_triples, unite
from everalign.graph.values import Values

__all__ = [
    "Graph",
    "IntArray",
    "LinkSource",
    "Names",
    "TripleSource",
    "UnionGraph",
    "Values",
    "Vocabulary",
    "count_and_take",
    "intern",
    "pairs_of",
    "refuse_swapped_sides",
    "refuse_unreadable",
    "take_links",
    "take_triples",
    "union_triples",
    "unite",
]
