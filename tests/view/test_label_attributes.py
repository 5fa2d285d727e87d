"""Labels of entities that have no attribute that is called label, name or title."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, Config
from everalign.methods import METHODS

STREETS = "http://x.org/street"
PLACES = ["Hill Road", "Mill Lane", "Park Street", "Dock Street"]


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toys.register_toy()
    yield
    METHODS.pop("toy", None)


def label_first(tmp_path: Path, lines: list[str], text: str = "", entity: str = "n1") -> str:
    """The label of an entity, or the first entity that a search finds."""
    (tmp_path / "left.nt").write_text("".join(f"{line} .\n" for line in lines), encoding="utf-8")
    aligner = Aligner.create(
        tmp_path / "state", tmp_path / "left.nt", [("A", "r", "B")], [], config=Config("toy")
    )
    with aligner.session() as view:
        if text:
            return view.search(text)[0].entity.name
        return view.label(f"http://x.org/{entity}")


def state_address(number: int, street: str) -> list[str]:
    """An address: its street tells it apart, its city does not, and its key says nothing."""
    subject = f"<http://x.org/n{number}>"
    return [
        f'{subject} <{STREETS}> "{number} {street}"',
        f'{subject} <http://x.org/city> "Oslo"',
        f'{subject} <http://x.org/key> "10{number}"',
        f'{subject} <http://x.org/note> "{street * 20}{number}"',
    ]


ADDRESSES = [
    line for number, street in enumerate(PLACES) for line in state_address(number, street)
]


def test_a_short_text_that_tells_entities_apart_is_the_label(tmp_path: Path) -> None:
    assert label_first(tmp_path, ADDRESSES) == "1 Mill Lane"


def test_it_is_searched_for(tmp_path: Path) -> None:
    assert label_first(tmp_path, ADDRESSES, "mill") == "http://x.org/n1"


def test_an_attribute_that_is_called_label_comes_first(tmp_path: Path) -> None:
    line = '<http://x.org/n1> <http://www.w3.org/2000/01/rdf-schema#label> "The Mill"'
    assert label_first(tmp_path, [*ADDRESSES, line]) == "The Mill"


def test_a_word_in_the_name_of_an_attribute_decides(tmp_path: Path) -> None:
    lines = [
        f'<http://x.org/n{n}> <http://x.org/P102_has_title> "{t}"' for n, t in enumerate("ab")
    ]
    assert label_first(tmp_path, [*ADDRESSES, *lines]) == "b"


def test_readable_iris_are_labels_unless_numbers_tell_them_apart(tmp_path: Path) -> None:
    lines = [line.replace("/n", "/The_House_of_") for line in ADDRESSES]
    assert label_first(tmp_path, lines, entity="The_House_of_1") == "1 Mill Lane"
    (tmp_path / "words").mkdir()
    for number, word in enumerate(["Ada", "Bob", "Eve", "Joe"]):
        lines = [line.replace(f"of_{number}>", f"{word}>") for line in lines]
    assert label_first(tmp_path / "words", lines, entity="The_House_Bob") == "The House Bob"


def test_labels_follow_an_update(tmp_path: Path) -> None:
    label_first(tmp_path, ADDRESSES)
    aligner = Aligner.open(tmp_path / "state")
    aligner.update(left=[("http://x.org/n9", STREETS, '"9 Quay"')])
    with aligner.session() as view:
        assert view.label("http://x.org/n9") == "9 Quay"
