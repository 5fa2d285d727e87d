"""Samples: two synthetic graphs that grow, and the gold links between them.

Names are codes until somebody asks for strings, so that a sample takes a few bytes per triple.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from everalign.benchmark.synthetic.config import SampleConfig
from everalign.benchmark.synthetic.labels import (
    GREEK,
    LATIN,
    EntityLabels,
    Script,
    draw_labels,
    spell_labels,
)
from everalign.benchmark.synthetic.lines import (
    CODE_DIGITS,
    EntityCodes,
    TripleFormat,
    TripleLines,
)
from everalign.benchmark.synthetic.views import (
    LEFT_RENDERINGS,
    RIGHT_RENDERINGS,
    FactRendering,
    GraphView,
    render_view,
)
from everalign.benchmark.synthetic.world import Ids, SyntheticWorld, build_world

Triple = tuple[str, str, str]
Link = tuple[str, str]

# The number of triples per entity depends on the noise settings, so the number of entities is
# found by trial: starting from this estimate, a few trials come within a few percent.
_TRIPLES_PER_ENTITY = 3
_TRIALS = 4
# Trials of larger samples would take as long as the sample; their ratio is extrapolated instead.
_MAX_TRIAL_TRIPLES = 20_000


@dataclass(frozen=True)
class GraphStyle:
    """The conventions of a graph.

    Attributes:
        base_iri: The start of all IRIs.
        renderings: The schema.
        script: The script of the labels.
    """

    base_iri: str
    renderings: tuple[FactRendering, ...]
    script: Script


LEFT_STYLE = GraphStyle("http://left.example/", LEFT_RENDERINGS, LATIN)
RIGHT_STYLE = GraphStyle("http://right.example/", RIGHT_RENDERINGS, GREEK)


@dataclass(frozen=True, eq=False, repr=False)
class SampleGraph:
    """One graph of a sample. Triples and labels become strings on demand."""

    style: GraphStyle
    view: GraphView
    """The triples as ids."""
    codes: EntityCodes
    """The codes of the entities by id."""
    relations: list[str]
    """The IRIs of the relations by id."""
    label_seed: SeedSequence

    @property
    def entity_prefix(self) -> str:
        """What stands before the code in the IRI of an entity."""
        return f"{self.style.base_iri}entity/"

    @cached_property
    def entities(self) -> list[str]:
        """The IRIs of the entities by id."""
        prefix = self.entity_prefix
        return [f"{prefix}{code:0{CODE_DIGITS}x}" for code in self.codes.tolist()]

    def format_triples(self, snapshot: int, file_format: TripleFormat) -> Iterator[bytes]:
        """Write the triples that a snapshot adds, without a string for each name.

        Args:
            snapshot: The snapshot number.
            file_format: The format.

        Yields:
            Blocks of lines, in the order of `name_triples`.
        """
        lines = TripleLines(self.entity_prefix, self.codes, self.relations, file_format)
        return lines.format_blocks(self.view.snapshots[snapshot])

    def name_triples(self, snapshot: int) -> list[Triple]:
        """Convert the triples that a snapshot adds to IRIs.

        Args:
            snapshot: The snapshot number.

        Returns:
            Head, relation and tail of each triple.
        """
        entities, relations = self.entities, self.relations
        rows = self.view.snapshots[snapshot].tolist()
        return [
            (entities[head], relations[relation], entities[tail]) for head, relation, tail in rows
        ]

    def spell_labels(
        self, labels: EntityLabels, misspelt_share: float
    ) -> Iterator[tuple[str, str]]:
        """Spell the labels of the entities in the script of the graph.

        Args:
            labels: The labels of all entities of the world.
            misspelt_share: Share of the labels that are misspelt.

        Yields:
            Entity and label in random order. A duplicate has the label of its entity, spelt on
            its own; intermediate entities have none.
        """
        # A new generator at each call: labels are the same however often they are spelt.
        rng = default_rng(self.label_seed)
        # Later ids are those of intermediate entities, which have no label.
        named = _list_named(self.view, len(labels))
        is_used = self.view.find_first_snapshots()[named[:, 1]] < len(self.view.snapshots)
        labelled = rng.permutation(named[is_used])
        spelt = spell_labels(labels, self.style.script, labelled[:, 0], misspelt_share, rng)
        names = (self.entities[entity] for entity in labelled[:, 1].tolist())
        yield from zip(names, spelt, strict=True)


def name_view(view: GraphView, style: GraphStyle, seed: SeedSequence) -> SampleGraph:
    """Assign IRIs to the entities and relations of a view.

    Args:
        view: The triples as ids.
        style: The conventions of the graph.
        seed: The seed of the IRIs and labels.

    Returns:
        The graph.
    """
    # Two seeds: labels do not depend on how many codes were drawn.
    code_seed, label_seed = seed.spawn(2)
    # Distinct and random, so that an IRI gives no hint at its counterpart.
    codes = default_rng(code_seed).choice(16**CODE_DIGITS, view.entity_count, replace=False)
    relations = [f"{style.base_iri}property/{name}" for name in view.relations]
    return SampleGraph(style, view, codes.astype(np.uint32), relations, label_seed)


class LinkSplit(NamedTuple):
    """The gold links of a sample as pairs of ids."""

    seeds: Ids
    validation_links: Ids
    added_test_links: tuple[Ids, ...]
    """Those that each snapshot adds."""


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Two synthetic graphs that grow, and the gold links between them.

    >>> sample = generate_sample(SampleConfig(triples=1_000, snapshots=2))
    >>> head, relation, tail = sample.left(0)[0]
    >>> head.startswith("http://left.example/entity/")
    True
    >>> set(sample.gold(1)) == set(sample.gold(0)) | set(sample.new_gold(1))
    True
    """

    config: SampleConfig
    links: LinkSplit
    entity_labels: EntityLabels
    left_graph: SampleGraph
    right_graph: SampleGraph

    @cached_property
    def seeds(self) -> list[Link]:
        """Gold links to train with."""
        return self._name_links(self.links.seeds)

    @cached_property
    def validation_links(self) -> list[Link]:
        """Gold links to validate with."""
        return self._name_links(self.links.validation_links)

    @cached_property
    def added_test_links(self) -> list[list[Link]]:
        """The test links that each snapshot adds."""
        return [self._name_links(pairs) for pairs in self.links.added_test_links]

    def _name_links(self, pairs: Ids) -> list[Link]:
        left, right = self.left_graph.entities, self.right_graph.entities
        return [(left[a], right[b]) for a, b in pairs.tolist()]

    def left(self, snapshot: int) -> list[Triple]:
        """Return the triples that a snapshot adds to the left graph.

        Args:
            snapshot: The snapshot number.

        Returns:
            Head, relation and tail of each triple.
        """
        return self.left_graph.name_triples(snapshot)

    def right(self, snapshot: int) -> list[Triple]:
        """Return the triples that a snapshot adds to the right graph.

        Args:
            snapshot: The snapshot number.

        Returns:
            Head, relation and tail of each triple.
        """
        return self.right_graph.name_triples(snapshot)

    def gold(self, snapshot: int) -> list[Link]:
        """Return all test links between entities that are in the graphs at a snapshot.

        Args:
            snapshot: The snapshot number; negative numbers count from the last one.

        Returns:
            The links of this and of all earlier snapshots.
        """
        # Indexing a range resolves negative numbers, and rejects those out of range.
        last = range(len(self.added_test_links))[snapshot]
        return [link for links in self.added_test_links[: last + 1] for link in links]

    def new_gold(self, snapshot: int) -> list[Link]:
        """Return the test links that a snapshot adds.

        Args:
            snapshot: The snapshot number.

        Returns:
            The links of which at least one entity is new.
        """
        return list(self.added_test_links[snapshot])

    def left_labels(self) -> Iterator[tuple[str, str]]:
        """Spell the labels of the left graph in Latin script.

        Returns:
            Pairs of entity and label.
        """
        return self.left_graph.spell_labels(self.entity_labels, self.config.misspelt_share)

    def right_labels(self) -> Iterator[tuple[str, str]]:
        """Spell the labels of the right graph in Greek script.

        Returns:
            Pairs of entity and label.
        """
        return self.right_graph.spell_labels(self.entity_labels, self.config.misspelt_share)


