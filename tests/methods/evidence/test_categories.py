"""Classes and shared values: which correspond, and what their conflicts say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from everalign import Aligner
from everalign.graph import Graph
from everalign.methods.evidence.adjacency import build_adjacency
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.categories import (
    CATEGORY_COLUMNS,
    align_categories,
    compare_categories,
    find_category_keys,
    list_categories,
)
from everalign.methods.evidence.config import EvidenceParameters

CONFIG = EvidenceParameters()
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
OVERLAP_LEFT, OVERLAP_RIGHT, CONFLICT_LEFT, CONFLICT_RIGHT = range(len(CATEGORY_COLUMNS))


def build_typed_graph(classes: list[int], class_count: int) -> Graph:
    """Entities 0, 1, … of the given classes, which are numbered behind them."""
    first_class = len(classes)
    rows = [(entity, 0, first_class + of_class) for entity, of_class in enumerate(classes)]
    rows += [(first_class + number, 1, first_class + number) for number in range(class_count)]
    return Graph.from_triples(rows)


def match(pairs: list[tuple[int, int]], size: int) -> MatchProbabilities:
    left, right = np.array(sorted(pairs)).T
    return MatchProbabilities.from_pairs(left, right, np.ones(len(left), np.float32), (size, size))


# Six cities and six persons; on the right, persons come first.
LEFT = build_typed_graph([0] * 6 + [1] * 6, 2)
RIGHT = build_typed_graph([1] * 6 + [0] * 6, 2)
CLASSES = np.array([12, 13], dtype=np.int32)
GRAPHS = build_adjacency(LEFT, CONFIG), build_adjacency(RIGHT, CONFIG)
KEYS = (
    find_category_keys(GRAPHS[0], CLASSES, min_size=5),
    find_category_keys(GRAPHS[1], CLASSES, min_size=5),
)


def test_a_class_is_a_category_if_enough_entities_have_it() -> None:
    assert [len(keys) for keys in KEYS] == [2, 2]
    assert len(find_category_keys(GRAPHS[0], CLASSES, min_size=7)) == 0
    of_entities = list_categories(GRAPHS[0], np.array([0, 11, 12]), KEYS[0])
    assert np.diff(of_entities.start).tolist() == [1, 1, 0]
    assert of_entities.category[0] != of_entities.category[1]


def test_inclusions_are_shares_of_matched_instances() -> None:
    # All cities match cities; one person matches a city.
    pairs = [(entity, entity) for entity in range(5)] + [(6, 6), (7, 7), (8, 8), (9, 5)]
    found = align_categories(GRAPHS, KEYS, match(pairs, 14), np.empty((0, 2), np.int32), CONFIG)
    prior, strength = CONFIG.inclusion_prior, CONFIG.inclusion_prior_strength
    person = list_categories(GRAPHS[0], np.array([6]), KEYS[0]).category[0]
    inclusions = found.left.inclusion[found.left.start[person] : found.left.start[person + 1]]
    expected = [(count + prior * strength) / (4 + strength) for count in (1, 3)]
    assert sorted(inclusions.tolist()) == pytest.approx(expected)
    assert found.left.unseen[person] == pytest.approx(prior * strength / (4 + strength))


def test_a_pair_of_other_classes_is_in_conflict() -> None:
    pairs = [(entity, entity) for entity in range(12)]
    found = align_categories(GRAPHS, KEYS, match(pairs, 14), np.empty((0, 2), np.int32), CONFIG)
    rows = compare_categories(GRAPHS, found, np.array([0, 0, 0]), np.array([1, 7, 12]))
    same, other, untyped = rows
    best = (6 + 0.2) / (6 + 2)
    assert same.tolist() == pytest.approx([best, best, 0, 0])
    unseen = 0.2 / (6 + 2)
    assert other.tolist() == pytest.approx([unseen, unseen, best - unseen, best - unseen])
    assert np.isnan(untyped).all()


def test_anchors_tell_as_much_as_sure_matches() -> None:
    pairs = [(entity, entity) for entity in range(12)]
    matched = align_categories(GRAPHS, KEYS, match(pairs, 14), np.empty((0, 2), np.int32), CONFIG)
    nothing = MatchProbabilities.empty((14, 14))
    given = align_categories(GRAPHS, KEYS, nothing, np.array(pairs, np.int32), CONFIG)
    for side in range(2):
        assert matched[side].counterpart.tolist() == given[side].counterpart.tolist()
        assert matched[side].inclusion.tolist() == given[side].inclusion.tolist()


@pytest.mark.slow
def test_things_of_other_classes_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    # Each place has a river and a town of one name; the files name the classes differently.
    left, right = [], []
    for number in range(60):
        name = f'"{"".join(chr(97 + (number * k) % 26) for k in (1, 3, 7, 11, 17))} {number}"'
        for kind, left_class, right_class in (("r", "River", "Fluss"), ("t", "Town", "Stadt")):
            left += [
                (f"urn:l:{kind}{number}", TYPE, f"urn:l:{left_class}"),
                (f"urn:l:{kind}{number}", "urn:name", name),
            ]
            right += [
                (f"urn:r:{kind}{number}", TYPE, f"urn:r:{right_class}"),
                (f"urn:r:{kind}{number}", "urn:name", name),
            ]
    seeds = [(f"urn:l:{kind}{n}", f"urn:r:{kind}{n}") for kind in "rt" for n in range(15)]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds)
    found = [(link.left, link.right) for link in aligner.links() if link.origin == "found"]
    correct = [pair for pair in found if pair[0].split(":")[2] == pair[1].split(":")[2]]
    assert len(correct) >= 80
    assert len(correct) == len(found)
