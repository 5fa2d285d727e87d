"""Strings to ids that never change; two growing graphs as immutable arrays."""

from everalign.graph.graph import Graph, intern
from everalign.graph.intake import (
    LinkSource,
    NameSource,
    pairs_of,
    refuse_swapped_sides,
    refuse_unreadable,
    take_entities,
    take_links,
    take_pairs,
)
from everalign.graph.names import Names, Vocabulary
from everalign.graph.rows import among, missing
from everalign.graph.taking import Taken, TripleSource, count_and_take, take, take_triples
from everalign.graph.union import UnionGraph, union_triples, unite
from everalign.graph.values import IntArray, Values

__all__ = [
    "Graph",
    "IntArray",
    "LinkSource",
    "NameSource",
    "Names",
    "Taken",
    "TripleSource",
    "UnionGraph",
    "Values",
    "Vocabulary",
    "among",
    "count_and_take",
    "intern",
    "missing",
    "pairs_of",
    "refuse_swapped_sides",
    "refuse_unreadable",
    "take",
    "take_entities",
    "take_links",
    "take_pairs",
    "take_triples",
    "union_triples",
    "unite",
]