def generate_sample(config: SampleConfig) -> Sample:
    """Generate a sample. Equal settings give equal samples.

    Args:
        config: The settings.

    Returns:
        The sample.

    >>> config = SampleConfig(triples=1_000)
    >>> generate_sample(config).right(0) == generate_sample(config).right(0)
    True
    """
    seeds = _Seeds(*SeedSequence(config.seed).spawn(len(_Seeds._fields)))
    entity_count = _estimate_entity_count(config, seeds)
    world, left_view, right_view = _build_views(entity_count, config, seeds)
    labels = draw_labels(world, default_rng(seeds.labels))
    left = name_view(left_view, LEFT_STYLE, seeds.left)
    right = name_view(right_view, RIGHT_STYLE, seeds.right)
    links = _split_links(left, right, len(world), config, default_rng(seeds.links))
    return Sample(config, links, labels, left, right)


class _Seeds(NamedTuple):
    """A seed for each part, so that a change of one part leaves the others as they are."""

    world: SeedSequence
    left_view: SeedSequence
    right_view: SeedSequence
    labels: SeedSequence
    left: SeedSequence
    right: SeedSequence
    links: SeedSequence
    left_duplicates: SeedSequence
    right_duplicates: SeedSequence


def _build_views(
    entity_count: int, config: SampleConfig, seeds: _Seeds
) -> tuple[SyntheticWorld, GraphView, GraphView]:
    world = build_world(entity_count, config, default_rng(seeds.world))
    left_rng, right_rng = default_rng(seeds.left_view), default_rng(seeds.right_view)
    left = render_view(
        *(world, world.on_left, LEFT_STYLE.renderings, config, left_rng),
        config.left_duplicate_share,
        default_rng(seeds.left_duplicates),
    )
    right = render_view(
        *(world, world.on_right, RIGHT_STYLE.renderings, config, right_rng),
        config.right_duplicate_share,
        default_rng(seeds.right_duplicates),
    )
    return world, left, right


