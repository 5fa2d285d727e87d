"""Search by label in any script, and the index as something that may be lost at any time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import toy as toys

from everalign import Aligner, ChangeSet, Config
from everalign.errors import StateError
from everalign.methods import METHODS
from everalign.search import fold_text

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
LABELS = {
    "q1": "東京都", "q2": "Tokyo Tower", "q3": "نيويورك", "q4": "Straße 🚲 Zürich",
    "q5": "北京", "q6": "南京市", "q7": 'The "Edge" of _100%_', "q8": "TOKYO", "q9": "New Tokyo",
}  # fmt: skip
INDEX = Path("cache/labels.sqlite")


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toys.register_toy()
    yield
    METHODS.pop("toy", None)


def write_labels(path: Path, labels: dict[str, str]) -> Path:
    lines = []
    for entity, label in labels.items():
        text = label.replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'<http://x.org/{entity}> <{LABEL}> "{text}" .\n')
        lines.append(f"<http://x.org/{entity}> <http://x.org/is> <http://x.org/thing> .\n")
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def aligner(tmp_path: Path) -> Aligner:
    left = write_labels(tmp_path / "left.nt", LABELS)
    seeds = [("http://x.org/thing", "Ding")]
    config = Config(method="toy")
    return Aligner.create(tmp_path / "state", left, [("Tok", "ist", "Ding")], seeds, config=config)


def find(aligner: Aligner, text: str, limit: int = 20) -> list[str]:
    with aligner.session() as view:
        return [row.entity.name.rsplit("/", 1)[-1] for row in view.search(text, limit=limit)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tokyo", ["q8", "q2", "q9"]),
        ("TOKYO T", ["q2"]),
        ("okyo", ["q2", "q8", "q9"]),
        ("京", ["q1", "q5", "q6"]),
        ("京市", ["q6"]),
        ("東京", ["q1"]),
        ("يورك", ["q3"]),
        ("نيو", ["q3"]),
        ("🚲", ["q4"]),
        ("strasse", ["q4"]),
        ("ürich", ["q4"]),
        ('"Edge"', ["q7"]),
        ("_100%", ["q7"]),
        ("%", ["q7"]),
        ("*", []),
        ("", []),
        ("Oslo", []),
    ],
)
def test_what_is_found(aligner: Aligner, text: str, expected: list[str]) -> None:
    assert sorted(find(aligner, text)) == sorted(expected)


def test_labels_that_begin_with_the_text_come_first(aligner: Aligner) -> None:
    assert find(aligner, "tok")[:3] == ["Tok", "q8", "q2"]
    assert find(aligner, "tok", limit=2) == ["Tok", "q8"]
    with aligner.session() as view:
        found = view.search("tok", "left")
        assert [row.is_prefix for row in found] == [True, True, False]
        assert [row.entity.side for row in view.search("tok", "right")] == ["right"]


def test_the_index_follows_new_removed_and_changed_labels(
    aligner: Aligner, tmp_path: Path
) -> None:
    assert find(aligner, "harbour") == []
    built = (aligner.state / INDEX).stat().st_ino
    added = write_labels(tmp_path / "added.nt", {"q10": "Harbour", "q5": "Old harbour"})
    removed = tmp_path / "removed.nt"
    removed.write_text(f'<http://x.org/q5> <{LABEL}> "北京" .\n', encoding="utf-8")
    aligner.update(change=ChangeSet(added_left=added, removed_left=removed))
    assert find(aligner, "harbour") == ["q10", "q5"]
    assert find(aligner, "北京") == []
    assert (aligner.state / INDEX).stat().st_ino == built, "it was extended, not built again"


def test_a_revert_takes_labels_back(aligner: Aligner, tmp_path: Path) -> None:
    aligner.update(write_labels(tmp_path / "added.nt", {"q5": "Harbour"}))
    assert find(aligner, "harbour") == ["q5"]
    aligner.revert(0)
    assert find(aligner, "harbour") == []


def test_entities_without_facts_are_not_found(aligner: Aligner, tmp_path: Path) -> None:
    removed = write_labels(tmp_path / "removed.nt", {"q3": LABELS["q3"]})
    aligner.update(change=ChangeSet(removed_left=removed))
    assert find(aligner, "q3") == []
    assert find(aligner, LABELS["q3"]) == []


@pytest.mark.parametrize("damage", ["missing", "empty", "text", "cut", "zeros", "format"])
def test_a_damaged_index_is_built_again(aligner: Aligner, damage: str) -> None:
    assert find(aligner, "tokyo") == ["q8", "q2", "q9"]
    path = aligner.state / INDEX
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    elif damage == "format":
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 0")
        connection.close()
    else:
        replacement = {
            "empty": b"", "text": b"no database", "cut": content[: len(content) // 2],
            "zeros": content[:100] + bytes(len(content) - 100),
        }  # fmt: skip
        path.write_bytes(replacement[damage])
    assert find(aligner, "tokyo") == ["q8", "q2", "q9"]
    assert find(aligner, "東京") == ["q1"]


def test_damage_that_a_search_meets_is_repaired(aligner: Aligner) -> None:
    with aligner.session() as view:
        expected = view.search("okyo")
        assert expected
        connection = sqlite3.connect(aligner.state / INDEX)
        with connection:
            connection.execute("DROP TABLE label")
        connection.close()
        assert view.search("okyo") == expected


def test_an_index_of_another_alignment_is_not_used(aligner: Aligner, tmp_path: Path) -> None:
    other = Aligner.create(
        tmp_path / "other", toys.LEFT, toys.RIGHT, toys.SEEDS, config=Config(method="toy")
    )
    assert find(other, "Oslo") == ["Oslo"]
    (aligner.state / INDEX).parent.mkdir()
    (aligner.state / INDEX).write_bytes((other.state / INDEX).read_bytes())
    assert find(aligner, "Oslo") == []
    assert find(aligner, "tokyo") == ["q8", "q2", "q9"]


def test_a_link_out_of_the_state_directory_is_refused(aligner: Aligner, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (aligner.state / "cache").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StateError):
        find(aligner, "tokyo")


def test_several_processes_build_and_extend_it(aligner: Aligner, tmp_path: Path) -> None:
    script = f"""
from tests import toy
toy.register_toy()
from everalign import Aligner
with Aligner.open({str(aligner.state)!r}).session() as view:
    print([row.entity.name for row in view.search("okyo")])
"""

    def ask_all() -> set[str]:
        processes = [
            subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
            for _ in range(4)
        ]
        answers = {process.communicate()[0] for process in processes}
        assert all(process.returncode == 0 for process in processes)
        return answers

    assert len(ask_all()) == 1
    aligner.update(write_labels(tmp_path / "added.nt", {"q11": "Okyo Bay"}))
    (answer,) = ask_all()
    assert "q11" in answer
    assert [path.name for path in (aligner.state / "cache").iterdir()] == ["labels.sqlite"]


@given(st.text())
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold_text(fold_text(text)) == fold_text(text)
