"""How each side tells the facts of the world: its relations, and what they do to a fact.

Only data. Both tables name the same world, but no relation name is shared. A fact type that a
table leaves out is one that this side does not record.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """How one side tells one type of fact.

    With several relations, the head's flavour decides which one is used (as with an actor and an
    actress). Two rules with the same relation merge two types of fact into one.
    """

    fact: str
    relations: tuple[str, ...]
    inverted: bool = False
    lifted: int = 0
    """How many steps up in the containment the tail is: 1 for the region, 2 for the country."""
    reified: str | None = None
    """The relation from an extra entity to the head; `relations` then lead from it to the tail."""

    @property
    def all_relations(self) -> tuple[str, ...]:
        """Every relation that the rule uses."""
        return self.relations if self.reified is None else (self.reified, *self.relations)


def _plain(fact: str, *relations: str) -> Rule:
    return Rule(fact, relations)


def _inverted(fact: str, *relations: str) -> Rule:
    return Rule(fact, relations, inverted=True)


def _lifted(fact: str, steps: int, *relations: str) -> Rule:
    return Rule(fact, relations, lifted=steps)


def _reified(fact: str, to_head: str, *to_tail: str) -> Rule:
    return Rule(fact, to_tail, reified=to_head)


LEFT = (
    _plain("city_in", "isPartOf"),
    _plain("region_in", "country"),
    _plain("capital", "capital"),
    _plain("official_language", "officialLanguage"),
    _plain("region_neighbour", "neighbouringRegion"),
    _plain("region_seat", "administrativeCentre"),
    _plain("twin_town", "twinTown"),
    _plain("mayor", "leader"),
    _plain("birth_place", "birthPlace"),
    _plain("death_place", "deathPlace", "restingPlace"),
    _lifted("residence", 1, "residence"),
    _plain("citizenship", "nationality"),
    _plain("profession", "occupation"),
    _reified("spouse", "partner", "partner"),
    _inverted("parent", "child"),
    _plain("influence", "influencedBy"),
    _plain("education", "almaMater"),
    _plain("employment", "employer"),
    _plain("membership", "team"),
    _plain("honour", "award"),
    _plain("headquarters", "headquarter"),
    _plain("founder", "foundedBy"),
    _plain("owner", "owner"),
    _plain("campus", "city"),
    _plain("rector", "leader"),
    _lifted("home_ground", 1, "ground"),
    _plain("coach", "manager"),
    _plain("film_director", "director"),
    _plain("film_writer", "writer"),
    _plain("cast", "starring"),
    _plain("film_genre", "genre"),
    _plain("film_country", "country"),
    _plain("film_studio", "distributor"),
    _plain("author", "writer"),
    _plain("publisher", "publisher"),
    _plain("book_genre", "genre"),
    _plain("book_language", "language"),
    _plain("adaptation", "basisOf"),
    _plain("performer", "artist"),
    _plain("record_label", "publisher"),
    _plain("album_genre", "genre"),
    _plain("next_album", "subsequentWork"),
    _lifted("venue", 1, "location"),
    _plain("participant", "participant"),
    _plain("next_event", "followedBy"),
    _plain("donor", "presenter"),
)

RIGHT = (
    _plain("city_in", "located_in"),
    _plain("region_in", "located_in"),
    _inverted("capital", "seat_of_government_of"),
    _inverted("official_language", "spoken_in"),
    _plain("region_neighbour", "borders"),
    _plain("region_seat", "has_seat"),
    _plain("mayor", "head_of_council"),
    _lifted("birth_place", 2, "born_in"),
    _plain("death_place", "lived_or_died_in"),
    _plain("residence", "lived_or_died_in"),
    _plain("citizenship", "citizen_of"),
    _plain("profession", "works_as", "known_as"),
    _plain("spoken_language", "speaks"),
    _plain("spouse", "married_to"),
    _plain("parent", "father", "mother"),
    _inverted("influence", "inspired"),
    _plain("education", "studied_at"),
    _reified("employment", "post_holder", "post_at"),
    _reified("membership", "squad_player", "squad_of"),
    _inverted("honour", "laureate"),
    _plain("headquarters", "based_in"),
    _inverted("founder", "started_company"),
    _inverted("owner", "has_subsidiary"),
    _plain("campus", "based_in"),
    _plain("rector", "headed_by"),
    _plain("home_ground", "plays_in"),
    _plain("coach", "trained_by"),
    _plain("rival", "derby_with"),
    _plain("film_director", "made_by"),
    _plain("film_writer", "made_by"),
    _plain("cast", "features", "stars", "voiced_by"),
    _plain("film_genre", "film_style"),
    _plain("film_country", "produced_in"),
    _plain("film_studio", "studio"),
    _inverted("author", "wrote"),
    _plain("publisher", "printed_by"),
    _plain("book_genre", "literary_style"),
    _plain("book_language", "original_language"),
    _inverted("adaptation", "adapted_from"),
    _inverted("performer", "recorded"),
    _plain("record_label", "released_by"),
    _plain("album_genre", "musical_style"),
    _inverted("next_album", "earlier_record"),
    _plain("venue", "held_in"),
    _plain("participant", "entrant", "guest"),
    _plain("winner", "won_by"),
    _plain("next_event", "next_edition"),
    _plain("donor", "endowed_by"),
)
