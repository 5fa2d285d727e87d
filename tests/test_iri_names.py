"""The readable part of an IRI is a literal of its entity from the first fact to the last."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign import Aligner, ChangeSet, Config
from everalign.graph import NameIndex, Vocabulary
from everalign.graph.iri_kernels import mark_identifiers
from everalign.graph.iri_names import IRI_NAME_ATTRIBUTE, encode_iri_names, extract_iri_names
from everalign.graph.name_kernels import hash_names
from everalign.graph.name_table import HASH_KEY
from everalign.graph.packed_names import pack_names
from everalign.session import AlignmentSession
from everalign.task import UpdateContext

BASE = "http://example.org/"
IRI_PARTS = (
    *("http://", "x.org", "/", "#", "_:", "resource", "/resource/", "Q", "P", "42", "deadbeef"),
    *("12345", "tt", ":", "-", ".", "_", "%41", "é", "abc", "K2", "A", "f", "0", " ", "\x7f"),
)
ROME = [(BASE + "Rome", "in", BASE + "Italy"), (BASE + "Rome", "label", '"Roma"')]
OSLO = [(BASE + "Oslo", "in", BASE + "Q20"), (BASE + "Oslo", "label", '"Oslo"')]
RIGHT = [("Roma", "in", "Italia"), ("Oslo", "in", "Norvegia")]


@pytest.fixture
def aligner(tmp_path: Path) -> Aligner:
    config = Config(method="evidence")
    return Aligner.create(tmp_path / "state", ROME, RIGHT, config=config)


def list_literals(aligner: Aligner) -> set[tuple[str, str, str]]:
    """The attribute triples of the left graph that a method is given."""
    with AlignmentSession.open(aligner.state) as session:
        links = session.store.read_links()
        task = UpdateContext.from_last_version(session).build_task(links)
        names, facts = session.vocabulary("left").entities, task.left_attributes
        return {
            (
                names[entity].removeprefix(BASE),
                facts.attributes[attribute],
                facts.literals[name],
            )
            for entity, attribute, name in facts.triples.tolist()
        }


def read_literal_ids(aligner: Aligner) -> dict[str, int]:
    with AlignmentSession.open(aligner.state) as session:
        return {name: number for number, name in enumerate(session.vocabulary("left").literals)}


ROME_NAMES = {
    ("Rome", "label", '"Roma"'),
    ("Rome", IRI_NAME_ATTRIBUTE, '"Rome"'),
    ("Italy", IRI_NAME_ATTRIBUTE, '"Italy"'),
}
# Q20 is an identifier and no name. The label of Oslo is the same text as its name in the IRI.
OSLO_NAMES = {("Oslo", "label", '"Oslo"'), ("Oslo", IRI_NAME_ATTRIBUTE, '"Oslo"')}


def test_new_entities_get_their_names_and_no_id_shifts(aligner: Aligner) -> None:
    assert list_literals(aligner) == ROME_NAMES
    before = read_literal_ids(aligner)
    (report,) = aligner.update(left=OSLO).reports
    assert list_literals(aligner) == ROME_NAMES | OSLO_NAMES
    after = read_literal_ids(aligner)
    assert {name: after[name] for name in before} == before
    # They are no facts.
    assert (report.left_added_triples, report.added_literals) == (1, 1)
    assert report.left_added_entities == 2


def test_a_removed_entity_has_no_name_until_it_comes_back(aligner: Aligner) -> None:
    aligner.update(left=OSLO)
    aligner.update(change=ChangeSet(removed_left_entities=[BASE + "Oslo"]))
    assert list_literals(aligner) == ROME_NAMES
    aligner.update(left=OSLO)
    assert list_literals(aligner) == ROME_NAMES | OSLO_NAMES


def test_an_entity_that_was_reverted_has_its_name_when_it_comes_back(aligner: Aligner) -> None:
    aligner.update(left=OSLO)
    aligner.revert(0)
    assert list_literals(aligner) == ROME_NAMES
    aligner.update(left=OSLO)
    assert list_literals(aligner) == ROME_NAMES | OSLO_NAMES


def test_what_is_added_and_removed_at_once_has_no_effect(aligner: Aligner, tmp_path: Path) -> None:
    patch = tmp_path / "nothing.rdfp"
    fact = f"<{BASE}Bergen> <{BASE}in> <{BASE}Norway> ."
    patch.write_text(f"A {fact}\nD {fact}\n")
    assert aligner.update(left=patch).reports == ()
    assert aligner.status().version == 0


def test_names_are_not_taken_from_iris_unless_wanted(tmp_path: Path) -> None:
    config = Config(method="evidence", names_from_iris=False)
    aligner = Aligner.create(tmp_path / "state", ROME, RIGHT, config=config)
    assert list_literals(aligner) == {("Rome", "label", '"Roma"')}


@given(
    st.lists(
        st.one_of(
            st.lists(st.sampled_from(IRI_PARTS), min_size=1, max_size=8).map("".join),
            st.text(st.sampled_from("abcfgQPL0123456789-:.AZ"), min_size=1, max_size=10).map(
                "http://x.org/{}".format
            ),
        ),
        min_size=1,
    )
)
def test_what_is_left_out_at_once_has_no_readable_name(entities: list[str]) -> None:
    packed = pack_names(entities)
    marks = mark_identifiers(packed.heap, packed.offsets)
    names = extract_iri_names(entities)
    assert [name for name, mark in zip(names, marks, strict=True) if mark and name] == []


def test_common_identifiers_are_left_out_at_once() -> None:
    entities = ["_:b0", *(f"http://x.org/entity/{code}" for code in ("Q42", "00ab12cd", "77"))]
    packed = pack_names(entities)
    assert mark_identifiers(packed.heap, packed.offsets).all()


def test_packed_names_are_encoded_as_others_are() -> None:
    iris = [f"http://x.org/{name}" for name in ("Ada_Lovelace", "Q42", "00ab12cd", "Zürich")]
    encoded = []
    for entities in (NameIndex(), NameIndex(iris)):
        if not len(entities):
            packed = pack_names(iris)
            entities.get_or_add_packed(packed, hash_names(packed.heap, packed.offsets, HASH_KEY))
        vocabulary = Vocabulary(entities=entities)
        rows = encode_iri_names(vocabulary, known_count=0)
        encoded.append((rows.tolist(), list(vocabulary.literals)))
    assert encoded[0] == encoded[1] == ([[0, 0, 0], [3, 0, 1]], ['"Ada Lovelace"', '"Zürich"'])
