"""The readable name in an IRI."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

_IDENTIFIER = re.compile(
    r"[QPL]\d+|[A-Z]{0,3}[-:. ]?\d{5,}"  # Q42, tt0111161; but K2 and STS-113 are names
    r"|[a-z]?[./]?[mg][./][0-9a-z_]+"  # /m/02mjmr, g.11b6
    r"|(?:urn:)?(?:uuid:)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
    r"|(?=[0-9a-f]*\d)[0-9a-f]{8,}",  # hashes, also short ones
    re.IGNORECASE,
)
# Long strings without a space in which digits and letters take turns are nobody's name.
_TURNS = re.compile(r"\d[A-Za-z]|[A-Za-z]\d")


def names_of_iris(entities: Sequence[str]) -> list[str | None]:
    """What each IRI calls its entity; None where it tells nothing that people would read.

    >>> names_of_iris(["http://dbpedia.org/resource/Saint-%C3%89tienne", "http://x.org/#The_Edge"])
    ['Saint-Étienne', 'The Edge']
    >>> names_of_iris(["http://www.wikidata.org/entity/Q42", "_:b0", "17", "urn:isbn:0451450523"])
    [None, None, None, None]
    """
    return [_name(entity) for entity in entities]


def _name(entity: str) -> str | None:
    if entity.startswith("_:"):
        return None
    name = _last_part(entity.strip("<>"))
    name = " ".join(unquote(name).replace("_", " ").split())
    return name if name and not _says_nothing(name) else None


def _last_part(iri: str) -> str:
    """What stands after the last of # and /, or of : in an IRI without them.

    The part after a # may hold slashes (as in AC/DC); those before belong to the path.
    """
    before, hash_sign, fragment = iri.partition("#")
    if hash_sign and fragment:
        return fragment.rsplit("/", 1)[-1]
    path = _resource(before.rstrip("/"))
    return path if path is not None else before.rstrip("/").rsplit(":", 1)[-1]


def _resource(iri: str) -> str | None:
    """The last part of a path; what DBpedia calls a resource may have slashes in its name."""
    _, found, name = iri.partition("/resource/")
    if found:
        return name
    _, found, path = iri.partition("://")
    if found:
        host, slash, rest = path.partition("/")
        return rest.rsplit("/", 1)[-1] if slash else host
    return iri.rsplit("/", 1)[-1] if "/" in iri else None


def _says_nothing(name: str) -> bool:
    if not any(letter.isalpha() for letter in name) or _IDENTIFIER.fullmatch(name):
        return True
    return len(name) >= 12 and " " not in name and len(_TURNS.findall(name)) > len(name) / 6
