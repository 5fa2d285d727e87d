"""Bytes → triples of names, and links → bytes: one file per format.

Reading: ``sources`` finds the files, ``opening`` and ``compression`` turn a path into bytes and
blocks of text, ``formats`` tells what they are. ``tabular``, ``ntriples``, ``nquads``,
``documents`` (Turtle, TriG, RDF/XML, JSON-LD), ``patch`` and ``parquet`` turn them into
``statements``, ``choice`` leaves out what is not wanted, and ``reader`` and ``links`` hand out
the rest. Writing: ``writing`` and ``relations``. ``dataset`` knows the directories of a benchmark
dataset and ``layout`` writes them.
"""

from __future__ import annotations

from everalign.rdf.choice import Choice
from everalign.rdf.dataset import ContEADataset
from everalign.rdf.layout import NewDataset, write_rows
from everalign.rdf.links import LinkLine, iterate_links, read_links
from everalign.rdf.names import Triple
from everalign.rdf.reader import TripleReader, read_triples
from everalign.rdf.reading import Skipped
from everalign.rdf.relations import write_relations
from everalign.rdf.statements import Statements
from everalign.rdf.writing import write_links

__all__ = [
    "Choice",
    "ContEADataset",
    "LinkLine",
    "NewDataset",
    "Skipped",
    "Statements",
    "Triple",
    "TripleReader",
    "iterate_links",
    "read_links",
    "read_triples",
    "write_links",
    "write_relations",
    "write_rows",
]
