"""Entities and pairs in detail: candidates with evidence, rivals, neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from everalign.errors import InputError
from everalign.methods import ExplainableMethod
from everalign.service.alignment import ServedAlignment
from everalign.service.common import describe_links
from everalign.service.comparison import build_comparison
from everalign.service.models import (
    CandidateModel,
    Comparison,
    ContributionModel,
    Evidence,
    LinkModel,
    Neighbourhood,
    NeighbourModel,
    Rivals,
    SideName,
    Value,
)
from everalign.service.naming import Namer
from everalign.state.snapshots import SIDES
from everalign.types import (
    CandidateExplanation,
    EntityDetails,
    EntityExplanation,
    EvidenceItem,
    FactComparison,
    Link,
    Neighbour,
)
from everalign.version_reader import VersionReader

MAX_CANDIDATES = 5
MAX_EVIDENCE = 20
MAX_NEIGHBOURS = 100
MAX_FACTS = 20


class EntityDescriber:
    """Describes one entity of a version.

    Args:
        served: The alignment.
        reader: The version.
        name: The name of the entity.
        side: The graph; None for the one that has it.

    Raises:
        InputError: The graph does not have it.
    """

    def __init__(
        self,
        served: ServedAlignment,
        reader: VersionReader,
        name: str,
        side: SideName | None,
        namer: Namer | None = None,
    ) -> None:
        self.reader = reader
        self.namer = namer or Namer(served, reader)
        index, number = reader.find_entity(name, side)
        if (("left", "right")[index], number) in reader.removed:
            raise InputError(f"{name!r} was removed from its graph")
        self.name = name
        self._key = index, number
        self.side: SideName = "left" if index == 0 else "right"
        self.other_side: SideName = "right" if index == 0 else "left"

    @cached_property
    def details(self) -> EntityDetails:
        """What is known about the entity."""
        return self.reader.describe_entity(
            self.name, self.side, MAX_NEIGHBOURS, with_candidates=False
        )

    @cached_property
    def threshold(self) -> float | None:
        """The threshold of the last version whose method had one."""
        return self._explanation[0]

    @cached_property
    def explanation(self) -> EntityExplanation | None:
        """Its candidates with evidence; None if the method cannot tell."""
        return self._explanation[1]

    @cached_property
    def _explanation(self) -> tuple[float | None, EntityExplanation | None]:
        if not isinstance(self.reader.method, ExplainableMethod):
            return None, None
        found = self.reader.explainer.explain(self.name, MAX_EVIDENCE)
        sides = {row.side: row for row in found.sides}
        return found.threshold, sides.get(self.side)

    def list_candidates(self) -> list[CandidateExplanation]:
        """List its candidates.

        Returns:
            Candidates with evidence, best first.
        """
        return [] if self.explanation is None else list(self.explanation.candidates)

    def get_other(self, pair: CandidateExplanation | Link) -> str:
        """Find the counterpart in a pair.

        Args:
            pair: A pair of this entity and another one.

        Returns:
            The name of the other one.
        """
        return pair.right if self.side == "left" else pair.left

    def describe_candidates(
        self, candidates: Iterable[CandidateExplanation]
    ) -> list[CandidateModel]:
        """Describe candidates.

        Args:
            candidates: Candidates of the entity.

        Returns:
            The candidates with labels.
        """
        candidates = list(candidates)
        self._load_names(candidates)
        best = self.get_other(candidates[0]) if candidates else ""
        return [self._describe_candidate(row, best) for row in candidates]

    def _load_names(self, candidates: Sequence[CandidateExplanation]) -> None:
        """Read all that candidates show, those of one graph in one query."""
        items = [item for row in candidates for item in row.evidence]
        ends = (
            (item.left_neighbour for item in items),
            (item.right_neighbour for item in items),
        )
        pairs = ((row.left for row in candidates), (row.right for row in candidates))
        for side, names, own in zip(SIDES, ends, pairs, strict=True):
            entities = (name for name in names if not _is_literal(name))
            self.namer.load_names(side, [*own, *entities])

    def describe_comparison(self, others: Sequence[str]) -> Comparison:
        """Compare its facts with those of others.

        Args:
            others: Names of entities of the other graph.

        Returns:
            The table of facts.
        """
        facts = self._compare(others)
        entity = self.namer.get_entity(self.side, self.name)
        columns = [self.namer.get_entity(self.other_side, name) for name in others]
        return build_comparison(self.namer, entity, columns, facts)

    def _compare(self, others: Sequence[str]) -> list[tuple[FactComparison, ...]]:
        if not isinstance(self.reader.method, ExplainableMethod):
            # Nobody knows which relations correspond.
            return [() for _ in others]
        ids = [self.reader.find_entity(name, self.other_side)[1] for name in others]
        return self.reader.questions.compare(self._key, ids, MAX_FACTS)

    def describe_neighbours(self) -> list[NeighbourModel]:
        """Describe what it is connected with.

        Returns:
            Its neighbours with their counterparts; perhaps not all.
        """
        rows = self.details.neighbours
        self.namer.load_names(self.side, (row.entity.name for row in rows))
        others = (other.name for row in rows for other in row.counterparts)
        self.namer.load_names(self.other_side, others)
        return [self._describe_neighbour(row) for row in rows]

    def _describe_neighbour(self, row: Neighbour) -> NeighbourModel:
        return NeighbourModel(
            relation=self.namer.get_relation(row.relation, inverse=row.inverse),
            entity=self.namer.get_entity(self.side, row.entity.name),
            counterparts=[
                self.namer.get_entity(self.other_side, other.name) for other in row.counterparts
            ],
        )

    def _describe_candidate(self, row: CandidateExplanation, best: str) -> CandidateModel:
        other = self.get_other(row)
        linked = {self.get_other(link): link.origin for link in self.details.links}
        lost = other not in linked and other == best and self.explanation is not None
        return CandidateModel(
            entity=self.namer.get_entity(self.other_side, other),
            confidence=row.confidence,
            support=row.support,
            state=linked.get(other, "candidate"),
            evidence=[self._describe_evidence(item) for item in row.evidence],
            evidence_count=row.evidence_count,
            contributions=[
                ContributionModel(group=part.group, value=part.value) for part in row.contributions
            ],
            why_not=self.explanation.reason if lost and self.explanation else "",
        )

    def _describe_evidence(self, item: EvidenceItem) -> Evidence:
        return Evidence(
            left_relation=self.namer.get_relation(item.left_relation, inverse=item.left_inverse),
            left=self._describe_end("left", item.left_neighbour),
            right_relation=self.namer.get_relation(
                item.right_relation, inverse=item.right_inverse
            ),
            right=self._describe_end("right", item.right_neighbour),
            confidence=item.confidence,
            weight=item.weight,
        )

    def _describe_end(self, side: SideName, name: str) -> Value:
        return self.namer.get_value(side, name, is_entity=not _is_literal(name))


def _is_literal(name: str) -> bool:
    # Literals begin with a quotation mark, and no IRI or blank node does.
    return name.startswith('"')


class PairDescriber:
    """Describes a pair of a left and a right entity.

    Args:
        served: The alignment.
        reader: The version.
        left: The name of the left entity.
        right: The name of the right entity.

    Raises:
        InputError: A graph does not have its entity.
    """

    def __init__(
        self, served: ServedAlignment, reader: VersionReader, left: str, right: str
    ) -> None:
        self.namer = Namer(served, reader)
        self._reader = reader
        self._left = EntityDescriber(served, reader, left, "left", self.namer)
        self._right = EntityDescriber(served, reader, right, "right", self.namer)

    def describe_link(self) -> LinkModel:
        """Describe the pair as a link.

        Returns:
            The link; with the state "candidate" or "none" if it is not one.
        """
        links = [link for link in self._left.details.links if link.right == self._right.name]
        found = self._find_candidate()
        if links:
            link = describe_links(self.namer, self._reader, links)[0]
            if link.state == "found" and found is not None:
                # As it is now, so that the contributions add up to it: the history leaves out
                # changes of a score that are too small to be seen.
                link = link.model_copy(update={"confidence": found.confidence})
            return link
        return LinkModel(
            left=self.namer.get_entity("left", self._left.name),
            right=self.namer.get_entity("right", self._right.name),
            confidence=0.0 if found is None else found.confidence,
            state="none" if found is None else "candidate",
            since=None,
        )

    def describe_comparison(self) -> Comparison:
        """Compare the facts of both.

        Returns:
            The table of facts.
        """
        return self._left.describe_comparison([self._right.name])

    def describe_candidate(self) -> CandidateModel | None:
        """Describe what speaks for the pair.

        Returns:
            The right entity as a candidate of the left one; None if it is none.
        """
        found = self._find_candidate()
        return None if found is None else self._left.describe_candidates([found])[0]

    def describe_rivals(self) -> Rivals:
        """Describe other candidates of both.

        Returns:
            The best of them.
        """
        left, right = (
            side.describe_candidates(
                [row for row in side.list_candidates() if side.get_other(row) != other.name][
                    :MAX_CANDIDATES
                ]
            )
            for side, other in ((self._left, self._right), (self._right, self._left))
        )
        return Rivals(left=left, right=right)

    def describe_neighbours(self) -> Neighbourhood:
        """Describe the neighbours of both, and which of them are linked.

        Returns:
            The neighbours, and pairs of indexes.
        """
        left, right = self._left.describe_neighbours(), self._right.describe_neighbours()
        places: dict[str, list[int]] = {}
        for place, row in enumerate(right):
            places.setdefault(row.entity.name, []).append(place)
        wanted = [self._reader.names.find_entity("left", row.entity.name) for row in left]
        ids = [number for number in wanted if number is not None]
        links = self._reader.name_links(self._reader.pager.read_of_entities(ids, []))
        scores = {(link.left, link.right): link.score for link in links}
        pairs = [
            (place, other, scores.get((row.entity.name, counterpart.name), 0.0))
            for place, row in enumerate(left)
            for counterpart in row.counterparts
            for other in places.get(counterpart.name, ())
        ]
        return Neighbourhood(left=left, right=right, pairs=pairs)

    def _find_candidate(self) -> CandidateExplanation | None:
        rows = self._left.list_candidates()
        return next((row for row in rows if row.right == self._right.name), None)
