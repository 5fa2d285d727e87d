"""What evidence keeps from version to version, and how it becomes arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.inference import Knowledge, Lore
from everalign.methods.evidence.judge import Judge
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.world import Beliefs
from everalign.methods.protocol import Arrays, Problem


@dataclass(frozen=True)
class Memory:
    """What was learned, what is known, and what came of it.

    `arrivals` are the numbers of entities on either side after each version, `triples` those of
    triples now, `studied` is their sum when the judge last learned. `lore` is None where there
    was nothing to learn from.
    """

    lore: Lore | None
    knowledge: Knowledge
    confidence: Floats
    threshold: float
    arrivals: NDArray[np.int64]
    triples: tuple[int, int]
    studied: int

    @staticmethod
    def blank() -> Memory:
        """Before the first version."""
        nothing = Knowledge.plain(Beliefs.none((0, 0)))
        arrivals = np.empty((0, 2), dtype=np.int64)
        return Memory(None, nothing, nothing.support, 0.0, arrivals, (0, 0), 0)

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

    @property
    def growth(self) -> float:
        """How much the graphs have grown since the judge last learned."""
        return sum(self.triples) / max(1, self.studied) - 1


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
    }
    if lore is None:
        return arrays
    hidden = lore.hidden.likely(soft)
    return arrays | {
        "judge": np.frombuffer(lore.judge.text, dtype=np.uint8),
        "judge_of_absence": np.frombuffer(lore.absence.text, dtype=np.uint8),
        "empty": np.array(lore.empty),
        "hidden_left": hidden.table.left,
        "hidden_right": hidden.table.right,
        "hidden_probability": hidden.probability,
    }


def from_arrays(arrays: Arrays) -> Memory:
    """The memory that was saved."""
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
    )


def _lore(arrays: Arrays, sizes: tuple[int, int]) -> Lore:
    left, right, probability = (
        arrays[f"hidden_{name}"] for name in ("left", "right", "probability")
    )
    return Lore(
        Judge([arrays["judge"].tobytes()]),
        Judge([arrays["judge_of_absence"].tobytes()]),
        float(arrays["empty"]),
        Beliefs.of(left, right, probability, sizes),
    )
