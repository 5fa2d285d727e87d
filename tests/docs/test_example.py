"""The example of docs/concepts/evidence.md, computed once more from its formulas.

Everything here is plain arithmetic over dictionaries; nothing of the method itself is used.
"""

from __future__ import annotations

import math
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, ROOT, blocks

from everalign import Aligner, Config
from everalign.methods.evidence import EvidenceParameters

PAGE = DOCS / "concepts" / "evidence.md"
CONFIG = EvidenceParameters()
SETTINGS = {"max_propagation_rounds": 4}
PLACES = {"Bergen": "Bergae", "Sweden": "Suecia", "Stockholm": "Holmia"}

Run = Callable[..., subprocess.CompletedProcess[str]]
Triple = tuple[str, str, str]
Relation = tuple[str, bool]  # read backwards?
Edge = tuple[str, Relation, str]
Pair = tuple[str, str]
Matches = Mapping[Pair, float]


def edges(triples: Iterable[Triple]) -> list[Edge]:
    """Every triple in both directions."""
    both = ([(x, (r, False), y), (y, (r, True), x)] for x, r, y in triples)
    return [edge for two in both for edge in two]


def inverse(d: Relation) -> Relation:
    return d[0], not d[1]


def inverse_functionality(graph: list[Edge], edge: Edge) -> float:
    _, d, y = edge
    back = [one for one, relation, _ in graph if relation == inverse(d)]
    local = CONFIG.local_functionality_weight
    return (1 - local) * len(set(back)) / len(back) + local / back.count(y)


@dataclass(frozen=True)
class Example:
    """The two graphs under some matches."""

    left: list[Edge]
    right: list[Edge]
    matches: Matches

    def cooccurrences(self, d: Relation, d2: Relation) -> float:
        return sum(
            p * self.matches.get((y, y2), 0)
            for (x, x2), p in self.matches.items()
            for y in self.neighbours(self.left, x, d)
            for y2 in self.neighbours(self.right, x2, d2)
        )

    def comparable(self, side: int, d: Relation) -> float:
        best = {pair[side]: p for pair, p in self.matches.items()}
        graph = (self.left, self.right)[side]
        return sum(best.get(x, 0) * best.get(y, 0) for x, e, y in graph if e == d)

    def inclusion(self, d: Relation, d2: Relation) -> tuple[float, float]:
        """P(d ⊆ d′) and P(d′ ⊆ d)."""
        strength = CONFIG.inclusion_prior_strength
        above = self.cooccurrences(d, d2) + CONFIG.inclusion_prior * strength
        left, right = self.comparable(0, d), self.comparable(1, d2)
        return above / (left + strength), above / (right + strength)

    def weights(self, x: str, x2: str) -> dict[tuple[Relation, Relation], float]:
        """The pieces of evidence for a pair; no two of them have the same relations here."""
        pieces = {}
        for edge in (edge for edge in self.left if edge[0] == x):
            for edge2 in (edge for edge in self.right if edge[0] == x2):
                p = self.matches.get((edge[2], edge2[2]), 0)
                there, back = self.inclusion(edge[1], edge2[1])
                of_left = 1 - p * back * inverse_functionality(self.left, edge)
                of_right = 1 - p * there * inverse_functionality(self.right, edge2)
                if p > 0:
                    pieces[edge[1], edge2[1]] = -math.log(of_left * of_right)
        return pieces

    def support(self, x: str, x2: str) -> float:
        return sum(self.weights(x, x2).values())

    def ranked(self, x: str, others: Iterable[str], side: int) -> list[str]:
        """The others by support, discounted by their degree."""
        graph = (self.right, self.left)[side]

        def score(other: str) -> float:
            degree = sum(one == other for one, _, _ in graph)
            return self.of(x, other, side) * float(degree**-CONFIG.degree_discount)

        return sorted(others, key=score, reverse=True)

    def of(self, x: str, other: str, side: int) -> float:
        """The support of a pair seen from either side."""
        return self.support(x, other) if side == 0 else self.support(other, x)

    def second_support(self, x: str, others: Iterable[str], side: int) -> float:
        """The support of the second best."""
        return self.of(x, self.ranked(x, others, side)[1], side)

    @staticmethod
    def neighbours(graph: list[Edge], x: str, d: Relation) -> list[str]:
        return [y for one, relation, y in graph if (one, relation) == (x, d)]


def rounds(left: list[Triple], right: list[Triple], seeds: list[Pair]) -> list[Example]:
    """The example under the matches that each round starts from, and those of the last one."""
    trusted = dict.fromkeys(seeds, 1.0)
    now = Example(edges(left), edges(right), trusted)
    out = [now]
    for _ in range(SETTINGS["max_propagation_rounds"]):
        now = Example(now.left, now.right, trusted | propagated(now))
        out.append(now)
    return out


