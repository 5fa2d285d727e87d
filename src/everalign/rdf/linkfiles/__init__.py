"""Links → files of every common format, and back: one file per format.

``reading`` and, one floor up, ``rdf/writing`` know the formats by name. ``statements`` has
N-Triples and Turtle, ``tables`` what is made of rows, ``alignment`` the RDF/XML of the Alignment
API, ``sssom`` and its neighbours SSSOM/TSV. ``feed`` writes what has changed, for others to
apply.
"""

from __future__ import annotations

from everalign.rdf.linkfiles.feed import FEEDS, LinkChange, Span, write_feed
from everalign.rdf.linkfiles.prefixes import Prefixes
from everalign.rdf.linkfiles.reading import read_link_file
from everalign.rdf.linkfiles.rows import LinkRow, Style
from everalign.rdf.linkfiles.sssom import NO_LICENSE, Justified, MappingSet, write_sssom
from everalign.rdf.linkfiles.sssom_check import check_sssom
from everalign.rdf.linkfiles.sssom_parts import Problem

__all__ = [
    "FEEDS",
    "NO_LICENSE",
    "Justified",
    "LinkChange",
    "LinkRow",
    "MappingSet",
    "Prefixes",
    "Problem",
    "Span",
    "Style",
    "check_sssom",
    "read_link_file",
    "write_feed",
    "write_sssom",
]
