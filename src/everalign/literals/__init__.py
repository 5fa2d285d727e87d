"""Literals: names, numbers and dates of two graphs → pairs that say the same."""

from everalign.literals.from_iris import IN_THE_IRI, quoted, with_names_of_iris
from everalign.literals.iris import names_of_iris
from everalign.literals.matches import ValueMatches
from everalign.literals.matching import match_literals
from everalign.literals.naming import NamedEntities, named_entities
from everalign.literals.reading import Literals
from everalign.literals.scripts import note_on
from everalign.literals.settings import LiteralSettings
from everalign.literals.similar import NO_KNOWN, search, texts_as_rows
from everalign.literals.translations import read_translations
from everalign.literals.vectors import name_vectors

__all__ = [
    "IN_THE_IRI",
    "NO_KNOWN",
    "LiteralSettings",
    "Literals",
    "NamedEntities",
    "ValueMatches",
    "match_literals",
    "name_vectors",
    "named_entities",
    "names_of_iris",
    "note_on",
    "quoted",
    "read_translations",
    "search",
    "texts_as_rows",
    "with_names_of_iris",
]