def propagated(example: Example) -> dict[Pair, float]:
    """The match probabilities of the pairs that are each other's best."""
    found = {}
    for x, x2 in PLACES.items():
        assert example.ranked(x, PLACES.values(), 0)[0] == x2
        assert example.ranked(x2, PLACES, 1)[0] == x
        found[x, x2] = match_probability(*supports(example, x, x2))
    assert min(found.values()) >= CONFIG.min_match_probability  # or they would be no matches
    return found


def supports(example: Example, x: str, x2: str) -> tuple[float, float, float]:
    """Of a pair, and of its best competitor on the left and on the right."""
    rivals = example.second_support(x, PLACES.values(), 0), example.second_support(x2, PLACES, 1)
    return example.support(x, x2), *rivals


def match_probability(s: float, a: float, b: float) -> float:
    return (1 - math.exp(-s)) * s**2 / (s**2 + a**2 + b**2)


@pytest.fixture(scope="module")
def places() -> dict[str, list[tuple[str, ...]]]:
    """The triples and seeds of the page."""
    names: dict[str, list[tuple[str, ...]]] = {}
    exec(blocks(PAGE, "python")[0], names)
    return {name: names[name] for name in ("left", "right", "seeds")}


@pytest.fixture(scope="module")
def worked(places: dict[str, list[tuple[str, ...]]]) -> list[Example]:
    left, right = ([(x, r, y) for x, r, y in places[side]] for side in ("left", "right"))
    return rounds(left, right, [(x, x2) for x, x2 in places["seeds"]])


@pytest.fixture
def aligner(places: dict[str, list[tuple[str, ...]]], tmp_path: Path) -> Aligner:
    files = {name: tmp_path / f"{name}.tsv" for name in places}
    for name, path in files.items():
        path.write_text("".join("\t".join(row) + "\n" for row in places[name]))
    config = Config(names_from_iris=False, settings=SETTINGS)
    state = tmp_path / "places.state"
    return Aligner.create(state, files["left"], files["right"], files["seeds"], config=config)


def test_confidence_is_half_of_the_match_probability(
    aligner: Aligner, worked: list[Example]
) -> None:
    last = worked[-1].matches
    found = {(link.left, link.right): link.score for link in aligner.links(min_confidence=0)}
    assert found == pytest.approx(
        {pair: p / 2 if pair in PLACES.items() else 1 for pair, p in last.items()}
    )


def test_explain_shows_every_piece_with_its_weight(
    aligner: Aligner, worked: list[Example]
) -> None:
    for left, right in PLACES.items():
        (account,) = aligner.explain(left).sides
        (candidate,) = account.candidates
        assert candidate.support == pytest.approx(worked[-1].support(left, right))
        pieces = {
            ((p.left_relation, p.left_inverse), (p.right_relation, p.right_inverse)): p.weight
            for p in candidate.evidence
        }
        assert pieces == pytest.approx(worked[-1].weights(left, right))


def test_relations_shows_the_inclusions(aligner: Aligner, worked: list[Example]) -> None:
    shown = aligner.relations()
    assert {match.left for match in shown} == {"in", "borders", "twin of"}
    for match in shown:
        d, d2 = (match.left, False), (match.right, match.inverse)
        assert (match.left_in_right, match.right_in_left) == pytest.approx(
            worked[-1].inclusion(d, d2)
        )
        assert match.support == pytest.approx(worked[-1].cooccurrences(d, d2))


def test_the_page_states_the_numbers_of_every_round(worked: list[Example]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for number, example in enumerate(worked[1:], start=1):
        row = [f"{example.matches[pair]:.3f}" for pair in PLACES.items()]
        assert f"| round {number} | {' | '.join(row)} |" in text
    halves = [f"{worked[-1].matches[pair] / 2:.3f}" for pair in PLACES.items()]
    assert f"| confidence: half of it | {' | '.join(halves)} |" in text


def test_the_page_states_functionalities_and_inclusions(worked: list[Example]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    first, second = worked[:2]
    for x, name, y in [("Bergen", "in", "Norway"), ("Stockholm", "in", "Sweden")]:
        value = inverse_functionality(first.left, (x, (name, False), y))
        assert any(
            line.startswith(f"| {x} –{name}→ {y} |") and line.endswith(f"| {value:.3f} |")
            for line in text.splitlines()
        )
    inside, borders = (
        (("in", False), ("sita in", False)),
        (("borders", False), ("finitima", False)),
    )
    assert f"| {first.inclusion(*inside)[0]:.1f} |" in text
    assert f"| {first.inclusion(*borders)[0]:.1f} |" in text
    assert f"= {second.inclusion(*inside)[0]:.3f}." in text
    assert f"= {second.inclusion(*borders)[0]:.3f}." in text


def test_the_page_states_supports_of_the_first_round(worked: list[Example]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    for pair in PLACES.items():
        support, rival, _ = supports(worked[0], *pair)
        assert f"{support:.3f}" in text
        assert f"{rival:.3f}" in text or rival == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", ["explain places.state Sweden", "relations places.state"])
def test_the_readme_shows_what_the_commands_print(
    aligner: Aligner, everalign: Run, command: str
) -> None:
    shown = everalign(*command.split())
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout in blocks(ROOT / "README.md", "text")
