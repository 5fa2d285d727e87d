"""The state directory that the speed of a session is measured on: a dataset with readable IRIs."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from everalign import Aligner, Config
from everalign.benchmark.contea_format import ContEADataset
from everalign.io import Triple

# Triples of the last snapshot that come with the second version.
DELTA_SIZE = 100


def build_state(dataset: Path, state: Path) -> None:
    """Align all snapshots of a dataset in one version, and its last triples in a second one.

    Args:
        dataset: A dataset in the ContEA layout.
        state: The state directory to create.
    """
    data = ContEADataset.open(dataset)
    # Names are for search and not for the method: the dataset is about structure.
    config = Config(names_from_iris=False)
    names = invent_names(data)
    left, right = (_read_triples(data, side, names) for side in range(2))
    aligner = Aligner.create(
        state,
        left[:-DELTA_SIZE],
        right[:-DELTA_SIZE],
        _name_links(data.train_links(), names),
        _name_links(data.validation_links(), names),
        config,
    )
    aligner.update(left[-DELTA_SIZE:], right[-DELTA_SIZE:])


def invent_names(data: ContEADataset) -> dict[str, str]:
    """Name each entity: by its IRI, or by words of other entities where that is not known.

    Args:
        data: The dataset.

    Returns:
        An IRI for each entity of all snapshots.
    """
    names = data.read_iris()
    labels = [iri.rsplit("/", 1)[-1] for iri in names.values()]
    rng = np.random.default_rng(0)
    entities = {
        entity
        for snapshot in range(data.snapshot_count)
        for path in data.delta_files(snapshot)
        for line in path.read_text(encoding="utf-8").splitlines()
        for entity in line.split("\t")[::2]
    }
    for entity in sorted(entities - names.keys(), key=int):
        first, second = (labels[n] for n in rng.integers(len(labels), size=2))
        words = first.split("_")[0], second.split("_")[-1], entity
        names[entity] = f"http://example.org/resource/{'_'.join(words)}"
    return names


def _read_triples(data: ContEADataset, side: int, names: dict[str, str]) -> list[Triple]:
    triples = []
    for snapshot in range(data.snapshot_count):
        text = data.delta_files(snapshot)[side].read_text(encoding="utf-8")
        for line in text.splitlines():
            head, relation, tail = line.split("\t")
            triples.append((names[head], f"http://example.org/property/{relation}", names[tail]))
    return triples


def _name_links(pairs: list[tuple[str, str]], names: dict[str, str]) -> list[tuple[str, str]]:
    return [(names[left], names[right]) for left, right in pairs]
