"""What evidence keeps from version to version, and how it becomes arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals import ValueMatches
from everalign.methods.evidence.inference import Knowledge, Lore
from everalign.methods.evidence.panel import Panel
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.wording import Kept
from everalign.methods.evidence.world import Beliefs
from everalign.methods.protocol import NOBODY, Arrays, Problem

Facts = tuple[IntArray, IntArray]

NO_LINKS: IntArray = np.empty((0, 2), dtype=np.int32)


@dataclass(frozen=True)
class Memory:
    """What was learned, what is known, and what came of it.

    `arrivals` are the numbers of entities on either side after each version, `triples` those of
    triples now, `studied` is their sum when the judge last learned, `facts` how many facts each
    entity had then. `trusted` are the trusted links, `literals` the matches of literals. `lore`
    is None where there was nothing to learn from.
    """

    lore: Lore | None
    knowledge: Knowledge
    confidence: Floats
    threshold: float
    arrivals: NDArray[np.int64]
    triples: tuple[int, int]
    studied: int
    facts: Facts
    trusted: IntArray
    literals: Kept

    @staticmethod
    def blank() -> Memory:
        """Before the first version."""
        nothing = Knowledge.plain(Beliefs.none((0, 0)))
        arrivals = np.empty((0, 2), dtype=np.int64)
        return Memory(
            None, nothing, nothing.support, 0.0, arrivals, (0, 0), 0,
            facts=(NOBODY, NOBODY), trusted=NO_LINKS, literals=Kept.none(),
        )  # fmt: skip

    def grown(self, problem: Problem) -> Memory:
        """Take note of the size that the graphs now have."""
        sizes = problem.left.entities, problem.right.entities
        return replace(
            self,
            arrivals=np.concatenate([self.arrivals, [sizes]]),
            triples=(len(problem.left.triples), len(problem.right.triples)),
        )

    @property
    def sizes(self) -> tuple[int, int]:
        """The number of entities on either side now."""
        left, right = self.arrivals[-1].tolist()
        return left, right

    def growth(self, problem: Problem) -> float:
        """How much of the graphs has come or gone since the judge last learned.

        What came and went again does not count, nor what was put in another's place at both
        ends: only the number of facts of each entity is kept.
        """
        changed = 0
        for then, now in zip(self.facts, facts_of(problem), strict=True):
            size = max(len(then), len(now))
            gap = np.pad(now, (0, size - len(now))) - np.pad(then, (0, size - len(then)))
            changed += int(np.abs(gap).sum())
        return changed / max(1, sum(int(then.sum()) for then in self.facts))


def facts_of(problem: Problem) -> Facts:
    """The number of facts of each entity on either side: its triples and its literals.

    A triple is a fact of both of its entities, so that a literal counts twice.
    """
    left, right = (
        (
            np.bincount(graph.triples[:, [0, 2]].ravel(), minlength=graph.entities)
            + 2 * np.bincount(values.rows[:, 0], minlength=graph.entities)
        ).astype(np.int32)
        for graph, values in (
            (problem.left, problem.left_values),
            (problem.right, problem.right_values),
        )
    )
    return left, right


def to_arrays(memory: Memory, soft: float) -> Arrays:
    """All that `from_arrays` needs. Of the hidden beliefs, those that evidence can rest on."""
    known, lore = memory.knowledge, memory.lore
    arrays = {
        "left": known.beliefs.table.left,
        "right": known.beliefs.table.right,
        "probability": known.beliefs.probability,
        "support": known.support,
        "alike_left": known.alike[0],
        "alike_right": known.alike[1],
        "absence": known.absence,
        "confidence": memory.confidence,
        "threshold": np.array(memory.threshold),
        "arrivals": memory.arrivals,
        "triples": np.array(memory.triples),
        "studied": np.array(memory.studied),
        "facts_left": memory.facts[0],
        "facts_right": memory.facts[1],
        "trusted": memory.trusted,
        "literals": np.array(memory.literals.of),
        "literal_left": memory.literals.matches.left,
        "literal_right": memory.literals.matches.right,
        "literal_probability": memory.literals.matches.probability,
    }
    if lore is None:
        return arrays
    hidden = lore.hidden.likely(soft)
    return arrays | {
        **_texts("judge", lore.judge),
        **_texts("judge_of_absence", lore.absence),
        "judges_literals": np.array(lore.judge.literals),
        "empty": np.array(lore.empty),
        "hidden_left": hidden.table.left,
        "hidden_right": hidden.table.right,
        "hidden_probability": hidden.probability,
    }


def from_arrays(arrays: Arrays) -> Memory:
    """The memory that was saved."""
    arrays = _since_literals(arrays)
    arrivals = arrays["arrivals"]
    sizes = int(arrivals[-1, 0]), int(arrivals[-1, 1])
    knowledge = Knowledge(
        Beliefs.of(arrays["left"], arrays["right"], arrays["probability"], sizes),
        arrays["support"],
        (arrays["alike_left"], arrays["alike_right"]),
        arrays["absence"],
    )
    left, right = arrays["triples"].tolist()
    return Memory(
        _lore(arrays, sizes) if "judge" in arrays else None,
        knowledge,
        arrays["confidence"],
        float(arrays["threshold"]),
        arrivals,
        (left, right),
        int(arrays["studied"]),
        (arrays["facts_left"], arrays["facts_right"]),
        arrays["trusted"],
        Kept(int(arrays["literals"]), _matches_of_literals(arrays)),
    )


def _since_literals(arrays: Arrays) -> Arrays:
    """The arrays with what a release before literals did not keep: as if nothing had been known,
    so that the next update learns again."""
    if "facts_left" in arrays:
        return arrays
    no_judge = np.empty(0, dtype=np.uint8)
    return {
        **to_arrays(Memory.blank(), 0.0),
        "judge_with_literals": no_judge,
        "judge_of_absence_with_literals": no_judge,
        "judges_literals": np.array(False),
        **arrays,
    }


def _matches_of_literals(arrays: Arrays) -> ValueMatches:
    columns = (arrays[f"literal_{name}"] for name in ("left", "right", "probability"))
    return ValueMatches.of(*columns)


def _lore(arrays: Arrays, sizes: tuple[int, int]) -> Lore:
    left, right, probability = (
        arrays[f"hidden_{name}"] for name in ("left", "right", "probability")
    )
    return Lore(
        _panel(arrays, "judge"),
        _panel(arrays, "judge_of_absence"),
        float(arrays["empty"]),
        Beliefs.of(left, right, probability, sizes),
    )


def _texts(name: str, panel: Panel) -> dict[str, NDArray[np.uint8]]:
    alone, named = (np.frombuffer(text, dtype=np.uint8) for text in panel.texts())
    return {name: alone, f"{name}_with_literals": named}


def _panel(arrays: Arrays, name: str) -> Panel:
    alone, named = (arrays[key].tobytes() for key in (name, f"{name}_with_literals"))
    return Panel.of(alone, named, literals=bool(arrays["judges_literals"]))
