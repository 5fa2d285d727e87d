"""Two large graphs and reference links → a dataset of snapshots, written to a directory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from everalign.datasets.beginning import Sides, begin
from everalign.datasets.config import BuildConfig
from everalign.datasets.growth import Mask
from everalign.datasets.sources import Sources, read_graph, read_references
from everalign.errors import ConfigError, InputError
from everalign.graph import IntArray, Vocabulary
from everalign.progress import Progress, silent
from everalign.rdf import NewDataset, Triple
from everalign.rdf.layout import refuse_taken

# The gold links of the first snapshot become train, validation and test links 2:1:7.
TRAIN_PARTS, VALID_PARTS, PARTS = 2, 1, 10


@dataclass(frozen=True)
class Built:
    """What was left out of a dataset."""

    literals: int
    """Triples with a literal."""
    unknown_links: int
    """Reference links with an entity that no triple has."""
    contradicting_links: int
    """Reference links of an entity that has another one as well."""


@dataclass(frozen=True)
class _Snapshot:
    """What a snapshot adds: triples of either side, and gold links."""

    left: IntArray
    right: IntArray
    gold: IntArray


def build(
    sources: Sources,
    directory: str | Path,
    config: BuildConfig | None = None,
    progress: Progress = silent,
) -> Built:
    """Build a dataset; the same files and settings give the same dataset.

    >>> from tempfile import TemporaryDirectory
    >>> from everalign.rdf import ContEADataset, write_rows
    >>> ring = [(n, (n + step) % 40) for n in range(40) for step in (1, 2, 3)]
    >>> with TemporaryDirectory() as scratch:
    ...     files = Sources(*(Path(scratch, name) for name in ("left", "right", "links")))
    ...     write_rows(files.left, [(f"l{a}", "r", f"l{b}") for a, b in ring])
    ...     write_rows(files.right, [(f"e{a}", "s", f"e{b}") for a, b in ring])
    ...     write_rows(files.links, [(f"l{n}", f"e{n}") for n in range(40)])
    ...     _ = build(files, f"{scratch}/rings", BuildConfig(snapshots=2, base_links=8))
    ...     ContEADataset.open(f"{scratch}/rings").snapshots
    2
    """
    config = config or BuildConfig()
    refuse_taken(Path(directory))
    left = read_graph(sources.left, sources.base_left, progress)
    right = read_graph(sources.right, sources.base_right, progress)
    references = read_references(sources.links, left, right)
    links_rng, *side_rngs = (default_rng(seed) for seed in SeedSequence(config.seed).spawn(3))
    sides = begin((left, right), references.pairs, config, links_rng)
    snapshots = _grown(sides, references.pairs, config, side_rngs, progress)
    gold = _split(snapshots[0].gold, links_rng, sources.links)
    with NewDataset.begun(directory) as dataset:
        _write(dataset, snapshots, gold, _Namer(left.names, right.names), progress)
        dataset.write_readme(_readme(config))
    literals = left.literals + right.literals
    return Built(literals, references.unknown, references.contradicting)


def _grown(
    sides: Sides, links: IntArray, config: BuildConfig, rngs: list[Generator], progress: Progress
) -> list[_Snapshot]:
    """All snapshots, each as what it adds to the one before."""
    left, right = (rng.permutation(side.base()) for side, rng in zip(sides, rngs, strict=True))
    here = _both_present(links, sides)
    snapshots = [_Snapshot(left, right, links[here])]
    for t in range(1, config.snapshots):
        progress("growing", t, config.snapshots)
        left, right = (
            side.grow(config.growth, rng) for side, rng in zip(sides, rngs, strict=True)
        )
        if len(left) + len(right) == 0:
            raise ConfigError(
                f"the graphs are used up after {t} snapshots: ask for fewer, or less growth"
            )
        before, here = here, _both_present(links, sides)
        snapshots.append(_Snapshot(left, right, links[here & ~before]))
    return snapshots


def _both_present(links: IntArray, sides: Sides) -> Mask:
    return sides[0].present[links[:, 0]] & sides[1].present[links[:, 1]]


def _split(gold: IntArray, rng: Generator, path: Path) -> tuple[IntArray, IntArray, IntArray]:
    """The gold links of the first snapshot as train, validation and test links."""
    if len(gold) < PARTS:
        problem = f"only {len(gold)} links join entities of the first snapshot"
        raise InputError(f"{problem}; {PARTS} are the least that can be split", path=path)
    train = len(gold) * TRAIN_PARTS // PARTS
    valid = len(gold) * VALID_PARTS // PARTS
    shuffled = rng.permutation(gold)
    return shuffled[:train], shuffled[train : train + valid], shuffled[train + valid :]


@dataclass(frozen=True)
class _Namer:
    """Ids → names."""

    left: Vocabulary
    right: Vocabulary

    def triples(self, added: _Snapshot) -> tuple[Iterator[Triple], Iterator[Triple]]:
        return _named(added.left, self.left), _named(added.right, self.right)

    def links(self, pairs: IntArray) -> Iterator[tuple[str, str]]:
        left, right = self.left.entities, self.right.entities
        return ((left[a], right[b]) for a, b in pairs.tolist())


def _named(rows: IntArray, names: Vocabulary) -> Iterator[Triple]:
    entities, relations = names.entities, names.relations
    return ((entities[h], relations[r], entities[t]) for h, r, t in rows.tolist())


def _write(
    dataset: NewDataset,
    snapshots: list[_Snapshot],
    gold: tuple[IntArray, IntArray, IntArray],
    named: _Namer,
    progress: Progress,
) -> None:
    base, *later = snapshots
    dataset.write_base(*named.triples(base), *map(named.links, gold))
    test = gold[2]
    for t, snapshot in enumerate(later, start=1):
        progress("writing snapshots", t, len(snapshots))
        test = np.concatenate([test, snapshot.gold])
        links = named.links(test), named.links(snapshot.gold)
        dataset.write_batch(t, *named.triples(snapshot), *links)


def _readme(config: BuildConfig) -> str:
    settings = "\n".join(f"{name} = {value}" for name, value in asdict(config).items())
    return (
        "Snapshots of two larger graphs, built by everalign.datasets with these settings;\n"
        f"the same graphs and settings give the same files.\n\n{settings}\n"
    )
