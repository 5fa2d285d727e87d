"""A full pass gives what a fresh start would give, and so does a training on its own links."""

from __future__ import annotations

import codecs
import random
from pathlib import Path

import pytest

from everalign import Aligner, ChangeSet
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.io import Triple
from everalign.state.ledger import MIN_SCORE_CHANGE

pytestmark = pytest.mark.slow

LABEL = "http://example.org/label"
Graphs = tuple[list[Triple], list[Triple]]


@pytest.fixture(scope="module")
def graphs() -> Graphs:
    """Two graphs with labels, some of which are misspelt."""
    sample = generate_sample(SampleConfig(triples=4000, snapshots=1))
    sides = []
    for triples, names in (
        (sample.left(0), sample.left_labels()),
        (sample.right(0), sample.right_labels()),
    ):
        known = {name for head, _, tail in triples for name in (head, tail)}
        labels = [(name, LABEL, f'"{text}"') for name, text in names if name in known]
        sides.append([*triples, *labels])
    return sides[0], sides[1]


@pytest.fixture(scope="module")
def seeds() -> list[tuple[str, str]]:
    return generate_sample(SampleConfig(triples=4000, snapshots=1)).seeds


def have_same_links(one: Aligner, two: Aligner) -> bool:
    """Whether links and proposals are the same; confidence up to what counts as a change."""
    first, second = (
        {(link.left, link.right): link.score for link in aligner.links(min_confidence=0)}
        for aligner in (one, two)
    )
    return (
        len(first) > 100
        and first.keys() == second.keys()
        and all(abs(score - second[pair]) < MIN_SCORE_CHANGE for pair, score in first.items())
    )


def hold_back(graphs: Graphs, share: int) -> tuple[Graphs, Graphs]:
    """Hold back each n-th fact whose names and literal others have: ids stay the same."""
    kept, late = [], []
    for facts in graphs:
        relations = [fact for fact in facts if fact[1] != LABEL]
        held = set(relations[::share])
        rest = [fact for fact in facts if fact not in held]
        known = {name for fact in rest for name in fact}
        missing = [fact for fact in sorted(held) if not known.issuperset(fact)]
        kept.append(rest + missing)
        late.append([fact for fact in sorted(held) if known.issuperset(fact)])
    return (kept[0], kept[1]), (late[0], late[1])


@pytest.mark.parametrize("with_seeds", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_full_pass_is_a_fresh_start(
    tmp_path: Path, graphs: Graphs, seeds: list[tuple[str, str]], with_seeds: bool
) -> None:
    given = seeds if with_seeds else []
    fresh = Aligner.create(tmp_path / "fresh", *graphs, given)
    first, late = hold_back(graphs, share=30)
    assert all(len(facts) > 20 for facts in late)
    updated = Aligner.create(tmp_path / "updated", *first, given)
    updated.update(*late)
    assert not have_same_links(updated, fresh)
    updated.update(full=True)
    assert have_same_links(updated, fresh)


def test_a_full_pass_learns_translations_from_new_seeds(tmp_path: Path) -> None:
    """Literals are matched with the help of trusted links, also of those that came later."""
    rng = random.Random(0)
    words = [a + b + c for a in ("bal", "cor", "dim", "fug") for b in "aeiou" for c in "nrst"]
    names = sorted({" ".join(rng.sample(words, 3)) for _ in range(300)})
    left = [(f"l:{n}", LABEL, f'"{name}"') for n, name in enumerate(names)]
    # Another language, of which only trusted links tell what its words mean.
    right = [
        (f"r:{n}", LABEL, codecs.encode(f'"{name}"', "rot13")) for n, name in enumerate(names)
    ]
    seeds = [(f"l:{n}", f"r:{n}") for n in range(150)]
    fresh = Aligner.create(tmp_path / "fresh", left, right, seeds)
    updated = Aligner.create(tmp_path / "updated", left, right, seeds[:10])
    assert not have_same_links(updated, fresh)
    updated.update(change=ChangeSet(seeds=seeds[10:]), full=True)
    assert have_same_links(updated, fresh)


@pytest.mark.long
def test_who_teaches_itself_is_trained_again_from_nothing(tmp_path: Path, graphs: Graphs) -> None:
    """So many facts come that the models are trained again: without asking for a full pass."""
    fresh = Aligner.create(tmp_path / "fresh", *graphs)
    first, late = hold_back(graphs, share=3)
    updated = Aligner.create(tmp_path / "updated", *first)
    updated.update(*late)
    assert have_same_links(updated, fresh)
