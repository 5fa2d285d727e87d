"""The two graphs as views of one world: each has a schema and knowledge of its own.

`LEFT_RENDERINGS` and `RIGHT_RENDERINGS` define the schemas. They have no relation name in common,
and a fact type that is missing in one of them is not recorded in that graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from everalign.benchmark.synthetic.config import SampleConfig
from everalign.benchmark.synthetic.world import (
    ID_TYPE,
    Flags,
    Ids,
    SyntheticWorld,
    draw_arrivals,
    draw_repeats,
)


@dataclass(frozen=True)
class FactRendering:
    """How a graph expresses one type of fact.

    Two renderings with the same relation merge two types of facts into one relation.
    """

    fact: str
    """The name of the fact type."""
    relations: tuple[str, ...]
    """The relation, or several of which the variant of the head selects one (actor, actress)."""
    inverted: bool = False
    """Whether the relation leads from the tail to the head."""
    lifted: int = 0
    """Coarser granularity: the tail is replaced by its region (1) or its country (2)."""
    reified: str | None = None
    """The relation from an intermediate entity to the head; `relations` lead to the tail."""

    @property
    def all_relations(self) -> tuple[str, ...]:
        """All relations of the rendering."""
        return self.relations if self.reified is None else (self.reified, *self.relations)


def _plain_fact(fact: str, *relations: str) -> FactRendering:
    return FactRendering(fact, relations)


def _inverted_fact(fact: str, *relations: str) -> FactRendering:
    return FactRendering(fact, relations, inverted=True)


def _lifted_fact(fact: str, steps: int, *relations: str) -> FactRendering:
    return FactRendering(fact, relations, lifted=steps)


def _reified_fact(fact: str, to_head: str, *to_tail: str) -> FactRendering:
    return FactRendering(fact, to_tail, reified=to_head)


# Types of facts that share a relation, such as `country`, `leader` and `writer`, can be told apart
# in the other graph only. `twin_town` is in this graph alone.
LEFT_RENDERINGS = (
    _plain_fact("city_in", "isPartOf"),
    _plain_fact("region_in", "country"),
    _plain_fact("capital", "capital"),
    _plain_fact("official_language", "officialLanguage"),
    _plain_fact("region_neighbour", "neighbouringRegion"),
    _plain_fact("region_seat", "administrativeCentre"),
    _plain_fact("twin_town", "twinTown"),
    _plain_fact("mayor", "leader"),
    _plain_fact("birth_place", "birthPlace"),
    _plain_fact("death_place", "deathPlace", "restingPlace"),
    _lifted_fact("residence", 1, "residence"),
    _plain_fact("citizenship", "nationality"),
    _plain_fact("profession", "occupation"),
    # A marriage is an entity here. Both partners have the same role, so direction says nothing.
    _reified_fact("spouse", "partner", "partner"),
    # One relation, against two on the right.
    _inverted_fact("parent", "child"),
    _plain_fact("influence", "influencedBy"),
    _plain_fact("education", "almaMater"),
    _plain_fact("employment", "employer"),
    _plain_fact("membership", "team"),
    _plain_fact("honour", "award"),
    _plain_fact("headquarters", "headquarter"),
    _plain_fact("founder", "foundedBy"),
    _plain_fact("owner", "owner"),
    _plain_fact("campus", "city"),
    _plain_fact("rector", "leader"),
    _lifted_fact("home_ground", 1, "ground"),
    _plain_fact("coach", "manager"),
    _plain_fact("film_director", "director"),
    _plain_fact("film_writer", "writer"),
    _plain_fact("cast", "starring"),
    _plain_fact("film_genre", "genre"),
    _plain_fact("film_country", "country"),
    _plain_fact("film_studio", "distributor"),
    _plain_fact("author", "writer"),
    _plain_fact("publisher", "publisher"),
    _plain_fact("book_genre", "genre"),
    _plain_fact("book_language", "language"),
    _plain_fact("adaptation", "basisOf"),
    _plain_fact("performer", "artist"),
    _plain_fact("record_label", "publisher"),
    _plain_fact("album_genre", "genre"),
    _plain_fact("next_album", "subsequentWork"),
    _lifted_fact("venue", 1, "location"),
    _plain_fact("participant", "participant"),
    _plain_fact("next_event", "followedBy"),
    _plain_fact("donor", "presenter"),
)

# `spoken_language`, `rival` and `winner` are in this graph alone.
RIGHT_RENDERINGS = (
    # One relation for both levels of containment, which are two relations on the left.
    _plain_fact("city_in", "located_in"),
    _plain_fact("region_in", "located_in"),
    _inverted_fact("capital", "seat_of_government_of"),
    _inverted_fact("official_language", "spoken_in"),
    _plain_fact("region_neighbour", "borders"),
    _plain_fact("region_seat", "has_seat"),
    _plain_fact("mayor", "head_of_council"),
    # The country, where the left graph has the city.
    _lifted_fact("birth_place", 2, "born_in"),
    _plain_fact("death_place", "lived_or_died_in"),
    _plain_fact("residence", "lived_or_died_in"),
    _plain_fact("citizenship", "citizen_of"),
    _plain_fact("profession", "works_as", "known_as"),
    _plain_fact("spoken_language", "speaks"),
    _plain_fact("spouse", "married_to"),
    _plain_fact("parent", "father", "mother"),
    _inverted_fact("influence", "inspired"),
    _plain_fact("education", "studied_at"),
    _reified_fact("employment", "post_holder", "post_at"),
    _reified_fact("membership", "squad_player", "squad_of"),
    _inverted_fact("honour", "laureate"),
    _plain_fact("headquarters", "based_in"),
    _inverted_fact("founder", "started_company"),
    _inverted_fact("owner", "has_subsidiary"),
    _plain_fact("campus", "based_in"),
    _plain_fact("rector", "headed_by"),
    _plain_fact("home_ground", "plays_in"),
    _plain_fact("coach", "trained_by"),
    _plain_fact("rival", "derby_with"),
    _plain_fact("film_director", "made_by"),
    _plain_fact("film_writer", "made_by"),
    _plain_fact("cast", "features", "stars", "voiced_by"),
    _plain_fact("film_genre", "film_style"),
    _plain_fact("film_country", "produced_in"),
    _plain_fact("film_studio", "studio"),
    _inverted_fact("author", "wrote"),
    _plain_fact("publisher", "printed_by"),
    _plain_fact("book_genre", "literary_style"),
    _plain_fact("book_language", "original_language"),
    _inverted_fact("adaptation", "adapted_from"),
    _inverted_fact("performer", "recorded"),
    _plain_fact("record_label", "released_by"),
    _plain_fact("album_genre", "musical_style"),
    _inverted_fact("next_album", "earlier_record"),
    _plain_fact("venue", "held_in"),
    _plain_fact("participant", "entrant", "guest"),
    _plain_fact("winner", "won_by"),
    _plain_fact("next_event", "next_edition"),
    _plain_fact("donor", "endowed_by"),
)


# Of the facts of an entity that is in a graph twice: those that only one of the two has.
_ORIGINAL_ONLY_SHARE = 0.25
_DUPLICATE_ONLY_SHARE = 0.25


@dataclass(frozen=True, eq=False, repr=False)
class GraphView:
    """The triples of one graph as ids.

    Entities of the world keep their ids; intermediate entities of the graph follow after them.
    """

    relations: tuple[str, ...]
    """The names of the relations by id."""
    entity_count: int
    """Number of entity ids, whether or not a triple uses them."""
    snapshots: tuple[Ids, ...]
    """The triples that each snapshot adds, in random order."""
    duplicates: Ids
    """Rows of (entity of the world, duplicate); the ids of duplicates are the last ones."""

    def count_triples(self) -> int:
        """Count the triples of all snapshots.

        Returns:
            The number of triples, repeated ones included.
        """
        return sum(len(triples) for triples in self.snapshots)

    def find_first_snapshots(self) -> Ids:
        """Find the first snapshot of each entity.

        Returns:
            The snapshot number by entity id; `len(snapshots)` if no triple has the entity.
        """
        first = np.full(self.entity_count, len(self.snapshots))
        # From the last snapshot to the first, so that the earliest value remains.
        for snapshot in reversed(range(len(self.snapshots))):
            for column in (0, 2):
                first[self.snapshots[snapshot][:, column]] = snapshot
        return first


class _Facts(NamedTuple):
    heads: Ids
    tails: Ids
    arrival: Ids


def render_view(
    world: SyntheticWorld,
    in_graph: Flags,
    renderings: Sequence[FactRendering],
    config: SampleConfig,
    rng: Generator,
    duplicate_share: float,
    duplicate_rng: Generator,
) -> GraphView:
    """Render the part of a world that a graph knows.

    Args:
        world: The entities and facts.
        in_graph: Which entities are in the graph.
        renderings: The schema of the graph.
        config: The settings of the sample.
        rng: The random generator.
        duplicate_share: Share of the entities that the graph has twice.
        duplicate_rng: The random generator of duplicates.

    Returns:
        The triples of the graph by snapshot.
    """
    relations = tuple(
        dict.fromkeys(name for rendering in renderings for name in rendering.all_relations)
    )
    relation_ids = {name: index for index, name in enumerate(relations)}
    entity_count, triples = len(world), []
    for rendering in renderings:
        facts = _draw_known_facts(world, in_graph, rendering, config, rng)
        choices = np.array([relation_ids[name] for name in rendering.relations])
        # By a property of the head and not at random: a head has one relation for all its facts of
        # the type.
        relation = choices[world.variant[facts.heads] % len(choices)]
        if rendering.reified is None:
            triples.append(_render_directly(facts, relation, inverted=rendering.inverted))
        else:
            to_head = relation_ids[rendering.reified]
            triples.append(_render_reified(facts, to_head, relation, entity_count))
            entity_count += len(facts.heads)
    chosen = np.flatnonzero(in_graph & (duplicate_rng.random(len(world)) < duplicate_share))
    duplicates = np.column_stack([chosen, entity_count + np.arange(len(chosen))])
    all_triples = np.concatenate(triples)
    triples.clear()  # of a large sample, this is more than all that follows
    if len(duplicates):
        all_triples = _add_duplicates(all_triples, duplicates, duplicate_rng)
    kept = _drop_late_and_repeated(all_triples, config.snapshots)
    del all_triples
    snapshots = _split_by_snapshot(kept, config, rng)
    return GraphView(relations, entity_count + len(duplicates), snapshots, duplicates)


def _add_duplicates(triples: Ids, duplicates: Ids, rng: Generator) -> Ids:
    """Give some facts of entities to their duplicates as well, and some to them alone."""
    for column in (0, 2):
        duplicate_of = np.full(triples[:, column].max(initial=0) + 1, -1)
        originals = duplicates[:, 0]
        is_used = originals < len(duplicate_of)
        duplicate_of[originals[is_used]] = duplicates[is_used, 1]
        duplicate = duplicate_of[triples[:, column]]
        has_duplicate = duplicate >= 0
        draw = rng.random(len(triples))
        copied = triples[has_duplicate & (draw >= _ORIGINAL_ONLY_SHARE)]
        copied[:, column] = duplicate[has_duplicate & (draw >= _ORIGINAL_ONLY_SHARE)]
        triples = np.concatenate(
            [triples[~has_duplicate | (draw < 1 - _DUPLICATE_ONLY_SHARE)], copied]
        )
    return triples


def _draw_known_facts(
    world: SyntheticWorld,
    in_graph: Flags,
    rendering: FactRendering,
    config: SampleConfig,
    rng: Generator,
) -> _Facts:
    """Draw the facts that the graph has, with its errors and its granularity."""
    heads, tails = world.facts[rendering.fact]
    known = rng.random(len(heads)) >= config.missing_share
    heads, tails = heads[known], tails[known]
    wrong = rng.random(len(heads)) < config.wrong_share
    # Wrong tails are those of other facts of the type: of the right kind, and as popular.
    tails = np.where(wrong, rng.permutation(tails), tails)
    for _ in range(rendering.lifted):
        tails = world.container[tails]
    # After lifting, a tail may be one that is not in the graph, or the head itself.
    kept = in_graph[heads] & in_graph[tails] & (heads != tails)
    heads, tails = heads[kept], tails[kept]
    first_possible = np.maximum(world.cohort[heads], world.cohort[tails])
    return _Facts(heads, tails, draw_arrivals(first_possible, config, rng))


def _render_directly(facts: _Facts, relation: Ids, *, inverted: bool) -> Ids:
    heads, tails, arrival = facts
    if inverted:
        heads, tails = tails, heads
    return _stack_columns(heads, relation, tails, arrival)


def _render_reified(facts: _Facts, to_head: int, to_tail: Ids, first_id: int) -> Ids:
    """Express each fact by an intermediate entity, such as a marriage, with two triples."""
    heads, tails, arrival = facts
    intermediate = first_id + np.arange(len(heads))
    head_triples = _stack_columns(intermediate, to_head, heads, arrival)
    tail_triples = _stack_columns(intermediate, to_tail, tails, arrival)
    return np.concatenate([head_triples, tail_triples])


def _stack_columns(heads: Ids, relation: Ids | int, tails: Ids, arrival: Ids) -> Ids:
    rows = np.empty((len(heads), 4), dtype=ID_TYPE)
    for column, values in enumerate((heads, relation, tails, arrival)):
        rows[:, column] = values
    return rows


def _drop_late_and_repeated(triples: Ids, snapshots: int) -> Ids:
    """Drop triples that arrive after the last snapshot, and all but the first of equal ones."""
    triples = triples[triples[:, 3] < snapshots]
    # In order of arrival, the first of equal triples is the earliest. 16 bits are sorted by radix.
    triples = triples[np.argsort(triples[:, 3].astype(np.uint16), kind="stable")]
    return triples[np.unique(_number_triples(triples), return_index=True)[1]]


def _number_triples(triples: Ids) -> Ids:
    """Make one number of head, relation and tail, in the order of all three."""
    number = triples[:, 0].astype(np.int64)
    for column in (1, 2):
        number *= int(triples[:, column].max(initial=0)) + 1
        number += triples[:, column]
    return number


def _split_by_snapshot(triples: Ids, config: SampleConfig, rng: Generator) -> tuple[Ids, ...]:
    arrival = triples[:, 3]
    rows = [
        np.concatenate([np.flatnonzero(arrival == t), draw_repeats(arrival, t, config, rng)])
        for t in range(config.snapshots)
    ]
    return tuple(triples[rng.permutation(row_numbers), :3] for row_numbers in rows)
