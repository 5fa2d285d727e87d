"""Names alone, name vectors, and both together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.literals.graphs import texts

from everalign import Aligner, ChangeSet
from everalign._progress import no_progress
from everalign.config import Config
from everalign.errors import ConfigError, InputError
from everalign.graph import Graph
from everalign.literals import LiteralMatches
from everalign.methods import AlignmentTask, create_method

NO_LINKS = np.empty((0, 2), dtype=np.int32)
LEFT = Graph.from_triples([(0, 0, 1), (1, 0, 2), (2, 0, 3)])
RIGHT = Graph.from_triples([(0, 0, 1), (1, 0, 2), (2, 0, 3)])


def problem(left: tuple[str, ...], right: tuple[str, ...]) -> AlignmentTask:
    plain = AlignmentTask(LEFT, RIGHT, NO_LINKS, NO_LINKS)
    return replace(
        plain,
        left_attributes=texts(*left).attribute_triples,
        right_attributes=texts(*right).attribute_triples,
    )


def links(given: AlignmentTask, method: str = "names", **settings: object) -> set[tuple[int, int]]:
    made = create_method(Config(method=method, settings=settings))
    made.fit(given, no_progress)
    return set(made.candidates(given, no_progress).pairs())


def test_each_others_best_names_are_linked() -> None:
    given = problem(("Londres", "Sergueï Choïgou", "Paris"), ("Paris", "London", "Sergey Shoygu"))
    assert links(given) == {(0, 1), (1, 2), (2, 0)}


def test_entities_of_one_name_are_left_alone() -> None:
    assert links(problem(("Paris", "Berlin"), ("Paris", "Paris ", "Berlin"))) == {(1, 2)}


def test_a_name_of_thousands_takes_no_pairs_of_all_of_them() -> None:
    from everalign.methods.names import NameSettings
    from everalign.methods.names.names import choose_by_names

    ring = Graph.from_triples([(at, 0, (at + 1) % 3000) for at in range(3000)])
    many, row = texts("Paris", "Lisbonne").attribute_triples, np.arange(3000, dtype=np.int32)
    rows = np.stack([row, np.zeros_like(row), (row == 7).astype(np.int32)], axis=1)
    named = replace(many, triples=rows)
    given = AlignmentTask(
        ring, ring, NO_LINKS, NO_LINKS, left_attributes=named, right_attributes=named
    )
    found = choose_by_names(given, NameSettings(), no_progress)
    assert len(found.pairs.left) < 20_000
    assert links(given) == {(7, 7)}


def test_trusted_entities_are_no_candidates() -> None:
    given = replace(
        problem(("Paris",), ("Paris", "Pari")), seeds=np.array([[1, 0]], dtype=np.int32)
    )
    assert links(given) == {(0, 1)}


def test_translations_are_used(tmp_path: Path) -> None:
    path = tmp_path / "words.tsv"
    path.write_text("Allemagne\tGermany\n")
    given = problem(("Allemagne", "Italie"), ("Germany", "Italy"))
    assert (0, 0) not in links(given)
    assert links(given, translations=str(path)) == {(0, 0), (1, 1)}


def test_unknown_settings_are_told() -> None:
    with pytest.raises(ConfigError, match="contea-names: unknown setting 'dimm'"):
        create_method(Config(method="contea-names", settings={"dimm": 3}))


def test_name_vectors_have_length_one_and_like_names_are_near() -> None:
    from everalign.methods.names import NameSettings
    from everalign.methods.names.names import build_entity_vectors

    given = problem(("Primal Scream", "Uruguay"), ("Uruguay", "Primal Screams", "Zanzibar"))
    vectors = build_entity_vectors(given, NameSettings(), 6)
    assert vectors.shape == (8, 6)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths[[0, 1, 4, 5, 6]], 1, atol=1e-5)
    assert lengths[[2, 3, 7]].tolist() == [0, 0, 0]
    assert (vectors[:2] @ vectors[4:7].T).argmax(axis=1).tolist() == [1, 0]


def test_the_union_needs_a_choice_from_either_side() -> None:
    pytest.importorskip("torch")
    from everalign.methods.names.contea import unite_choices
    from everalign.methods.names.names import EntityChoices

    def choices(*rows: tuple[int, int, float, bool, bool]) -> EntityChoices:
        left, right, score, there, back = zip(*rows, strict=True)
        return EntityChoices(
            LiteralMatches.from_columns(left, right, score), np.array(there), np.array(back)
        )

    names = choices((0, 0, 0.9, True, False), (1, 1, 0.8, True, True), (2, 3, 0.4, True, False))
    vectors = choices((0, 0, 0.1, False, True), (1, 2, 0.3, True, True), (2, 2, 0.2, True, False))
    found = unite_choices(names, vectors)
    # (0, 0): one way by name, the other by vector. 1 is disputed; the more alike pair wins.
    assert set(found.pairs()) == {(0, 0), (1, 1)}


LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TOWNS = ("Londres", "Bruxelles", "Varsovie", "Copenhague", "Lisbonne", "Moscou")
CITIES = ("London", "Brussels", "Warsaw", "Copenhagen", "Lisbon", "Moscow")
QUICK = {"dim": 8, "proxies": 4, "negatives": 16, "max_epochs": 2, "update_max_epochs": 1}


def rows_of(names: tuple[str, ...], prefix: str) -> list[tuple[str, str, str]]:
    """A ring of entities whose IRIs look like names and are none; all but the first have one."""
    iris = [f"http://{prefix}.org/n{number}" for number in range(len(names))]
    ring = list(zip(iris, ["next"] * len(iris), iris[1:] + iris[:1], strict=True))
    named = zip(iris[1:], names[1:], strict=True)
    return [*ring, *((iri, LABEL, f'"{name}"') for iri, name in named)]


def test_labels_reach_the_methods_that_compare_names_and_seeds_are_not_needed(
    tmp_path: Path,
) -> None:
    left, right = rows_of(TOWNS, "left"), rows_of(CITIES[:1] + CITIES[:0:-1], "right")
    aligner = Aligner.create(tmp_path / "state", left, right, config=Config(method="names"))
    found = {(link.left[-2:], link.right[-2:]) for link in aligner.links()}
    assert {("n1", "n5"), ("n3", "n3"), ("n4", "n2"), ("n5", "n1")} <= found


@pytest.mark.slow
@pytest.mark.parametrize("method", ["contea-names", "contea-names-union", "combined"])
def test_methods_with_contea_inside_read_names_and_say_when_they_train_anew(
    tmp_path: Path, method: str
) -> None:
    pytest.importorskip("torch")
    left, right = rows_of(TOWNS, "left"), rows_of(CITIES, "right")
    seeds = [(f"http://left.org/n{n}", f"http://right.org/n{n}") for n in (0, 1, 2)]
    config = Config(method=method, settings=QUICK)
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=config)
    (report,) = aligner.update(change=ChangeSet(withdrawn=seeds[:1])).reports
    assert "retrained from scratch: trusted links removed: 1" in report.notes
    if method == "contea-names-union":
        found = {(link.left[-2:], link.right[-2:]) for link in aligner.links()}
        assert {("n3", "n3"), ("n4", "n4"), ("n5", "n5")} <= found


def test_word_vectors_of_other_sizes_are_refused_and_unknown_words_are_not(tmp_path: Path) -> None:
    from everalign.methods.names import NameSettings
    from everalign.methods.names.names import build_entity_vectors

    files = {"three": "oslo 1 0 0\n", "two": "oslo 1 0\n", "strange": "2 3\nxyz 1 0 0\n"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    three, two, strange = (str(tmp_path / name) for name in files)
    given = problem(("Oslo",), ("Oslo",))
    with pytest.raises(InputError, match="have 3 and 2 numbers: they must be of one space"):
        build_entity_vectors(given, NameSettings(left_vectors=three, right_vectors=two), 4)
    vectors = build_entity_vectors(
        given, NameSettings(left_vectors=three, right_vectors=strange), 4
    )
    assert np.abs(vectors).sum(axis=1).astype(bool).tolist() == [True] + [False] * 7
