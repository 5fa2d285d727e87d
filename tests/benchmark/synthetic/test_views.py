"""The two tables of rules: each tells facts that exist, in ways that differ."""

from __future__ import annotations

import pytest

from everalign.benchmark.synthetic.views import LEFT_RENDERINGS, RIGHT_RENDERINGS, FactRendering
from everalign.benchmark.synthetic.world import CONTAINMENT, FACT_TYPES

FACTS = {fact.name for fact in FACT_TYPES} | {f"{inner}_in" for inner, _ in CONTAINMENT}


@pytest.mark.parametrize("rules", [LEFT_RENDERINGS, RIGHT_RENDERINGS], ids=["left", "right"])
def test_each_rule_is_about_another_fact_of_the_world(rules: tuple[FactRendering, ...]) -> None:
    told = [rule.fact for rule in rules]
    assert len(set(told)) == len(told)
    assert set(told) < FACTS


def test_every_fact_is_told_by_some_side() -> None:
    assert {rule.fact for rule in LEFT_RENDERINGS + RIGHT_RENDERINGS} == FACTS


def test_no_relation_has_the_same_name_on_both_sides() -> None:
    left, right = (
        {name for rule in rules for name in rule.all_relations}
        for rules in (LEFT_RENDERINGS, RIGHT_RENDERINGS)
    )
    assert not left & right
