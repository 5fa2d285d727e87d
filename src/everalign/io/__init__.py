"""Input and output: files to statements about entities, and links to files and back.

===========  =========================================================================
`reader`     `TripleReader`, `read_triples`: all files of a source, filtered and counted
`source_parts`   the files and objects of a source, found, fetched and opened
`formats`    the table of file formats, and how the format of a file is recognised
`ntriples`   N-Triples, N-Quads
`documents`  Turtle, TriG, RDF/XML, JSON-LD (and its contexts: `json_ld_contexts`)
`tables`     tab-separated text, Parquet, lists of entities
`csv_files`  CSV and TSV with a header: dialect, rows
`objects`    `rdflib.Graph`, `pyoxigraph.Store`, data frames
`table_source`   `Table`: how the columns of a table are read
`entity_tables`  rows of a table to statements
`rdf_patch`  RDF Patch: statements added and removed
`filters`    which statements are kept, and what a reader is given (`ReadContext`)
`wikidata`   what is left out of dumps of Wikidata
`sources`    how files and servers are opened (`SourceOptions`)
`streams`    paths to bytes, compression, blocks of text, files written atomically
`encodings`  text in other encodings, given as UTF-8
`archives`   the files inside of zip and tar
`source_slices`  sources cut into slices for several processes (`line_ranges`)
`remote`     URLs and SPARQL endpoints, fetched into a cache (`http_client`, `sparql`)
`terms`      IRIs, blank nodes and literals as text; `Statements`
`links`      files of links, in their own package
===========  =========================================================================

A file passes through them in this order: `source_parts.list_parts` lists the files of a source and
fetches what a server has, `formats.open_files` opens each of them, or the files of an archive,
decompresses them, gives their text as UTF-8 and recognises their format, the `read` function of
the `FileFormat` turns bytes into `Statements`, and `TripleReader` filters and counts them.

To add a format, write a function that reads it and add a `FileFormat` to `formats.FORMATS`;
docs/concepts/add-a-format.md shows how.
"""

from __future__ import annotations

from everalign.io.filters import ReadContext, ReadOptions, SkippedLine
from everalign.io.formats import FileFormat, register_format
from everalign.io.links import (
    ExportStyle,
    LinkChange,
    LinkLine,
    LinkReader,
    Prefixes,
    check_sssom,
    iterate_links,
    read_links,
    write_classes,
    write_links,
    write_relations,
)
from everalign.io.objects import is_readable_object, read_rows
from everalign.io.reader import LinePart, TripleReader, read_triples
from everalign.io.source_parts import Source, check_columns, list_parts
from everalign.io.sources import RemoteOptions, SourceOptions
from everalign.io.streams import write_atomically
from everalign.io.table_source import Table
from everalign.io.tables import read_entity_list
from everalign.io.terms import Statements, Triple, split_literals

__all__ = [
    "ExportStyle",
    "FileFormat",
    "LinePart",
    "LinkChange",
    "LinkLine",
    "LinkReader",
    "Prefixes",
    "ReadContext",
    "ReadOptions",
    "RemoteOptions",
    "SkippedLine",
    "Source",
    "SourceOptions",
    "Statements",
    "Table",
    "Triple",
    "TripleReader",
    "check_columns",
    "check_sssom",
    "is_readable_object",
    "iterate_links",
    "list_parts",
    "read_entity_list",
    "read_links",
    "read_rows",
    "read_triples",
    "register_format",
    "split_literals",
    "write_atomically",
    "write_classes",
    "write_links",
    "write_relations",
]
