"""What exists in the invented world: the kinds of entities and the types of facts.

Only data: to make the world richer, add a row here and say in `views.py` how each side tells it.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A kind of entity: its share of the world, and how many there are at most."""

    name: str
    share: float
    most: int | None = None
    settled: bool = False
    """Settled kinds, such as countries, are known to both sides from the start."""
    words: int = 1
    """How many words a label has."""


@dataclass(frozen=True)
class FactType:
    """A type of fact about `head` entities, pointing to `tail` entities."""

    name: str
    head: str
    tail: str
    mean: float
    """How many of these facts an average head has."""
    functional: bool = False
    """A head has at most one."""
    local: float = 0.7
    """Share of the tails that are from the head's own country."""
    skew: float = 2.0
    """How strongly popular tails are preferred; 1 is not at all."""


KINDS = (
    Kind("country", 0.006, most=200, settled=True),
    Kind("region", 0.03, most=5_000, settled=True),
    Kind("language", 0.006, most=300, settled=True),
    Kind("profession", 0.008, most=400, settled=True),
    Kind("genre", 0.010, most=500, settled=True),
    Kind("city", 0.14),
    Kind("person", 0.38, words=2),
    Kind("company", 0.07, words=2),
    Kind("university", 0.02, words=2),
    Kind("club", 0.05, words=2),
    Kind("film", 0.11, words=3),
    Kind("book", 0.06, words=3),
    Kind("album", 0.05, words=3),
    Kind("event", 0.05, words=2),
    Kind("award", 0.01, words=2),
)

FACT_TYPES = (
    FactType("capital", "country", "city", 1.0, functional=True, local=1.0, skew=6.0),
    FactType("official_language", "country", "language", 1.4, local=0.0),
    FactType("region_neighbour", "region", "region", 1.2, local=0.9, skew=1.0),
    FactType("region_seat", "region", "city", 0.9, functional=True, local=1.0),
    FactType("twin_town", "city", "city", 0.4, local=0.1),
    FactType("mayor", "city", "person", 0.4, functional=True, local=1.0, skew=1.3),
    FactType("birth_place", "person", "city", 0.9, functional=True, local=0.85),
    FactType("death_place", "person", "city", 0.45, functional=True, local=0.7),
    FactType("residence", "person", "city", 0.3),
    FactType("citizenship", "person", "country", 0.6, local=0.9),
    FactType("profession", "person", "profession", 1.1, local=0.0),
    FactType("spoken_language", "person", "language", 0.2, local=0.0),
    FactType("spouse", "person", "person", 0.25, local=0.9, skew=1.2),
    FactType("parent", "person", "person", 0.3, local=0.95, skew=1.2),
    FactType("influence", "person", "person", 0.4, local=0.5, skew=2.5),
    FactType("education", "person", "university", 0.5),
    FactType("employment", "person", "company", 0.35),
    FactType("membership", "person", "club", 0.5),
    FactType("honour", "person", "award", 0.4, local=0.4),
    FactType("headquarters", "company", "city", 0.9, functional=True, local=0.95),
    FactType("founder", "company", "person", 0.6, local=0.9, skew=1.3),
    FactType("owner", "company", "company", 0.4, functional=True),
    FactType("campus", "university", "city", 1.0, functional=True, local=1.0),
    FactType("rector", "university", "person", 0.6, functional=True, skew=1.3),
    FactType("home_ground", "club", "city", 1.0, functional=True, local=1.0),
    FactType("coach", "club", "person", 0.8, skew=1.3),
    FactType("rival", "club", "club", 0.4, skew=1.5),
    FactType("film_director", "film", "person", 1.0, functional=True, skew=1.6),
    FactType("film_writer", "film", "person", 0.8, skew=1.6),
    FactType("cast", "film", "person", 2.2, skew=1.8),
    FactType("film_genre", "film", "genre", 1.0, local=0.0),
    FactType("film_country", "film", "country", 0.8, functional=True, local=0.9),
    FactType("film_studio", "film", "company", 0.6),
    FactType("author", "book", "person", 1.0, functional=True, skew=1.6),
    FactType("publisher", "book", "company", 0.7, functional=True),
    FactType("book_genre", "book", "genre", 0.8, local=0.0),
    FactType("book_language", "book", "language", 0.5, functional=True, local=0.0),
    FactType("adaptation", "book", "film", 0.15, functional=True, skew=1.3),
    FactType("performer", "album", "person", 1.0, functional=True, skew=1.6),
    FactType("record_label", "album", "company", 0.7, functional=True),
    FactType("album_genre", "album", "genre", 0.9, local=0.0),
    FactType("next_album", "album", "album", 0.5, functional=True, local=0.9, skew=1.0),
    FactType("venue", "event", "city", 0.9, functional=True),
    FactType("participant", "event", "person", 1.6, skew=1.5),
    FactType("winner", "event", "club", 0.5, functional=True, local=0.5),
    FactType("next_event", "event", "event", 0.5, functional=True, local=0.9, skew=1.0),
    FactType("donor", "award", "company", 0.8, functional=True),
)

CONTAINMENT = (("city", "region"), ("region", "country"))
"""Every entity of the first kind lies in one of the second: facts `city_in`, `region_in`."""
