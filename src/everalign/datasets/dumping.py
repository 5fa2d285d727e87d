"""A static dataset with IRIs, such as DBP15K → two dumps in N-Triples, seeds and gold links.

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
from everalign.rdf import TripleReader, read_links, whole_file, write_links

RELATION = "urn:relation:"  # these datasets do not tell the IRIs of relations


def dump(directory: str | Path, out: str | Path, *, share: float = 0.2, seed: int = 0) -> None:
    """Write left.nt.gz, right.nt.gz, seeds.nt (a share of the gold links) and gold.nt."""
    if not 0 <= share <= 1:
        raise ConfigError(f"the share of seeds must lie between 0 and 1, not {share}")
    source, target = Path(directory), Path(out)
    if not source.is_dir():
        raise InputError("is not a directory", path=source)
    names = [_names(source / f"ent_ids_{side}") for side in (1, 2)]
    pairs = [
        (_iri(names[0], line.left, source), _iri(names[1], line.right, source), 1.0)
        for line in read_links(source / "ref_ent_ids")
    ]
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    shuffled, seeds = [pairs[number] for number in order], round(share * len(pairs))
    target.mkdir(parents=True, exist_ok=True)
    for name, here, side in zip(("left", "right"), names, (1, 2), strict=True):
        with (
            whole_file(target / f"{name}.nt.gz") as file,
            gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed,
        ):
            packed.writelines(_lines(source / f"triples_{side}", here))
    for name, links in (("seeds", shuffled[:seeds]), ("gold", shuffled[seeds:])):
        with whole_file(target / f"{name}.nt") as file:
            write_links(links, file, "nt")


def _names(path: Path) -> dict[str, str]:
    return {line.left: line.right for line in read_links(path)}


def _lines(path: Path, names: Mapping[str, str]) -> Iterator[bytes]:
    triples: Iterable[tuple[str, str, str]] = TripleReader(path)
    for head, relation, tail in triples:
        left, right = _iri(names, head, path), _iri(names, tail, path)
        yield f"<{left}> <{RELATION}{relation}> <{right}> .\n".encode()


def _iri(names: Mapping[str, str], number: str, path: Path) -> str:
    if number not in names:
        raise InputError(f"names an entity without an IRI: {number!r}", path=path)
    return names[number]
