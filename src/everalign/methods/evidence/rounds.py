"""One round of inference: from matches to candidates, from candidates to new beliefs.

A plain round believes the pairs that are each other's best, as far as their support goes. A
judged round takes a closer look at every candidate and asks the judge.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.methods.evidence.candidates import Table
from everalign.methods.evidence.dictionary import EXPLAINED, explained
from everalign.methods.evidence.features import LIKENESS_NAMES, NAMES, features, likeness
from everalign.methods.evidence.judge import Lesson, Size
from everalign.methods.evidence.labels import NOBODY, Labels
from everalign.methods.evidence.matches import Both
from everalign.methods.evidence.panel import Panel
from everalign.methods.evidence.propagation import nearest
from everalign.methods.evidence.relations import Relations, align_relations
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.support import LOOKS, look
from everalign.methods.evidence.texts import similarity
from everalign.methods.evidence.touched import Mask, Touched
from everalign.methods.evidence.values import NAMES as VALUE_NAMES
from everalign.methods.evidence.values import TOLD, look_at_values, value_features
from everalign.methods.evidence.world import Beliefs, World, matches_in

Nearest = tuple[IntArray, IntArray, Floats]  # entity, counterpart, support

HOPELESS = 0.01  # probability under which a candidate that is not found again is forgotten


def plain_round(world: World, beliefs: Beliefs) -> Beliefs:
    """Believe the pairs that are each other's best, the less the nearer their rivals come.

    With support s, and a and b for the best rival on the left and on the right, the probability
    is (1 − exp(−s)) · s² / (s² + a² + b²).
    """
    matches = matches_in(world, beliefs)
    relations = align_relations(world.left, world.right, matches, world.settings)
    of_left, of_right = _nearest_of_both(world, matches, relations, *world.free, considered=2)
    left, right = _two_best(*of_left, world.sizes[0]), _two_best(*of_right, world.sizes[1])
    one = np.flatnonzero(left.best != NOBODY)
    one = one[right.best[left.best[one]] == one]
    two = left.best[one]
    support, rivals = left.support[one], left.second[one] ** 2 + right.second[two] ** 2
    probability = -np.expm1(-support) * support**2 / (support**2 + rivals)
    return Beliefs.of(one, two, probability.astype(np.float32), world.sizes)


class _TwoBest(NamedTuple):
    """For each entity its best counterpart, the support for that, and for the second best."""

    best: NDArray[np.int64]
    support: NDArray[np.float64]
    second: NDArray[np.float64]


def _two_best(one: IntArray, two: IntArray, support: Floats, entities: int) -> _TwoBest:
    """From rows by entity, best first, at most two for each."""
    out = _TwoBest(np.full(entities, NOBODY), np.zeros(entities), np.zeros(entities))
    is_first = np.append(True, one[1:] != one[:-1])[: len(one)]
    out.best[one[is_first]] = two[is_first]
    out.support[one[is_first]] = support[is_first]
    out.second[one[~is_first]] = support[~is_first]
    return out


@dataclass(frozen=True)
class Scene:
    """All candidates under the present matches, after a closer look.

    `before` is what was believed of them, `fresh` are the rows that were looked at just now.
    """

    world: World
    table: Table
    seen: tuple[Floats, Floats]
    before: Floats
    fresh: NDArray[np.int64]
    said: Floats | None = None

    def features(self, rows: NDArray[np.int64] | None = None) -> Floats:
        """What the judge weighs of some candidates, or of all."""
        chosen = np.arange(len(self.before)) if rows is None else rows
        sides = self.world.left, self.world.right
        before = np.zeros_like(self.before) if self.world.self_taught else self.before
        found = features(sides, self.table, self.seen, before, chosen)
        columns = [found]
        if self.world.vectors is not None:
            columns.append(likeness(self.world.vectors, self.table, chosen))
        if self.said is not None:
            columns.append(value_features(self.table, self.said)[chosen])
        return np.concatenate(columns, axis=1) if len(columns) > 1 else found

    def without(self, rows: NDArray[np.bool_]) -> Scene:
        """The same scene as if some candidates did not exist."""
        keep = ~rows
        seen = self.seen[0][keep], self.seen[1][keep]
        fresh = np.arange(np.count_nonzero(keep))
        said = None if self.said is None else self.said[keep]
        return Scene(self.world, self.table.only(keep), seen, self.before[keep], fresh, said)


def columns(world: World) -> int:
    """How many numbers the judge weighs of each candidate in this world."""
    of_vectors = len(LIKENESS_NAMES) if world.vectors is not None else 0
    return len(NAMES) + of_vectors + (len(VALUE_NAMES) if world.wording else 0)


def scene(world: World, beliefs: Beliefs) -> Scene:
    """Find the candidates of all free entities and look at them."""
    matches = matches_in(world, beliefs)
    relations = align_relations(world.left, world.right, matches, world.settings)
    table = candidates(world, matches, relations, *world.free)
    seen = look(world.left, world.right, matches, relations, table.left, table.right)
    said = what_is_said(world, matches, relations, table)
    return Scene(world, table, seen, beliefs.about(table), np.arange(len(table.left)), said)


def what_is_said(
    world: World, matches: Both, relations: Relations, table: Table, old: Scene | None = None
) -> Floats | None:
    """What the literals of all pairs tell; None where there are no literals."""
    if world.wording is None:
        return None
    sides, least = (world.left, world.right), world.settings.prior
    told = look_at_values(*sides, (matches.left, matches.right), relations.left, table, least)
    return np.concatenate([told, _said_by_names(world, table, old)], axis=1)


def _said_by_names(world: World, table: Table, old: Scene | None) -> Floats:
    """How similar the names of each pair are, and how much of each the other explains.

    That depends on wording and dictionaries alone. Where these are still the same, it is known
    of the pairs of the old scene.
    """
    assert world.wording is not None
    out = np.empty((len(table.left), 1 + EXPLAINED), dtype=np.float32)
    at = np.full(len(out), -1)
    if old is not None and old.said is not None and old.world.speaks_as(world):
        at = old.table.find(table.left, table.right)
        out[at >= 0] = old.said[at[at >= 0], TOLD:]
    new = np.flatnonzero(at < 0)
    one, two = table.left[new], table.right[new]
    out[new, 0] = similarity(*world.wording.names, one, two)
    out[new, 1:] = _explained(world, one, two)
    return out


def reworded(scene: Scene, world: World) -> Scene:
    """The scene under other dictionaries."""
    if scene.said is None:
        return scene
    said = scene.said.copy()
    said[:, -EXPLAINED:] = _explained(world, scene.table.left, scene.table.right)
    return replace(scene, world=world, said=said)


def _explained(world: World, one: IntArray, two: IntArray) -> Floats:
    assert world.wording is not None
    if world.dictionaries is None:
        return np.full((len(one), EXPLAINED), np.nan, dtype=np.float32)
    return explained(world.dictionaries, *world.wording.units, one, two)


def renewed(
    old: Scene,
    world: World,
    beliefs: Beliefs,
    touched: Touched,
    relations: Relations | None = None,
) -> Scene:
    """A scene under new beliefs, looked at again only where entities are touched.

    Relations are aligned anew, unless their correspondence is given.
    """
    matches = matches_in(world, beliefs)
    relations = relations or align_relations(world.left, world.right, matches, world.settings)
    asked = touched.left & world.free[0], touched.right & world.free[1]
    found = candidates(world, matches, relations, *asked)
    keep = ~touched.rows(old.table) | (beliefs.about(old.table) >= HOPELESS)
    table = world.among_free(
        np.concatenate([old.table.left[keep], found.left]),
        np.concatenate([old.table.right[keep], found.right]),
    )
    at = old.table.find(table.left, table.right)
    rows = np.flatnonzero(touched.rows(table) | (at < 0))
    fresh = look(world.left, world.right, matches, relations, table.left[rows], table.right[rows])
    left, right = (np.concatenate([seen, np.zeros((1, LOOKS), np.float32)]) for seen in old.seen)
    seen = left[at], right[at]
    seen[0][rows], seen[1][rows] = fresh
    said = what_is_said(world, matches, relations, table, old)
    return Scene(world, table, seen, beliefs.about(table), rows, said)


def candidates(
    world: World, matches: Both, relations: Relations, left_asked: Mask, right_asked: Mask
) -> Table:
    """The pairs of each of these entities with the few that it has most support for."""
    (left, right, _), (right2, left2, _) = _nearest_of_both(
        world, matches, relations, left_asked, right_asked, world.settings.considered
    )
    return world.among_free(np.concatenate([left, left2]), np.concatenate([right, right2]))


def _nearest_of_both(
    world: World,
    matches: Both,
    relations: Relations,
    left_asked: Mask,
    right_asked: Mask,
    considered: int,
) -> tuple[Nearest, Nearest]:
    """What is nearest to the asked left, and to the asked right entities."""
    lefts, rights = (np.flatnonzero(x).astype(np.int32) for x in (left_asked, right_asked))
    left, right, faint = world.left, world.right, world.settings.faint
    free_left, free_right = world.eligible
    return (
        nearest(left, right, matches.left, relations.left, lefts, free_right, considered, faint),
        nearest(right, left, matches.right, relations.right, rights, free_left, considered, faint),
    )


def judged(scene: Scene, judge: Panel, labels: Labels | None = None) -> Beliefs:
    """What the judge thinks of every candidate; where it learned from one, not having seen it."""
    return Beliefs(scene.table, _weighed(scene, judge, labels, np.arange(len(scene.before))))


def judged_again(scene: Scene, judge: Panel, labels: Labels | None = None) -> Beliefs:
    """The same by the judge of the round before, which need not repeat itself: only of what was
    looked at just now."""
    probability = scene.before.copy()
    probability[scene.fresh] = _weighed(scene, judge, labels, scene.fresh)
    return Beliefs(scene.table, probability)


def _weighed(scene: Scene, judge: Panel, labels: Labels | None, rows: NDArray[np.int64]) -> Floats:
    found = scene.features(rows)
    if labels is None:
        return judge.weigh(found)
    return judge.weigh_learned(found, labels.fold(scene.table)[rows])


def learn(scene: Scene, labels: Labels, size: Size, seed: int) -> Panel:
    """A judge from the candidates of entities with a hidden link."""
    fold = labels.fold(scene.table)
    rows = np.flatnonzero(fold >= 0)
    correct = labels.correct(scene.table)[rows]
    weight = labels.touched(scene.table)[rows]
    lesson = Lesson(scene.features(rows), correct, weight, fold[rows])
    return Panel.learn(lesson, size, seed, literals=scene.said is not None)
