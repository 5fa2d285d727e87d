"""Builder of datasets: snapshots drawn from two large graphs and reference links.

The procedure is that of section 4.1 of the ContEA paper, where snapshot 0 is DBP15K. Without a
given snapshot 0, one with similar properties is drawn: around links between entities with
enough triples, restricted to triples between linked entities.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from numpy.typing import NDArray

from everalign._progress import Progress, no_progress
from everalign.benchmark.contea_format import DatasetWriter, check_directory_free
from everalign.errors import ConfigError, InputError
from everalign.graph import IntArray, Vocabulary, encode_and_count_literals
from everalign.io import Triple, iterate_links

Mask = NDArray[np.bool_]

# The number of gold links of each dataset of DBP15K, which is the paper's snapshot 0.
MAX_BASE_LINKS = 15_000
# The gold links of snapshot 0 are split 2:1:7 into train, validation and test links, as in the
# paper.
TRAIN_PARTS, VALIDATION_PARTS, ALL_PARTS = 2, 1, 10


@dataclass(frozen=True)
class BuildConfig:
    """The settings of a build. The defaults are those of the paper.

    Raises:
        ConfigError: If a value is out of range.

    >>> BuildConfig(growth=0)
    Traceback (most recent call last):
    everalign.errors.ConfigError: growth must be greater than 0, got 0
    """

    snapshots: int = 6
    """Number of snapshots."""
    growth: float = 0.2
    """Number of adjacent triples to draw, as a share of the triples of the snapshot before."""
    seed: int = 0
    """Random seed."""
    base_links: int | None = None
    """Number of links to draw snapshot 0 around; by default half of the links whose entities
    have enough triples, at most 15,000. Ignored if snapshot 0 is given."""
    min_triples: int = 4
    """Minimum number of triples of each entity of such a link."""

    def __post_init__(self) -> None:
        if self.growth <= 0 or not math.isfinite(self.growth):
            raise ConfigError(f"growth must be greater than 0, got {self.growth}")
        minimums = {"snapshots": 1, "seed": 0, "base_links": 1, "min_triples": 1}
        for name, minimum in minimums.items():
            value = getattr(self, name)
            if value is not None and value < minimum:
                raise ConfigError(f"{name} must be at least {minimum}, got {value}")


@dataclass(frozen=True)
class SourceGraphs:
    """The input files of a build.

    Attributes:
        left: Triples of the large left graph.
        right: Triples of the large right graph.
        links: Reference links.
        base_left: Triples of the left graph at snapshot 0, if it is given.
        base_right: Triples of the right graph at snapshot 0, if it is given.

    Raises:
        InputError: If snapshot 0 is given for one of the graphs only.
    """

    left: Path
    right: Path
    links: Path
    base_left: Path | None = None
    base_right: Path | None = None

    def __post_init__(self) -> None:
        if (self.base_left is None) != (self.base_right is None):
            raise InputError(
                "snapshot 0 must be given for both graphs or for neither",
                path=self.base_left or self.base_right,
            )


@dataclass(frozen=True)
class LargeGraph:
    """All distinct triples of a large graph as ids."""

    triples: IntArray
    base_count: int | None
    """If snapshot 0 is given: its number of triples, which come first."""
    vocabulary: Vocabulary
    literal_count: int
    """Number of triples that were skipped because the tail is a literal."""

    @property
    def entity_count(self) -> int:
        """Number of entities."""
        return len(self.vocabulary.entities)


def read_large_graph(path: Path, base: Path | None, progress: Progress) -> LargeGraph:
    """Read a large graph as ids.

    Args:
        path: The triples of the graph.
        base: The triples of snapshot 0, if it is given; they need not be in the large graph.
        progress: Called with the number of bytes read.

    Returns:
        The graph.

    Raises:
        InputError: If a file cannot be read.
    """
    vocabulary = Vocabulary()
    # Snapshot 0 is read first: of equal triples its own remains, and its triples lead the table.
    base_rows, base_literals = encode_and_count_literals(base, vocabulary, progress)
    other_rows, literals = encode_and_count_literals(path, vocabulary, progress)
    rows = np.concatenate([base_rows, other_rows])
    first = find_first_occurrences(rows)
    base_count = None if base is None else int((first < len(base_rows)).sum())
    return LargeGraph(rows[first], base_count, vocabulary, literals + base_literals)


def find_first_occurrences(rows: IntArray) -> NDArray[np.intp]:
    """Find the first occurrence of each distinct row.

    Args:
        rows: A table.

    Returns:
        The row numbers in ascending order.

    >>> find_first_occurrences(np.array([[3, 1], [0, 2], [3, 1]], dtype=np.int32)).tolist()
    [0, 1]
    """
    # The sort is stable: of equal rows, the one that comes first in the table is first.
    order = np.lexsort(rows.T)
    ordered = rows[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return np.sort(order[is_first])


@dataclass(frozen=True)
class ReferenceLinks:
    """The one-to-one reference links between entities of two graphs."""

    pairs: IntArray
    unknown_count: int
    """Number of links that were skipped because no triple has one of the entities."""
    contradicting_count: int
    """Number of links that were skipped because an entity has more than one."""


def read_reference_links(path: Path, left: LargeGraph, right: LargeGraph) -> ReferenceLinks:
    """Read the reference links as ids.

    Args:
        path: The file of links.
        left: The left graph.
        right: The right graph.

    Returns:
        The links that can be used, and how many cannot.

    Raises:
        InputError: If no link is between entities of the graphs.
    """
    unknown_count = 0

    # Ids are streamed into the array, so that the names of links are never held in memory.
    def iterate_ids() -> Iterator[int]:
        nonlocal unknown_count
        for link in iterate_links(path):
            left_id = left.vocabulary.entities.find(link.left)
            right_id = right.vocabulary.entities.find(link.right)
            if left_id is None or right_id is None:
                unknown_count += 1
            else:
                yield from (left_id, right_id)

    pairs = np.fromiter(iterate_ids(), dtype=np.int32).reshape(-1, 2)
    if len(pairs) == 0:
        problem = "no link between an entity of the left graph and one of the right graph"
        raise InputError(f"{problem}; are left and right swapped?", path=path)
    # A link that is given twice does not contradict itself.
    pairs = pairs[find_first_occurrences(pairs)]
    kept = keep_unambiguous_pairs(pairs)
    return ReferenceLinks(kept, unknown_count, len(pairs) - len(kept))


def keep_unambiguous_pairs(pairs: IntArray) -> IntArray:
    """Keep the pairs whose entities are in no other pair.

    Args:
        pairs: Distinct pairs of left and right id.

    Returns:
        The pairs that are one-to-one.

    >>> keep_unambiguous_pairs(np.array([[0, 0], [1, 1], [1, 2]], dtype=np.int32)).tolist()
    [[0, 0]]
    """
    left, right = pairs[:, 0], pairs[:, 1]
    # All links of an ambiguous entity are dropped, since nothing tells which one is right.
    is_single: Mask = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    return pairs[is_single]


class GrowingGraph:
    """A large graph of which a growing part is present.

    >>> path = np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3], [3, 0, 4]], dtype=np.int32)
    >>> graph = GrowingGraph(path, np.array([True, False, False, False]))
    >>> graph.grow(1.0, np.random.default_rng(0)).tolist()
    [[1, 0, 2]]
    >>> graph.entity_present.tolist()
    [True, True, True, False, False]
    """

    def __init__(self, triples: IntArray, base: Mask) -> None:
        """Start with snapshot 0.

        Args:
            triples: All triples of the large graph.
            base: Which of them are in snapshot 0.
        """
        is_base_relation = np.zeros(1 + int(triples[:, 1].max(initial=0)), dtype=bool)
        is_base_relation[triples[base, 1]] = True
        # In the paper, the relations of all snapshots are the same.
        usable = is_base_relation[triples[:, 1]]
        self._triples = triples[usable]
        self._taken = base[usable]
        # For all entities, also those without a usable triple: reference links may have them.
        self.entity_present = np.zeros(1 + int(triples[:, [0, 2]].max(initial=0)), dtype=bool)
        self._mark_present(self._triples[self._taken])

    @property
    def triple_count(self) -> int:
        """Number of triples that are present."""
        return int(self._taken.sum())

    def base_triples(self) -> IntArray:
        """Return the triples of snapshot 0; to be called before `grow`.

        Returns:
            The triples as ids.
        """
        return self._triples[self._taken]

    def grow(self, share: float, rng: Generator) -> IntArray:
        """Add triples for the next snapshot.

        Some of the triples with one present entity are drawn; their entities become present.
        Then all triples between present entities are added.

        Args:
            share: Number of triples to draw, as a share of those that are present.
            rng: The random generator.

        Returns:
            The added triples in random order; fewer than requested where the graph is used up.
        """
        adjacent = np.flatnonzero(~self._taken & (self._head_present() | self._tail_present()))
        count = min(round(share * self.triple_count), len(adjacent))
        # The drawn triples need not be marked as taken: both entities are present now, so that the
        # next step takes them with all others.
        self._mark_present(self._triples[rng.choice(adjacent, count, replace=False)])
        added = np.flatnonzero(~self._taken & self._head_present() & self._tail_present())
        self._taken[added] = True
        # Otherwise in the order of the source file, which may be correlated between the graphs.
        rng.shuffle(added)
        return self._triples[added]

    def _mark_present(self, triples: IntArray) -> None:
        self.entity_present[triples[:, 0]] = True
        self.entity_present[triples[:, 2]] = True

    def _head_present(self) -> Mask:
        return self.entity_present[self._triples[:, 0]]

    def _tail_present(self) -> Mask:
        return self.entity_present[self._triples[:, 2]]


LargeGraphs = tuple[LargeGraph, LargeGraph]
GrowingGraphs = tuple[GrowingGraph, GrowingGraph]


def start_growing_graphs(
    graphs: LargeGraphs, links: IntArray, config: BuildConfig, rng: Generator
) -> GrowingGraphs:
    """Create both graphs at snapshot 0.

    Args:
        graphs: The large graphs.
        links: The reference links.
        config: The settings of the build.
        rng: The random generator.

    Returns:
        The left and the right graph.

    Raises:
        ConfigError: If there are fewer links to draw than requested.
        InputError: If snapshot 0 of a graph is empty.
    """
    left, right = graphs
    if left.base_count is not None:
        bases = _given_base_mask(left), _given_base_mask(right)
    else:
        drawn = _draw_base_links(graphs, links, config, rng)
        bases = (
            _base_mask_around(left, drawn[:, 0], links[:, 0]),
            _base_mask_around(right, drawn[:, 1], links[:, 1]),
        )
    for side, base in zip(("left", "right"), bases, strict=True):
        if not base.any():
            raise InputError(f"snapshot 0 of the {side} graph has no triples")
    return GrowingGraph(left.triples, bases[0]), GrowingGraph(right.triples, bases[1])


def _given_base_mask(graph: LargeGraph) -> Mask:
    return np.arange(len(graph.triples)) < (graph.base_count or 0)


def _draw_base_links(
    graphs: LargeGraphs, links: IntArray, config: BuildConfig, rng: Generator
) -> IntArray:
    """Draw links between entities with enough triples."""
    left, right = (_count_degrees(graph) >= config.min_triples for graph in graphs)
    eligible = links[left[links[:, 0]] & right[links[:, 1]]]
    # By default, half of the links are left for later snapshots.
    count = config.base_links or min(MAX_BASE_LINKS, (len(eligible) + 1) // 2)
    if count > len(eligible):
        raise ConfigError(
            f"base_links is {count}, but only {len(eligible)} links are between entities with "
            f"at least {config.min_triples} triples each"
        )
    return eligible[rng.choice(len(eligible), count, replace=False)]


def _count_degrees(graph: LargeGraph) -> IntArray:
    degrees = np.zeros(graph.entity_count, dtype=np.int32)
    for column in (0, 2):
        degrees += np.bincount(graph.triples[:, column], minlength=graph.entity_count).astype(
            np.int32
        )
    return degrees


def _base_mask_around(graph: LargeGraph, drawn: IntArray, linked: IntArray) -> Mask:
    """Find the triples of snapshot 0: those between drawn entities and linked neighbours."""
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    # Tails are linked entities only: as in the paper, nearly all entities of snapshot 0 have a
    # counterpart.
    selected = (
        _entity_mask(drawn, graph.entity_count)[head]
        & _entity_mask(linked, graph.entity_count)[tail]
    )
    present = _entity_mask(graph.triples[selected][:, [0, 2]], graph.entity_count)
    # As in later snapshots, all triples between present entities are added.
    return present[head] & present[tail]


def _entity_mask(entities: IntArray, size: int) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[entities] = True
    return mask


@dataclass(frozen=True)
class BuildResult:
    """The number of triples and links that a build has skipped."""

    literals: int
    """Triples with a literal."""
    unknown_links: int
    """Reference links with an entity that no triple has."""
    contradicting_links: int
    """Reference links of entities with more than one link."""


@dataclass(frozen=True)
class _Snapshot:
    """The triples of both graphs and the gold links that a snapshot adds."""

    left: IntArray
    right: IntArray
    gold_links: IntArray


def build_dataset(
    sources: SourceGraphs,
    directory: str | Path,
    config: BuildConfig | None = None,
    progress: Progress = no_progress,
) -> BuildResult:
    """Build a dataset. Equal files and settings give equal datasets.

    Args:
        sources: The input files.
        directory: The directory to write to, new or empty.
        config: The settings; by default those of the paper.
        progress: Called with the state of reading, growing and writing.

    Returns:
        What was skipped.

    Raises:
        ConfigError: If the graphs are too small for the settings.
        InputError: If an input cannot be used, or the directory is not empty.

    >>> from tempfile import TemporaryDirectory
    >>> from everalign.benchmark.contea_format import ContEADataset, write_rows
    >>> ring = [(n, (n + step) % 40) for n in range(40) for step in (1, 2, 3)]
    >>> with TemporaryDirectory() as scratch:
    ...     files = SourceGraphs(*(Path(scratch, name) for name in ("left", "right", "links")))
    ...     write_rows(files.left, [(f"l{a}", "r", f"l{b}") for a, b in ring])
    ...     write_rows(files.right, [(f"e{a}", "s", f"e{b}") for a, b in ring])
    ...     write_rows(files.links, [(f"l{n}", f"e{n}") for n in range(40)])
    ...     _ = build_dataset(files, f"{scratch}/rings", BuildConfig(snapshots=2, base_links=8))
    ...     ContEADataset.open(f"{scratch}/rings").snapshot_count
    2
    """
    config = config or BuildConfig()
    # Before the graphs are read, which may take long.
    check_directory_free(Path(directory))
    left = read_large_graph(sources.left, sources.base_left, progress)
    right = read_large_graph(sources.right, sources.base_right, progress)
    references = read_reference_links(sources.links, left, right)
    # A generator each for the links and the two graphs: a change of one leaves the others alone.
    links_rng, *graph_rngs = (default_rng(seed) for seed in SeedSequence(config.seed).spawn(3))
    graphs = start_growing_graphs((left, right), references.pairs, config, links_rng)
    snapshots = _grow_snapshots(graphs, references.pairs, config, graph_rngs, progress)
    base_links = _split_gold_links(snapshots[0].gold_links, links_rng, sources.links)
    names = _NameLookup(left.vocabulary, right.vocabulary)
    with DatasetWriter.create(directory) as dataset:
        _write_snapshots(dataset, snapshots, base_links, names, progress)
        dataset.write_readme(_describe_build(config))
    literals = left.literal_count + right.literal_count
    return BuildResult(literals, references.unknown_count, references.contradicting_count)


def _grow_snapshots(
    graphs: GrowingGraphs,
    links: IntArray,
    config: BuildConfig,
    rngs: list[Generator],
    progress: Progress,
) -> list[_Snapshot]:
    left, right = (
        rng.permutation(graph.base_triples()) for graph, rng in zip(graphs, rngs, strict=True)
    )
    link_present = _find_present_links(links, graphs)
    snapshots = [_Snapshot(left, right, links[link_present])]
    for t in range(1, config.snapshots):
        progress("growing", t, config.snapshots)
        left, right = (
            graph.grow(config.growth, rng) for graph, rng in zip(graphs, rngs, strict=True)
        )
        if len(left) + len(right) == 0:
            raise ConfigError(
                f"the graphs have no more triples after {t} snapshots; "
                "use fewer snapshots or less growth"
            )
        before, link_present = link_present, _find_present_links(links, graphs)
        snapshots.append(_Snapshot(left, right, links[link_present & ~before]))
    return snapshots


def _find_present_links(links: IntArray, graphs: GrowingGraphs) -> Mask:
    left, right = graphs
    return left.entity_present[links[:, 0]] & right.entity_present[links[:, 1]]


def _split_gold_links(
    gold_links: IntArray, rng: Generator, path: Path
) -> tuple[IntArray, IntArray, IntArray]:
    """Split the gold links of snapshot 0 into train, validation and test links."""
    # With fewer links, the part for validation would be rounded down to none.
    if len(gold_links) < ALL_PARTS:
        raise InputError(
            f"snapshot 0 has {len(gold_links)} links, expected at least {ALL_PARTS}", path=path
        )
    train_end = len(gold_links) * TRAIN_PARTS // ALL_PARTS
    validation_end = train_end + len(gold_links) * VALIDATION_PARTS // ALL_PARTS
    shuffled = rng.permutation(gold_links)
    return shuffled[:train_end], shuffled[train_end:validation_end], shuffled[validation_end:]


@dataclass(frozen=True)
class _NameLookup:
    """Converts ids to names."""

    left: Vocabulary
    right: Vocabulary

    def name_triples(self, added: _Snapshot) -> tuple[Iterator[Triple], Iterator[Triple]]:
        return _name_triples(added.left, self.left), _name_triples(added.right, self.right)

    def name_links(self, pairs: IntArray) -> Iterator[tuple[str, str]]:
        # A generator: the names of a file are never in memory at once.
        left_names, right_names = self.left.entities, self.right.entities
        return ((left_names[left], right_names[right]) for left, right in pairs.tolist())


def _name_triples(rows: IntArray, names: Vocabulary) -> Iterator[Triple]:
    entities, relations = names.entities, names.relations
    return (
        (entities[head], relations[relation], entities[tail])
        for head, relation, tail in rows.tolist()
    )


def _write_snapshots(
    dataset: DatasetWriter,
    snapshots: list[_Snapshot],
    base_links: tuple[IntArray, IntArray, IntArray],
    names: _NameLookup,
    progress: Progress,
) -> None:
    base, *later = snapshots
    dataset.write_base(*names.name_triples(base), *map(names.name_links, base_links))
    # Only test links grow: train and validation links are those of snapshot 0.
    test_links = base_links[2]
    for t, snapshot in enumerate(later, start=1):
        progress("writing snapshots", t, len(snapshots))
        test_links = np.concatenate([test_links, snapshot.gold_links])
        links = names.name_links(test_links), names.name_links(snapshot.gold_links)
        dataset.write_batch(t, *names.name_triples(snapshot), *links)


def _describe_build(config: BuildConfig) -> str:
    settings = "\n".join(f"{name} = {value}" for name, value in asdict(config).items())
    return (
        "Snapshots of two larger graphs, built by everalign with these settings.\n"
        f"Equal graphs and settings give equal files.\n\n{settings}\n"
    )
