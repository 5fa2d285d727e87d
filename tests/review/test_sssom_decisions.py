"""Decisions in SSSOM files, out and in again."""

from __future__ import annotations

import csv
from io import BytesIO
from pathlib import Path

import pytest

from everalign import Aligner, Config, ExportStyle, InputError, Prefixes
from everalign.io.links import check_sssom

L, R = "http://left.org/", "http://right.org/"
STYLE = ExportStyle(prefixes=Prefixes({"l": L, "r": R}))
LEFT = [(L + head, L + "in", L + tail) for head, tail in ("on", "bn", "tn", "rn", "xn")]
RIGHT = [(R + head, R + "w", R + tail) for head, tail in ("ON", "BN", "TN", "RN")]


def build_undecided(state: Path, config: Config) -> Aligner:
    return Aligner.create(state, LEFT, RIGHT, [(L + "n", R + "N")], config=config)


@pytest.fixture
def build(tmp_path: Path, toy: Config):  # type: ignore[no-untyped-def]
    def build_aligner(name: str) -> Aligner:
        return build_undecided(tmp_path / name, toy)

    return build_aligner


def decide(aligner: Aligner) -> None:
    orcid = "orcid:0000-0002-1825-0097"
    aligner.answer(L + "o", "left", "same", [R + "O"], author=orcid, comment="both capitals")
    aligner.answer(L + "b", "left", "none of these", [R + "T", R + "R"], author="Bo | Ann")
    aligner.answer(L + "x", "left", "no counterpart", author=orcid)
    aligner.answer(R + "R", "right", "no counterpart", comment="a\ttab")
    aligner.answer(L + "t", "left", "unsure", author="ada")


def export(aligner: Aligner, path: Path) -> Path:
    stream = BytesIO()
    aligner.export(stream, "sssom", STYLE)
    path.write_bytes(stream.getvalue())
    return path


def list_decisions(aligner: Aligner) -> set[tuple[str, ...]]:
    return {
        (row.kind, row.left, row.right, row.author, row.comment, row.decided_at[:10])
        for row in aligner.decisions()
        if row.kind != "unsure"
    }


@pytest.mark.parametrize("moment", ["waiting", "applied", "updated"])
def test_round_trip(build, tmp_path: Path, moment: str) -> None:  # type: ignore[no-untyped-def]
    one, two = build("one"), build("two")
    decide(one)
    if moment == "applied":
        one.apply_decisions()
    elif moment == "updated":
        one.update()
    path = export(one, tmp_path / "one.sssom.tsv")
    assert check_sssom(path) == []
    result = two.import_decisions(path)
    assert list_decisions(two) == list_decisions(one)
    # The seed is the same in both, and is not decided again.
    assert L + "n" not in {row.left for row in result.decisions}
    assert two.import_decisions(path).decisions == ()
    two.update()
    one.update()
    assert {(x.left, x.right) for x in one.links()} == {(x.left, x.right) for x in two.links()}
    again = export(two, tmp_path / "two.sssom.tsv")

    def read_judged(file: Path) -> set[str]:
        lines = file.read_text(encoding="utf-8").splitlines()
        return {line for line in lines if "2" in line and "Manual" in line}

    assert len(read_judged(again)) == len(read_judged(path))


def test_slots(build, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    aligner = build("one")
    decide(aligner)
    lines = export(aligner, tmp_path / "a.sssom.tsv").read_text(encoding="utf-8").splitlines()
    assert '#sssom_version: "1.1"' in lines
    assert "#  orcid: https://orcid.org/" in lines
    table = [line for line in lines if not line.startswith("#")]
    rows = list(csv.DictReader(table, delimiter="\t"))
    by_pair = {(row["subject_id"], row["object_id"], row["mapping_justification"]): row
               for row in rows}  # fmt: skip
    manual = "semapv:ManualMappingCuration"
    same = by_pair["l:o", "r:O", manual]
    assert same["reviewer_id"] == "orcid:0000-0002-1825-0097"
    assert same["review_date"] == aligner.decisions()[0].decided_at[:10]
    assert same["comment"] == "both capitals"
    assert same["predicate_modifier"] == ""
    different = by_pair["l:b", "r:T", manual]
    assert different["predicate_modifier"] == "Not"
    assert (different["reviewer_id"], different["reviewer_label"]) == ("", "Bo \\| Ann")
    assert by_pair["l:x", "sssom:NoTermFound", manual]["reviewer_id"]
    assert ("sssom:NoTermFound", "r:R", manual) in by_pair
    seed = by_pair["l:n", "r:N", manual]
    assert (seed["reviewer_id"], seed["review_date"]) == ("", "")


HEAD = """\
#curie_map:
#  l: http://left.org/
#  r: http://right.org/
subject_id\tpredicate_id\tpredicate_modifier\tobject_id\tmapping_justification\tauthor_label
"""


def test_files_of_others(build, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    aligner = build("one")
    path = tmp_path / "other.sssom.tsv"
    path.write_text(
        HEAD
        + "l:b\tskos:exactMatch\t\tr:B\tsemapv:MappingReview\tAda\n"
        + "l:t\tskos:exactMatch\t\tr:T\tsemapv:LexicalMatching\t\n"
        + "l:o\towl:sameAs\tNot\tr:T\tsemapv:ManualMappingCuration\t\n"
    )
    found = aligner.import_decisions(path, author="import", comment="from a file").decisions
    assert [(row.kind, row.left, row.author, row.comment) for row in found] == [
        ("confirmed", L + "b", "Ada", "from a file"),
        ("rejected", L + "o", "import", "from a file"),
    ]
    path.write_text(HEAD + "l:zz\towl:sameAs\t\tr:B\tsemapv:ManualMappingCuration\t\n")
    with pytest.raises(InputError, match=r"other\.sssom\.tsv:5.*zz"):
        aligner.import_decisions(path)
    path.write_text(HEAD + "l:b\tskos:broadMatch\t\tr:B\tsemapv:ManualMappingCuration\t\n")
    with pytest.raises(InputError, match="broadMatch"):
        aligner.import_decisions(path)
    assert len(aligner.decisions()) == 2
