"""Filters: which statements are kept, and the counts of the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.errors import ConfigError
from everalign.io import ReadOptions, TripleReader

Write = Callable[[str, str | bytes], Path]

ROWS = {
    "knows": "<http://e.org/Ada> <http://e.org/knows> <http://e.org/Bo> .",
    "type": "<http://e.org/Ada> <http://w3.org/ns#type> <http://x.org/Person> .",
    "blank": "<http://e.org/Ada> <http://e.org/home> _:b0 .",
    "english": '<http://e.org/Ada> <http://e.org/name> "Ada"@en-GB .',
    "french": '<http://e.org/Ada> <http://e.org/name> "Ada"@fr .',
    "plain": '<http://e.org/Ada> <http://e.org/name> "Ada" .',
    "year": '<http://x.org/Ada> <http://e.org/born> "1815"^^<http://w3.org/ns#gYear> .',
}
ALL = set(ROWS)


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ([], ALL),
        (["predicate=http://e.org/knows"], {"knows"}),
        (["predicate=http://e.org/know"], set()),
        (["predicate=http://e.org/kn*"], {"knows"}),
        (["predicate=http://e.org/"], ALL - {"type"}),
        (["predicate=http://w3.org/ns#", "predicate=http://e.org/born"], {"type", "year"}),
        (["not-predicate=http://w3.org/ns#type"], ALL - {"type"}),
        (
            ["predicate=http://e.org/", "not-predicate=http://e.org/name"],
            {"knows", "blank", "year"},
        ),
        (["namespace=http://e.org/"], {"knows", "english", "french", "plain"}),
        (["namespace=http://e.org/", "namespace=_:"], ALL - {"type", "year"}),
        (["language=en"], {"knows", "type", "blank", "english"}),
        (["language=FR", "language="], ALL - {"english"}),
        (["graph=urn:g"], ALL),
    ],
)
def test_statements_are_filtered_and_counted(
    write: Write, rules: list[str], kept: set[str]
) -> None:
    reader = TripleReader(
        write("left.nt", "\n".join(ROWS.values())), options=ReadOptions.parse(rules)
    )
    parts = list(reader.statements())
    found = {(*row[:2], row[2].lower()) for p in parts for row in p.triples + p.literals}
    expected = set()
    for name in kept:
        (part,) = TripleReader(write("one.nt", ROWS[name])).statements()
        expected |= {(*row[:2], row[2].lower()) for row in part.triples + part.literals}
    assert found == expected
    assert (reader.triples_read + reader.literals_read, reader.filtered_count) == (
        len(kept),
        len(ROWS) - len(kept),
    )


@pytest.mark.parametrize("rule", ["predicates=x", "x", "predicate=", "namespace="])
def test_an_invalid_rule_is_refused(rule: str) -> None:
    with pytest.raises(ConfigError, match=repr(rule)):
        ReadOptions.parse([rule])
