"""What a method has considered, told with names, and why the best of the losers lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from everalign.errors import ConfigError, InputError
from everalign.flow import config_of, last_problem
from everalign.graph import Names, Values, Vocabulary
from everalign.ledger import Pair, View
from everalign.methods import (
    Consideration,
    Explaining,
    Piece,
    Problem,
    RelationMatch,
    make_method,
)
from everalign.reports import Account, Considered, Evidence, Explanation, Link, RelationLink
from everalign.situation import SIDES, line_of, turn_of, vocabulary
from everalign.store import Side, Store

Roll: TypeAlias = Names | Sequence[str]
BothRolls: TypeAlias = tuple[Roll, Roll]


def explanation(store: Store, entity: str) -> Explanation:
    """An account of an entity for each of the graphs that has it."""
    method, problem = _explaining(store), last_problem(store)
    scene = _scene(store, problem)
    left, right = find_entity(entity, scene.left.entities, scene.right.entities)
    asked = (left, None), (None, right)
    accounts = (
        scene.account(side, number, method.explain(problem, *numbers))
        for side, number, numbers in zip(SIDES, (left, right), asked, strict=True)
        if number is not None
    )
    return Explanation(entity, scene.threshold, tuple(accounts))


def relation_links(store: Store, min_inclusion: float) -> list[RelationLink]:
    """The relations of which at least this share is in the other one, in either direction."""
    method, problem = _explaining(store), last_problem(store)
    scene = _scene(store, problem)
    return [
        scene.relation_link(match)
        for match in method.relations(problem)
        if max(match.left_in_right, match.right_in_left) >= min_inclusion
    ]


def find_entity(entity: str, left: Names, right: Names) -> tuple[int | None, int | None]:
    """The ids of an entity in the two graphs; one of them has to have it."""
    ids = left.find(entity), right.find(entity)
    if ids == (None, None):
        raise InputError(f"{entity!r} is in neither of the two graphs")
    return ids


@dataclass(frozen=True)
class Scene:
    """All that an account is made from: names, the links in force, and the last threshold."""

    left: Vocabulary
    right: Vocabulary
    values: tuple[Values, Values]
    view: View
    threshold: float | None

    def account(self, side: Side, entity: int, considered: Sequence[Consideration]) -> Account:
        """Why an entity has the link that it has, or none."""
        held = next((pair for pair in self.view.links if pair[_place(side)] == entity), None)
        return Account(
            side=side,
            link=None if held is None else self._link(held),
            candidates=tuple(map(self._considered, considered)),
            reason=self._reason(side, held, considered),
        )

    def relation_link(self, match: RelationMatch) -> RelationLink:
        """A correspondence of relations, with their names."""
        left, right = self._words(match.attributes)[0]
        return RelationLink(
            left[match.left],
            right[match.right],
            match.backwards,
            match.left_in_right,
            match.right_in_left,
            match.support,
            match.attributes,
        )

    def _link(self, pair: Pair) -> Link:
        standing = self.view.links[pair]
        names = self._name("left", pair), self._name("right", pair)
        origin = "given" if standing.confirmed else "found"
        return Link(*names, standing.score, standing.since, origin)

    def _name(self, side: Side, pair: Pair) -> str:
        vocabulary = self.left if side == "left" else self.right
        return vocabulary.entities[pair[_place(side)]]

    def _considered(self, pair: Consideration) -> Considered:
        return Considered(
            self.left.entities[pair.left],
            self.right.entities[pair.right],
            pair.confidence,
            pair.support,
            tuple(map(self._evidence, sorted(pair.pieces, key=lambda piece: -piece.weight))),
        )

    def _evidence(self, piece: Piece) -> Evidence:
        relations, neighbours = self._words(piece.literal)
        return Evidence(
            relations[0][piece.left_relation],
            piece.left_backwards,
            neighbours[0][piece.left_neighbour],
            relations[1][piece.right_relation],
            piece.right_backwards,
            neighbours[1][piece.right_neighbour],
            piece.confidence,
            piece.weight,
        )

    def _words(self, literal: bool) -> tuple[BothRolls, BothRolls]:
        """What relations and neighbours are called, or attributes and literals."""
        left, right = self.values
        if literal:
            return (left.attributes, right.attributes), (left.literals, right.literals)
        relations = self.left.relations, self.right.relations
        return relations, (self.left.entities, self.right.entities)

    def _reason(self, side: Side, held: Pair | None, considered: Sequence[Consideration]) -> str:
        """One sentence of facts about the best candidate that is not the link."""
        rival = next((pair for pair in considered if _pair(pair) != held), None)
        if rival is None and held is None:
            return "no candidate shares a matched neighbour"
        if rival is None:
            return "no other candidate was considered"
        link = next((pair for pair in considered if _pair(pair) == held), None)
        opposite: Side = "right" if side == "left" else "left"
        fault = (
            self._word_of_a_person(held, rival)
            or self._weaker(held, link, rival)
            or self._taken(side, opposite, rival)
            or self._too_unsure(rival)
        )
        return f"{self._name(opposite, _pair(rival))} lost: {fault or 'no mutual best match'}"

    def _word_of_a_person(self, held: Pair | None, rival: Consideration) -> str | None:
        if held in self.view.confirmed:
            return "a person has given the link"
        return "a person has rejected it" if _pair(rival) in self.view.rejected else None

    def _weaker(
        self, held: Pair | None, link: Consideration | None, rival: Consideration
    ) -> str | None:
        """How the rival falls short of the link, if there is one and it does."""
        if held is None:
            return None
        confidence = self.view.links[held].score if link is None else link.confidence
        if confidence < rival.confidence:
            return None
        said = f"confidence {rival.confidence:.3g} against {confidence:.3g}"
        if link is None:
            return said
        return f"{said}; it shares {_evidence_of(rival)} where the link shares {_counted(link)}"

    def _taken(self, side: Side, opposite: Side, rival: Consideration) -> str | None:
        """Who has the rival's entity instead."""
        wanted = _pair(rival)[_place(opposite)]
        other = next((pair for pair in self.view.links if pair[_place(opposite)] == wanted), None)
        if other is None:
            return None
        standing, owner = self.view.links[other], self._name(side, other)
        if standing.confirmed:
            return f"a person has given it to {owner}"
        kind = "better match" if standing.score > rival.confidence else "match"
        confidences = f"confidence {standing.score:.3g} against {rival.confidence:.3g}"
        return f"it is the {kind} of {owner} ({confidences})"

    def _too_unsure(self, rival: Consideration) -> str | None:
        if self.threshold is None or rival.confidence >= self.threshold:
            return None
        unsure = f"confidence {_shown(rival.confidence)} is below"
        return f"{unsure} the threshold {_shown(self.threshold)}"


