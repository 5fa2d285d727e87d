"""Anonymised datasets: entities get random names and triples a random order.

Entity ids of benchmark datasets were assigned batch by batch, so they are correlated between
matching entities, and so is the order of lines. A method must not profit from either.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

import numpy as np

from everalign.benchmark.contea_format import ContEADataset
from everalign.cardinality import Cardinality
from everalign.errors import InputError
from everalign.graph.iri_names import extract_iri_names, quote_literal
from everalign.io import Triple, TripleReader

NamePairs = list[tuple[str, str]]
NAME_ATTRIBUTE = "name"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


class AnonymisedDataset:
    """The snapshots and links of a dataset with random names for its entities.

    Relations keep their names. Everything is determined by the seed.
    """

    def __init__(
        self,
        dataset: ContEADataset,
        seed: int,
        *,
        names: bool = False,
        cardinality: Cardinality = Cardinality.ONE_TO_ONE,
        order_seed: int | None = None,
        split_seed: int | None = None,
    ) -> None:
        """Anonymise a dataset.

        Args:
            dataset: The dataset.
            seed: Random seed of the names and the order of triples.
            names: Whether snapshot 0 includes the names in the IRIs of entities, as literals.
            cardinality: What its links have to satisfy.
            order_seed: Random seed of the order of triples, if it is another.
            split_seed: Random seed to divide train and validation links anew, in as many as there
                are; they stay as they are if None.
        """
        self.dataset = dataset
        self._seed = seed
        self._order_seed = seed if order_seed is None else order_seed
        self._split_seed = split_seed
        self._with_names = names
        self._cardinality = cardinality

    def read_delta(self, t: int) -> tuple[list[Triple], list[Triple]]:
        """Read the triples that a snapshot adds.

        Args:
            t: The snapshot number.

        Returns:
            The triples of the left and of the right graph.
        """
        left_file, right_file = self.dataset.delta_files(t)
        # IRIs are a file of the base: later snapshots have none.
        left_names, right_names = self.read_names() if self._with_names and t == 0 else ([], [])
        return (
            self._read_shuffled(left_file, 0, t) + left_names,
            self._read_shuffled(right_file, 1, t) + right_names,
        )

    def read_names(self) -> tuple[list[Triple], list[Triple]]:
        """Read the names in the IRIs of entities, as attribute triples.

        Returns:
            The triples of the left and of the right graph, sorted by random name.
        """
        iris = self.dataset.read_iris()
        names = dict(zip(iris, extract_iri_names(list(iris.values())), strict=True))
        # Sorted by random name: the order of the file of IRIs would be a hint.
        left, right = (
            sorted(
                (code, NAME_ATTRIBUTE, quote_literal(name))
                for entity, code in codes.items()
                if (name := names.get(entity)) is not None
            )
            for codes in self._codes
        )
        return left, right

    def read_snapshot(self, t: int) -> tuple[list[Triple], list[Triple]]:
        """Read all triples of a snapshot.

        Args:
            t: The snapshot number.

        Returns:
            The triples of the left and of the right graph, those of earlier snapshots first.
        """
        deltas = [self.read_delta(earlier) for earlier in range(t + 1)]
        return (
            [triple for left, _ in deltas for triple in left],
            [triple for _, right in deltas for triple in right],
        )

    def seeds(self) -> NamePairs:
        """Read the train links.

        Returns:
            Pairs of random names.

        Raises:
            InputError: If a link has an unknown entity, or an entity has two links.
        """
        return self._anonymise_links("base/train_links", self._trusted_links[0])

    def validation_links(self) -> NamePairs:
        """Read the validation links.

        Returns:
            Pairs of random names.

        Raises:
            InputError: If a link has an unknown entity, or an entity has two links.
        """
        return self._anonymise_links("base/valid_links", self._trusted_links[1])

    def gold(self, t: int) -> NamePairs:
        """Read all test links of a snapshot.

        Args:
            t: The snapshot number.

        Returns:
            Pairs of random names.

        Raises:
            InputError: If a link has an unknown entity, or an entity has two links.
        """
        file = f"batch{t}/all_test_links" if t else "base/test_links"
        return self._anonymise_links(file, self.dataset.test_links(t))

    def new_gold(self, t: int) -> NamePairs:
        """Read the test links of a snapshot that have a new entity.

        Args:
            t: The snapshot number, at least 1.

        Returns:
            The links with an entity that is not in the snapshot before.
        """
        old_left, old_right = (
            {name for head, _, tail in triples for name in (head, tail)}
            for triples in self.read_snapshot(t - 1)
        )
        return [
            (left, right)
            for left, right in self.gold(t)
            if left not in old_left or right not in old_right
        ]

    def label_entities(self, labels: Iterable[tuple[str, str]], side: int) -> list[Triple]:
        """Give entities labels that the files of the dataset have not.

        Args:
            labels: Pairs of a name in the dataset and a label.
            side: 0 for the left graph, 1 for the right.

        Returns:
            Statements of `rdfs:label` with random names.
        """
        codes = self._codes[side]
        return [
            (codes[name], RDFS_LABEL, quote_literal(label))
            for name, label in labels
            if name in codes
        ]

    def original_left_name(self, code: str) -> str:
        """Look up the name of a left entity in the dataset.

        Args:
            code: The random name of the entity.

        Returns:
            The name in the files of the dataset.
        """
        return self._original_names[0][code]

    def original_right_name(self, code: str) -> str:
        """Look up the name of a right entity in the dataset.

        Args:
            code: The random name of the entity.

        Returns:
            The name in the files of the dataset.
        """
        return self._original_names[1][code]

    def _read_shuffled(self, path: Path, side: int, t: int) -> list[Triple]:
        triples = list(_read_triples(path))
        # A generator for each file: the order does not depend on what was read before.
        order = np.random.default_rng([self._order_seed, side, t]).permutation(len(triples))
        codes = self._codes[side]
        return [
            (codes[head], relation, codes[tail])
            for head, relation, tail in (triples[number] for number in order)
        ]

    def _anonymise_links(self, file: str, pairs: NamePairs) -> NamePairs:
        left_codes, right_codes = self._codes
        path = self.dataset.directory / file
        unique = self._cardinality.unique_sides
        for side, codes, column in (("left", left_codes, 0), ("right", right_codes, 1)):
            names = [pair[column] for pair in pairs]
            unknown = next((name for name in names if name not in codes), None)
            if unknown is not None:
                raise InputError(f"{unknown!r} is not an entity of the {side} graph", path=path)
            # With two gold links of an entity that gets one at most, recall could not be 1.
            if unique[column] and len(set(names)) < len(names):
                repeated = next(name for name in names if names.count(name) > 1)
                raise InputError(
                    f"{repeated!r} has more than one link: choose another --cardinality", path=path
                )
        return [(left_codes[left], right_codes[right]) for left, right in pairs]

    @cached_property
    def _trusted_links(self) -> tuple[NamePairs, NamePairs]:
        """Train and validation links, by their names in the dataset."""
        train, validation = self.dataset.train_links(), self.dataset.validation_links()
        if self._split_seed is None:
            return train, validation
        links = train + validation
        order = np.random.default_rng(self._split_seed).permutation(len(links)).tolist()
        shuffled = [links[number] for number in order]
        return shuffled[: len(train)], shuffled[len(train) :]

    @cached_property
    def _codes(self) -> tuple[dict[str, str], dict[str, str]]:
        """The random name of each entity, by its name in the dataset."""
        # Sorted, so that the random names do not depend on the order of lines in the files.
        files = [self.dataset.delta_files(t) for t in range(self.dataset.snapshot_count)]
        left, right = (
            sorted(
                {
                    name
                    for path in paths
                    for head, _, tail in _read_triples(path)
                    for name in (head, tail)
                }
            )
            for paths in zip(*files, strict=True)
        )
        # One generator for both graphs: entities with equal ids get unrelated numbers.
        rng = np.random.default_rng(self._seed)
        return _assign_codes("l", left, rng), _assign_codes("r", right, rng)

    @cached_property
    def _original_names(self) -> tuple[dict[str, str], dict[str, str]]:
        left, right = ({code: name for name, code in codes.items()} for codes in self._codes)
        return left, right


def _read_triples(path: Path) -> Iterable[Triple]:
    """Read a file; it is empty if the snapshot adds nothing to the graph."""
    return TripleReader(path) if path.stat().st_size else []


def _assign_codes(prefix: str, names: list[str], rng: np.random.Generator) -> dict[str, str]:
    numbers = rng.permutation(len(names)).tolist()
    return {name: f"{prefix}{number}" for name, number in zip(names, numbers, strict=True)}
