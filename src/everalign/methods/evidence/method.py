"""Evidence, whole: fit, update, candidates, and the reasons for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from everalign.literals import note_on
from everalign.matching import Candidates
from everalign.methods.evidence.candidates import one_to_one
from everalign.methods.evidence.explaining import considerations, relation_matches
from everalign.methods.evidence.inference import (
    Knowledge,
    Trust,
    conclude,
    guess,
    study,
    verdict,
)
from everalign.methods.evidence.memory import Memory, facts_of, from_arrays, to_arrays
from everalign.methods.evidence.rounds import columns
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.spreading import spread
from everalign.methods.evidence.touched import by_delta, by_trust
from everalign.methods.evidence.wording import Kept, Wording
from everalign.methods.evidence.world import Beliefs, Vectors, World
from everalign.methods.protocol import Arrays, Consideration, Problem, RelationMatch
from everalign.progress import Progress, silent

WORTH_PROPOSING = 0.01  # confidence


class Evidence:
    """Two entities are the same when they are connected alike to things known to be the same.

    `vectors` gives what another method makes of the entities, for the judge to weigh as well.
    """

    def __init__(
        self,
        settings: EvidenceSettings,
        seed: int,
        vectors: Callable[[Problem], Vectors] | None = None,
    ) -> None:
        self.settings = settings
        self.seed = seed
        self._vectors = vectors
        self._memory = Memory.blank()

    def fit(self, problem: Problem, progress: Progress) -> None:
        self._memory = Memory.blank().grown(problem)
        self._study(problem, self._world(problem, progress), None, progress)

    def update(self, problem: Problem, progress: Progress) -> None:
        before, self._memory = self._memory, self._memory.grown(problem)
        world = self._world(problem, progress)
        if before.lore is None or before.lore.judge.columns != columns(world):
            self._study(problem, world, None, progress)
        elif problem.full or before.growth(problem) > self.settings.renewal:
            hidden = before.lore.hidden.likely(self.settings.soft)
            self._study(problem, world, hidden.regrown(world.sizes), progress)
        else:
            touched = by_delta(problem, before.triples)
            touched = touched.or_by(by_trust(world, before.trusted, world.anchors))
            now = before.knowledge.regrown(world.sizes)
            self._conclude(world, spread(world, before.lore, now, touched, progress))

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:  # noqa: ARG002
        table, confidence = self._memory.knowledge.beliefs.table, self._memory.confidence
        rows = one_to_one(table, confidence)
        rows = rows[confidence[rows] >= WORTH_PROPOSING]
        found = Candidates.of(
            table.left[rows],
            table.right[rows],
            confidence[rows],
            threshold=self._memory.threshold,
            notes=self._notes(problem),
        )
        return replace(found, notes=(*found.notes, *_sureness(problem, found.accepted())))

    def save(self) -> Arrays:
        return to_arrays(self._memory, self.settings.soft)

    def load(self, arrays: Arrays) -> None:
        self._memory = from_arrays(arrays)

    def explain(
        self, problem: Problem, left: int | None, right: int | None
    ) -> list[Consideration]:
        beliefs, confidence = self._memory.knowledge.beliefs, self._memory.confidence
        return considerations(self._world(problem), beliefs, confidence, left, right)

    def relations(self, problem: Problem) -> list[RelationMatch]:
        return relation_matches(self._world(problem), self._memory.knowledge.beliefs)

    def _study(
        self, problem: Problem, world: World, start: Beliefs | None, progress: Progress
    ) -> None:
        trust = Trust.of(problem, self.settings, self.seed)
        hiding = replace(world, anchors=trust.anchors)
        learned = study(hiding, trust, start, self.seed, progress)
        if learned is None:
            lore, knowledge = None, guess(world, progress)
        else:
            lore, view = learned
            knowledge = conclude(world, lore, view, trust.hidden, progress)
        studied = sum(self._memory.triples)
        facts = facts_of(problem)
        self._memory = replace(self._memory, lore=lore, studied=studied, facts=facts)
        self._conclude(world, knowledge)

    def _conclude(self, world: World, knowledge: Knowledge) -> None:
        memory = self._memory
        result = verdict(world, knowledge, memory.arrivals, memory.lore)
        self._memory = replace(
            memory,
            knowledge=knowledge,
            confidence=result.confidence,
            threshold=result.threshold,
            trusted=world.anchors,
            literals=world.wording.kept() if world.wording else Kept.none(),
        )

    def _world(self, problem: Problem, progress: Progress = silent) -> World:
        trusted = np.concatenate([problem.seeds, problem.valid])
        vectors = self._vectors(problem) if self._vectors else None
        trust = Trust.of(problem, self.settings, self.seed)
        kept = self._memory.literals
        wording = Wording.of(problem, trust.anchors, self.settings, kept, progress)
        graphs = problem.left, problem.right
        world = World.of(*graphs, trusted, self.settings, vectors, wording, problem.gone)
        return replace(world, self_taught=wording is not None and not trust.plenty)

    def _notes(self, problem: Problem) -> tuple[str, ...]:
        literals = problem.left_values, problem.right_values
        note = note_on([text for values in literals for text in values.literals])
        return (*self._notes_on_trust(problem), *([note] if note else []))

    def _notes_on_trust(self, problem: Problem) -> tuple[str, ...]:
        trust = Trust.of(problem, self.settings, self.seed)
        given = f"trusted links: {len(trust.all)}"
        if len(self._memory.confidence) == 0 and len(trust.all) == 0:
            return ("no trusted links, and no literals that say the same: nothing to go by",)
        if len(self._memory.confidence) == 0:
            return ("no two entities share a matched neighbour: nothing to go by",)
        if self._memory.lore is None:
            return (f"{given}, nothing to learn from: confidence is a guess",)
        if not trust.enough:
            return (f"{given}, little to learn from: confidence is a guess",)
        return ()


def _sureness(problem: Problem, links: Candidates) -> tuple[str, ...]:
    """How sure the links are, where nobody vouches for any."""
    if len(problem.seeds) + len(problem.valid) or not len(links):
        return ()
    mean = links.score.mean()
    return (f"without trusted links: {len(links)} links of a mean confidence of {mean:.2f}",)
