"""Conversion of a static dataset with IRIs, such as DBP15K, to N-Triples and links.

ent_ids_1, ent_ids_2    id, IRI
triples_1, triples_2    head, relation, tail, as ids
ref_ent_ids             left, right, as ids: all gold links
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from everalign.errors import ConfigError, InputError
from everalign.io import TripleReader, read_links, write_atomically, write_links

# The datasets have no IRIs of relations, only their ids.
RELATION_PREFIX = "urn:relation:"


def write_dump(
    directory: str | Path, out: str | Path, *, share: float = 0.2, seed: int = 0
) -> None:
    """Write a dataset as left.nt.gz, right.nt.gz, seeds.nt and gold.nt.

    Args:
        directory: The dataset.
        out: The directory to write to; created if it does not exist.
        share: Share of the gold links that are seeds.
        seed: Random seed of the choice of seeds.

    Raises:
        ConfigError: If the share is not between 0 and 1.
        InputError: If a file is missing, or an entity has no IRI.
    """
    if not 0 <= share <= 1:
        raise ConfigError(f"share must be between 0 and 1, got {share}")
    source, target = Path(directory), Path(out)
    if not source.is_dir():
        raise InputError("is not a directory", path=source)
    left_iris, right_iris = (_read_entity_iris(source / f"ent_ids_{side}") for side in (1, 2))
    gold_links = [
        (_get_iri(left_iris, link.left, source), _get_iri(right_iris, link.right, source), 1.0)
        for link in read_links(source / "ref_ent_ids")
    ]
    order = np.random.default_rng(seed).permutation(len(gold_links)).tolist()
    shuffled, seed_count = [gold_links[row] for row in order], round(share * len(gold_links))
    target.mkdir(parents=True, exist_ok=True)
    for name, iris, side in (("left", left_iris, 1), ("right", right_iris, 2)):
        with (
            write_atomically(target / f"{name}.nt.gz") as file,
            # Without a modification time, equal datasets give equal files.
            gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as compressed,
        ):
            compressed.writelines(_format_ntriples(source / f"triples_{side}", iris))
    for name, links in (("seeds", shuffled[:seed_count]), ("gold", shuffled[seed_count:])):
        with write_atomically(target / f"{name}.nt") as file:
            write_links(links, file, "nt")


def _read_entity_iris(path: Path) -> dict[str, str]:
    # Ids and IRIs are two columns, as links are.
    return {row.left: row.right for row in read_links(path)}


def _format_ntriples(path: Path, iris: Mapping[str, str]) -> Iterator[bytes]:
    triples: Iterable[tuple[str, str, str]] = TripleReader(path)
    for head, relation, tail in triples:
        subject, value = _get_iri(iris, head, path), _get_iri(iris, tail, path)
        yield f"<{subject}> <{RELATION_PREFIX}{relation}> <{value}> .\n".encode()


def _get_iri(iris: Mapping[str, str], entity: str, path: Path) -> str:
    if entity not in iris:
        raise InputError(f"entity {entity!r} has no IRI", path=path)
    return iris[entity]
