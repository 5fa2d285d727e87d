"""The prefixes of an alignment: those that its files declare, and well-known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from everalign.errors import ConfigError
from everalign.io.links.records import SSSOM_PREFIXES, Prefixes

Side = TypeVar("Side", bound=str)

# Used where no file says otherwise.
WELL_KNOWN_PREFIXES: Mapping[str, str] = {
    **SSSOM_PREFIXES,
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "geo": "http://www.w3.org/2003/01/geo/wgs84_pos#",
    "gn": "https://sws.geonames.org/",
    "prov": "http://www.w3.org/ns/prov#",
    "schema": "http://schema.org/",
    "void": "http://rdfs.org/ns/void#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}


def combine_prefixes(declared: Iterable[Mapping[Side, Mapping[str, str]]]) -> Prefixes:
    """Combine the prefixes of the files of both graphs.

    A name that stands for two namespaces gets the side of the second one behind it, an empty
    name is called by its side. SSSOM fixes some names, which keep their meaning.

    Args:
        declared: The prefixes of the left and the right files of each update, by side.

    Returns:
        The prefixes, and those of `WELL_KNOWN_PREFIXES` that do not contradict them.

    >>> left, right = {"ex": "urn:a/"}, {"ex": "urn:b/", "": "urn:c/"}
    >>> both = combine_prefixes([{"left": left, "right": right}])
    >>> [both.format_curie(f"urn:{name}/1") for name in "abc"]
    ['ex:1', 'ex-right:1', 'right:1']
    """
    names: dict[str, str] = dict(SSSOM_PREFIXES)
    known = set(names.values())
    for sides in declared:
        for side, prefixes in sides.items():
            for name, namespace in prefixes.items():
                free = [
                    choice
                    for choice in (name or side, f"{name or side}-{side}")
                    if names.get(choice, namespace) == namespace
                ]
                if namespace not in known and free and _is_valid(free[0], namespace):
                    names[free[0]] = namespace
                    known.add(namespace)
    for name, namespace in WELL_KNOWN_PREFIXES.items():
        if namespace not in known:
            names.setdefault(name, namespace)
    return Prefixes(names)


def _is_valid(name: str, namespace: str) -> bool:
    # Files may declare names that SSSOM does not allow, and namespaces that are no IRIs.
    try:
        Prefixes({name: namespace})
    except ConfigError:
        return False
    return True
