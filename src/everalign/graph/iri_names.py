"""Names in IRIs, and attributes that name entities by what they are called.

What lists links or labels needs no more than this, and starts faster without the rest of literals.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from everalign.graph.names import Vocabulary
from everalign.graph.packed_names import PackedNames
from everalign.graph.triples import NO_TRIPLES, IntArray

IRI_NAME_ATTRIBUTE = "name in the IRI"  # not an IRI, so no attribute of a graph has this name

# The last part of rdfs:label, skos:prefLabel, foaf:name, schema:name, dct:title and the like.
_NAMING_ATTRIBUTE = re.compile(r"(?:.*[#/:])?(label|pref_?label|name|title)", re.IGNORECASE)
# Which of these a person would rather read, the best first.
_NAMING_ORDER = ("preflabel", "label", "name", "title")
_IDENTIFIER = re.compile(
    r"[QPL]\d+|[A-Z]{0,3}[-:. ]?\d{5,}"  # Q42, tt0111161; but K2 and STS-113 are names
    r"|[a-z]?[./]?[mg][./][0-9a-z_]+"  # /m/02mjmr, g.11b6
    r"|[^\W\d_]+\d{2,}"  # City64, r9999: numbered things of a kind; but Route 66 is a name
    r"|(?:urn:)?(?:uuid:)?[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}"
    r"|(?=[0-9a-f]*\d)[0-9a-f]{8,}",  # hashes, also short ones
    re.IGNORECASE,
)
_UUID_LETTERS = 32
_NAMES_PER_BLOCK = 100_000
# Long strings without a space that alternate between digits and letters are no names.
_DIGIT_BESIDE_LETTER = re.compile(r"\d[A-Za-z]|[A-Za-z]\d")


def rank_naming_attribute(attribute: str) -> int | None:
    """Tell how well an attribute names entities, by what it is called.

    Args:
        attribute: An IRI, or any other name.

    Returns:
        0 for the best; None if it does not name.

    Example:
        >>> rank_naming_attribute("http://www.w3.org/2004/02/skos/core#prefLabel")
        0
        >>> rank_naming_attribute("http://www.w3.org/2000/01/rdf-schema#comment") is None
        True
    """
    match = _NAMING_ATTRIBUTE.fullmatch(attribute)
    return None if match is None else _NAMING_ORDER.index(match[1].lower().replace("_", ""))


def list_endings(text: str) -> tuple[str, ...]:
    """List how the name of an entity may end, if a text is its last part.

    Args:
        text: What a person writes for an entity.

    Returns:
        The text behind each character that begins the last part of an IRI.

    Example:
        >>> "http://dbpedia.org/resource/Oslo".endswith(list_endings("Oslo"))
        True
    """
    return tuple(f"{separator}{text}" for separator in "/#:")


def extract_iri_names(entities: Sequence[str]) -> list[str | None]:
    """Extract the readable name from each IRI.

    Args:
        entities: IRIs or blank nodes.

    Returns:
        A name per entity; None for blank nodes, numbers and identifiers.

    Example:
        >>> dbpedia = "http://dbpedia.org/resource/Saint-%C3%89tienne"
        >>> extract_iri_names([dbpedia, "http://x.org/#The_Edge"])
        ['Saint-Étienne', 'The Edge']
        >>> extract_iri_names(["http://www.wikidata.org/entity/Q42", "_:b0", "17"])
        [None, None, None]
    """
    return [_extract_iri_name(entity) for entity in entities]


def encode_iri_names(vocabulary: Vocabulary, known_count: int) -> IntArray:
    """Encode the readable parts of IRIs as literals of one attribute.

    Args:
        vocabulary: The names of a graph. The attribute and the literals are added to it.
        known_count: How many entities to skip: only those behind them are encoded.

    Returns:
        Rows (entity, attribute, literal) of the entities whose IRI has a readable name.

    Example:
        >>> from everalign.graph import NameIndex
        >>> iris = ["http://x.org/Ada_Lovelace", "http://x.org/Q42", "http://x.org/The_Edge"]
        >>> vocabulary = Vocabulary(entities=NameIndex(iris))
        >>> encode_iri_names(vocabulary, known_count=1).tolist()
        [[2, 0, 0]]
        >>> list(vocabulary.attributes), list(vocabulary.literals)
        (['name in the IRI'], ['"The Edge"'])
    """
    entities = vocabulary.entities.list_names_after(known_count)
    places = _find_candidates(entities)
    blocks = [NO_TRIPLES]
    # In blocks, so that no Python list of all names is ever held.
    for start in range(0, len(places), _NAMES_PER_BLOCK):
        block = places[start : start + _NAMES_PER_BLOCK]
        names = extract_iri_names(_take_names(entities, block))
        named = [
            (entity, name) for entity, name in zip(block.tolist(), names, strict=True) if name
        ]
        rows = np.zeros((len(named), 3), dtype=np.int32)
        if named:
            rows[:, 0] = [known_count + entity for entity, _ in named]
            rows[:, 1] = vocabulary.attributes.get_or_add_id(IRI_NAME_ATTRIBUTE)
            literals = [quote_literal(name) for _, name in named]
            rows[:, 2] = vocabulary.literals.get_or_add_ids(literals)
        blocks.append(rows)
    return np.concatenate(blocks)


def _find_candidates(entities: Sequence[str]) -> NDArray[np.int64]:
    """Find the entities that may have a readable name."""
    if not isinstance(entities, PackedNames):
        return np.arange(len(entities))
    # Imported here: names of a small graph are not packed, and need no compiled code.
    from everalign.graph.iri_kernels import mark_identifiers

    return np.flatnonzero(~mark_identifiers(entities.heap, entities.offsets))


def _take_names(entities: Sequence[str], places: NDArray[np.int64]) -> list[str]:
    if isinstance(entities, PackedNames):
        return entities.take_names(places)
    return [entities[place] for place in places.tolist()]


def quote_literal(text: str) -> str:
    r"""Write a text of one line as an N-Triples literal.

    Args:
        text: A text without line breaks.

    Returns:
        The text in quotes, with quotes and backslashes escaped.

    Example:
        >>> print(quote_literal('The "Edge"'))
        "The \"Edge\""
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _extract_iri_name(entity: str) -> str | None:
    if entity.startswith("_:"):
        return None
    local_name = _find_local_name(entity.strip("<>"))
    if "%" in local_name:
        local_name = unquote(local_name)
    name = " ".join(local_name.replace("_", " ").split())
    return name if name and not _is_identifier(name) else None


