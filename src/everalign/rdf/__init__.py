"""Bytes → triples of names, and links → bytes: one file per format.

Reading: ``sources`` finds the files, ``opening`` and ``compression`` turn a path into bytes and
blocks of text, ``formats`` tells what they are. ``tabular``, ``ntriples``, ``nquads``,
``documents`` (Turtle, TriG, RDF/XML, JSON-LD), ``patch`` and ``parquet`` turn them into
``statements``, ``choice`` leaves out what is not wanted, and ``reader`` and ``links`` hand out
the rest. Writing: ``writing`` for links, ``relations``, and ``whole``, which never leaves half a
file; ``linkfiles`` has the formats of links. ``dataset`` knows the directories of a benchmark
dataset and ``layout`` writes them.
"""

from __future__ import annotations

from everalign.rdf.choice import Choice
from everalign.rdf.dataset import ContEADataset
from everalign.rdf.layout import NewDataset, write_rows
from everalign.rdf.linkfiles import LinkChange, Prefixes, Style, check_sssom, read_link_file
from everalign.rdf.links import LinkLine, iterate_links, read_links
from everalign.rdf.listing import read_names
from everalign.rdf.literals import with_literals
from everalign.rdf.names import Triple
from everalign.rdf.reader import TripleReader, read_triples
from everalign.rdf.reading import Skipped
from everalign.rdf.relations import write_relations
from everalign.rdf.statements import Statements
from everalign.rdf.whole import whole_file
from everalign.rdf.writing import write_links

__all__ = [
    "Choice",
    "ContEADataset",
    "LinkChange",
    "LinkLine",
    "NewDataset",
    "Prefixes",
    "Skipped",
    "Statements",
    "Style",
    "Triple",
    "TripleReader",
    "check_sssom",
    "iterate_links",
    "read_link_file",
    "read_links",
    "read_names",
    "read_triples",
    "whole_file",
    "with_literals",
    "write_links",
    "write_relations",
    "write_rows",
]
