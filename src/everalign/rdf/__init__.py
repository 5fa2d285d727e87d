"""Bytes → triples of names, and links → bytes: one file per format.

Reading: ``opening`` turns a path into blocks of text, ``formats`` tells what they are,
``tabular`` and ``ntriples`` turn them into names, and ``reader`` and ``links`` hand these
out. Writing: ``writing`` and ``relations``. ``dataset`` knows the directories of a benchmark
dataset and ``layout`` writes them.
"""

from __future__ import annotations

from everalign.rdf.dataset import ContEADataset
from everalign.rdf.layout import NewDataset, write_rows
from everalign.rdf.links import LinkLine, iterate_links, read_links
from everalign.rdf.listing import read_names
from everalign.rdf.literals import with_literals
from everalign.rdf.names import Triple
from everalign.rdf.reader import TripleReader, read_triples
from everalign.rdf.relations import write_relations
from everalign.rdf.statements import Statements
from everalign.rdf.writing import write_links

__all__ = [
    "ContEADataset",
    "LinkLine",
    "NewDataset",
    "Statements",
    "Triple",
    "TripleReader",
    "iterate_links",
    "read_links",
    "read_names",
    "read_triples",
    "with_literals",
    "write_links",
    "write_relations",
    "write_rows",
]
