"""Files of links, read and written.

======================  ===============================================================
`formats`               the table of formats; `iterate_links`, `write_links`
`checked`               `LinkReader`, `read_links`: links with all their faults
`records`               what is read and written of a link; prefixes and export options
`prefixes`              prefixes of files, and well-known ones
`tables`                tab-separated text, JSON lines, Parquet
`same_as`               ``owl:sameAs`` in RDF formats; relation alignments as N-Triples
`alignment_api`         RDF/XML of the Alignment API
`sssom`, `sssom_check`  SSSOM/TSV: the schema and the writer; the reader and the validator
`change_feed`           changes between two versions: JSON lines, N-Triples, RDF Patch
======================  ===============================================================

To add a format of links, write its reader and its writer in a module of its own and add a
`LinkFormat` to `formats.LINK_FORMATS`.
"""

from __future__ import annotations

from everalign.io.links.change_feed import (
    FEED_FORMATS,
    LinkChange,
    VersionRange,
    write_change_feed,
)
from everalign.io.links.checked import (
    REFUSED,
    SEVERAL,
    SWAPPED,
    UNKNOWN,
    LinkFault,
    LinkReader,
    read_links,
)
from everalign.io.links.formats import LINK_FORMATS, LinkFormat, iterate_links, write_links
from everalign.io.links.prefixes import WELL_KNOWN_PREFIXES, combine_prefixes
from everalign.io.links.records import (
    BLANK_NODE_PREFIX,
    BLANK_NODE_PROBLEM,
    LINK_PREDICATES,
    ExportStyle,
    LinkLine,
    LinkRow,
    Prefixes,
    find_name_problem,
    find_rdf_problem,
)
from everalign.io.links.same_as import (
    RelationInclusion,
    WrittenStatements,
    write_classes,
    write_relations,
)
from everalign.io.links.sssom import (
    NO_LICENSE,
    NO_TERM_IRI,
    JustifiedMapping,
    MappingSet,
    write_sssom,
)
from everalign.io.links.sssom_check import Curation, Problem, check_sssom, read_curations

__all__ = [
    "BLANK_NODE_PREFIX",
    "BLANK_NODE_PROBLEM",
    "FEED_FORMATS",
    "LINK_FORMATS",
    "LINK_PREDICATES",
    "NO_LICENSE",
    "NO_TERM_IRI",
    "REFUSED",
    "SEVERAL",
    "SWAPPED",
    "UNKNOWN",
    "WELL_KNOWN_PREFIXES",
    "Curation",
    "ExportStyle",
    "JustifiedMapping",
    "LinkChange",
    "LinkFault",
    "LinkFormat",
    "LinkLine",
    "LinkReader",
    "LinkRow",
    "MappingSet",
    "Prefixes",
    "Problem",
    "RelationInclusion",
    "VersionRange",
    "WrittenStatements",
    "check_sssom",
    "combine_prefixes",
    "find_name_problem",
    "find_rdf_problem",
    "iterate_links",
    "read_curations",
    "read_links",
    "write_change_feed",
    "write_classes",
    "write_links",
    "write_relations",
    "write_sssom",
]