def _estimate_entity_count(config: SampleConfig, seeds: _Seeds) -> int:
    """Find the number of entities that gives about the wanted number of triples, by trial."""
    target = min(config.triples, _MAX_TRIAL_TRIPLES)
    entity_count, triple_counts = target // _TRIPLES_PER_ENTITY, {}
    for _ in range(_TRIALS):
        # With the seeds of the sample: the number of triples of the chosen trial is exact.
        _, left, right = _build_views(entity_count, config, seeds)
        triple_counts[entity_count] = max(1, left.count_triples() + right.count_triples())
        entity_count = round(entity_count * target / triple_counts[entity_count])
    closest = min(triple_counts, key=lambda count: abs(triple_counts[count] - target))
    if target == config.triples:
        return closest
    return round(closest * config.triples / triple_counts[closest])


def _split_links(
    left: SampleGraph, right: SampleGraph, world_size: int, config: SampleConfig, rng: Generator
) -> LinkSplit:
    """Split the gold links into seeds, validation links and the test links of each snapshot."""
    pairs = _list_gold_pairs(left.view, right.view, world_size)
    # An entity that is missing in a graph has a first snapshot after the last one.
    linked_since = np.maximum(
        left.view.find_first_snapshots()[pairs[:, 0]],
        right.view.find_first_snapshots()[pairs[:, 1]],
    )
    # Shuffled, since ids are in order of kind and popularity.
    added = [rng.permutation(np.flatnonzero(linked_since == t)) for t in range(config.snapshots)]
    seed_count = round(config.seed_share * len(added[0]))
    test_start = seed_count + round(config.validation_share * len(added[0]))

    return LinkSplit(
        pairs[added[0][:seed_count]],
        pairs[added[0][seed_count:test_start]],
        tuple(pairs[rows] for rows in (added[0][test_start:], *added[1:])),
    )


def _list_named(view: GraphView, world_size: int) -> Ids:
    """List rows of (entity of the world, entity of the graph), duplicates last."""
    # Entities of the world have the same id in both views.
    world = np.arange(world_size)
    return np.concatenate([np.column_stack([world, world]), view.duplicates])


def _list_gold_pairs(left: GraphView, right: GraphView, world_size: int) -> Ids:
    """List all pairs of a left and a right entity that stand for the same entity of the world."""
    right_of = np.full(world_size, -1)
    right_of[right.duplicates[:, 0]] = right.duplicates[:, 1]
    named = _list_named(left, world_size)
    others = named[right_of[named[:, 0]] >= 0]
    # Those of the world first: without duplicates they are all.
    return np.concatenate(
        [named[:, ::-1], np.column_stack([others[:, 1], right_of[others[:, 0]]])]
    )