def _find_local_name(iri: str) -> str:
    """What stands after the last of # and /, or of : in an IRI without them.

    The part after a # may hold slashes (as in AC/DC); those before belong to the path.
    """
    before, hash_sign, fragment = iri.partition("#")
    if hash_sign and fragment:
        return fragment.rsplit("/", 1)[-1]
    last_segment = _find_last_segment(before.rstrip("/"))
    return last_segment if last_segment is not None else before.rstrip("/").rsplit(":", 1)[-1]


def _find_last_segment(iri: str) -> str | None:
    """The last part of a path; the name of a DBpedia resource may have slashes in it."""
    _, found, name = iri.partition("/resource/")
    if found:
        return name
    _, found, path = iri.partition("://")
    if found:
        host, slash, rest = path.partition("/")
        return rest.rsplit("/", 1)[-1] if slash else host
    return iri.rsplit("/", 1)[-1] if "/" in iri else None


def _is_identifier(name: str) -> bool:
    # Most names: words of letters, too short for a UUID. No pattern matches them.
    if len(name) < _UUID_LETTERS and name.replace(" ", "").isalpha():
        return False
    if not any(letter.isalpha() for letter in name) or _IDENTIFIER.fullmatch(name):
        return True
    # An estimate: short codes such as model numbers are names, and so is what has words.
    if len(name) < 12 or " " in name:
        return False
    return len(_DIGIT_BESIDE_LETTER.findall(name)) > len(name) / 6