def _shown(share: float) -> str:
    """With three digits, unless that would make it certain."""
    return f"{share:.3g}" if share < 0.999 else f"{share:.6g}"


def _explaining(store: Store) -> Explaining:
    """The method as the last version has left it, if it can give reasons."""
    config, turn = config_of(store), turn_of(line_of(store))
    assert turn is not None, "a method remembers what it learned in a version"
    method = make_method(config)
    if not isinstance(method, Explaining):
        raise ConfigError(f"method {config.method!r} cannot give reasons")
    method.load(store.arrays(turn))
    return method


def _scene(store: Store, problem: Problem) -> Scene:
    left, right = vocabulary(store, "left"), vocabulary(store, "right")
    infos = [version.info for version in store.versions() if "threshold" in version.info]
    threshold = infos[-1]["threshold"] if infos else None
    assert threshold is None or isinstance(threshold, float)
    values = problem.left_values, problem.right_values
    return Scene(left, right, values, store.links(), threshold)


def _place(side: Side) -> int:
    return 0 if side == "left" else 1


def _pair(considered: Consideration) -> Pair:
    return considered.left, considered.right


def _evidence_of(pair: Consideration) -> str:
    word = "neighbour" if _matched(pair) == 1 else "neighbours"
    return f"{_matched(pair)} matched {word} (support {pair.support:.3g})"


def _counted(pair: Consideration) -> str:
    return f"{_matched(pair)} (support {pair.support:.3g})"


def _matched(pair: Consideration) -> int:
    return len({(piece.left_neighbour, piece.right_neighbour) for piece in pair.pieces})
