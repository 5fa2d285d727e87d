"""Names to ids that never change, and graphs of ids as immutable arrays."""

from everalign.graph.encoding import (
    EncodedStatements,
    EntitySource,
    LinkSource,
    TripleSource,
    check_readable,
    check_sides,
    encode_and_count_literals,
    encode_entities,
    encode_links,
    encode_pairs,
    encode_statements,
    encode_triples,
    read_known_pairs,
    read_pairs,
)
from everalign.graph.names import NameIndex, Vocabulary
from everalign.graph.triples import (
    NO_TRIPLES,
    AttributeTriples,
    Graph,
    IntArray,
    LazyGraph,
    mark_known_rows,
    select_new_rows,
)
from everalign.graph.union_graph import UnionGraph, build_union_graph, combine_triples

__all__ = [
    "NO_TRIPLES",
    "AttributeTriples",
    "EncodedStatements",
    "EntitySource",
    "Graph",
    "IntArray",
    "LazyGraph",
    "LinkSource",
    "NameIndex",
    "TripleSource",
    "UnionGraph",
    "Vocabulary",
    "build_union_graph",
    "check_readable",
    "check_sides",
    "combine_triples",
    "encode_and_count_literals",
    "encode_entities",
    "encode_links",
    "encode_pairs",
    "encode_statements",
    "encode_triples",
    "mark_known_rows",
    "read_known_pairs",
    "read_pairs",
    "select_new_rows",
]
