"""The cost model: coefficients for each step, and what they give for graphs of some size.

The time of a step is a sum of terms, each a coefficient times an amount such as the number of
triples n or n · log2 n; so are its peak memory and what it leaves on the disk. The coefficients
are measured by `benchmarks/plan_costs.py` and are in `cost_coefficients.json`, in seconds of one
core and in bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Self

from everalign.errors import ConfigError

Terms = Mapping[str, float]

COEFFICIENTS_FILE = "cost_coefficients.json"


@dataclass(frozen=True)
class GraphCounts:
    """How much a graph has.

    Attributes:
        triples: Triples between entities.
        entities: Entities.
        literals: Triples with a literal.
        distinct_literals: Literals that differ from one another.
        name_bytes: Average length of the name of an entity, in bytes.
        literal_bytes: Average length of a literal, in bytes.
        is_exact: Whether everything was counted, and nothing estimated.

    Example:
        >>> GraphCounts(1000, 200, 300, 150, 40.0, 12.0).text_bytes
        9800.0
    """

    triples: int
    entities: int
    literals: int
    distinct_literals: int
    name_bytes: float
    literal_bytes: float
    is_exact: bool = False

    @property
    def text_bytes(self) -> float:
        """Bytes of all names of entities and all distinct literals."""
        names = self.entities * self.name_bytes
        return names + self.distinct_literals * self.literal_bytes

    @property
    def statements(self) -> int:
        """Triples and literals together."""
        return self.triples + self.literals

    def scale(self, factor: float) -> Self:
        """Imagine a larger or smaller graph of the same kind.

        Args:
            factor: How many times as large.

        Returns:
            The counts times the factor.
        """
        return replace(
            self,
            triples=round(self.triples * factor),
            entities=round(self.entities * factor),
            literals=round(self.literals * factor),
            distinct_literals=round(self.distinct_literals * factor),
            is_exact=False,
        )


def compute_terms(graphs: Iterable[GraphCounts], delta: int = 0) -> dict[str, float]:
    """Compute the amounts that coefficients are multiplied by.

    Args:
        graphs: Both graphs.
        delta: Statements that an update adds or removes.

    Returns:
        The amount of each term. `delta_root` is √(delta · statements): what a change affects
        grows more slowly than the change, and with the graphs around it.

    Example:
        >>> terms = compute_terms([GraphCounts(1024, 100, 0, 0, 10.0, 0.0)], delta=4)
        >>> terms["triple_log"], terms["text_byte"], terms["delta_root"]
        (10240.0, 1000.0, 64.0)
    """
    sides = tuple(graphs)
    triples = sum(graph.triples for graph in sides)
    literals = sum(graph.literals for graph in sides)
    return {
        "constant": 1.0,
        "triple": float(triples),
        "triple_log": _multiply_log(triples),
        "entity": float(sum(graph.entities for graph in sides)),
        # Names make the classifiers larger, however few there are.
        "literals_given": float(literals > 0),
        "literal": float(literals),
        "literal_log": _multiply_log(literals),
        "text_byte": sum(graph.text_bytes for graph in sides),
        "delta": float(delta),
        "delta_root": math.sqrt(delta * (triples + literals)),
    }


def _multiply_log(count: int) -> float:
    return count * math.log2(max(count, 2))


@dataclass(frozen=True)
class StepCoefficients:
    """The coefficients of a step, by term.

    Attributes:
        serial_seconds: Seconds of one core that nothing else can share.
        chunk_seconds: Seconds of one core that cores and workers can divide among them.
        memory_bytes: Peak of anonymous memory: that of the process without mapped files.
        disk_bytes: What the step adds to the state directory.
        job_count: How often chunks are handed out.
    """

    serial_seconds: Terms
    chunk_seconds: Terms
    memory_bytes: Terms
    disk_bytes: Terms
    job_count: float = 0.0


@dataclass(frozen=True)
class ClusterCoefficients:
    """What Apache Spark costs.

    Attributes:
        seconds_per_job: What a job takes besides the work itself.
        worker_factor: Seconds of a worker for each second that a chunk takes in a thread.
    """

    seconds_per_job: float
    worker_factor: float


@dataclass(frozen=True)
class StepCost:
    """What a step costs.

    Attributes:
        name: The step.
        seconds: How long it takes.
        memory_bytes: Its peak of memory.
        disk_bytes: What it adds to the state directory.
    """

    name: str
    seconds: float
    memory_bytes: float
    disk_bytes: float


@dataclass(frozen=True)
class CostModel:
    """The coefficients of all steps.

    Attributes:
        operations: For "fit", "update" and "retraining" (an update that trains the models again)
            the coefficients of each step.
        cluster: What Spark adds.
        error_factors: For seconds, memory and disk by which factor a prediction was wrong at most
            when it was checked.
        largest_triples: The largest number of statements that was measured.
    """

    operations: Mapping[str, Mapping[str, StepCoefficients]]
    cluster: ClusterCoefficients
    error_factors: Mapping[str, float]
    largest_triples: int

    @staticmethod
    @cache
    def load() -> CostModel:
        """Load the coefficients of this version.

        Returns:
            The model; it is read once.
        """
        text = (files(__package__) / COEFFICIENTS_FILE).read_text(encoding="utf-8")
        return CostModel.from_json(json.loads(text))

    @staticmethod
    def from_json(content: Mapping[str, Any]) -> CostModel:
        """Build a model from the content of a coefficients file.

        Args:
            content: As `benchmarks/plan_costs.py` writes it.

        Returns:
            The model.

        Raises:
            ConfigError: Something is missing.
        """
        try:
            return CostModel(
                {
                    operation: {name: StepCoefficients(**values) for name, values in steps.items()}
                    for operation, steps in content["operations"].items()
                },
                ClusterCoefficients(**content["cluster"]),
                content["error_factors"],
                content["largest_triples"],
            )
        except (KeyError, TypeError) as error:
            raise ConfigError(f"cost coefficients are not as expected: {error}") from None

    def estimate_steps(
        self,
        operation: str,
        terms: Terms,
        *,
        cores: int = 1,
        workers: int | None = None,
        speed_factor: float = 1.0,
    ) -> tuple[StepCost, ...]:
        """Estimate the steps of an operation.

        With p for the seconds of a step that are work in chunks and s for the others, the time
        is s + p / cores in threads, and s + t·p + w·p / workers + j·jobs on Spark.

        Args:
            operation: "fit", "update" or "retraining".
            terms: From `compute_terms`.
            cores: Cores of this machine.
            workers: Cores of a cluster that do the work in chunks; None for threads.
            speed_factor: How many times slower this machine is than the one that was measured.

        Returns:
            The cost of each step, in order.
        """
        costs = []
        for name, step in self.operations[operation].items():
            serial = _sum_terms(step.serial_seconds, terms) * speed_factor
            chunks = _sum_terms(step.chunk_seconds, terms) * speed_factor
            if workers is None:
                seconds = serial + chunks / cores
            else:
                cluster = self.cluster
                seconds = serial + cluster.worker_factor * chunks / workers
                seconds += cluster.seconds_per_job * step.job_count
            costs.append(
                StepCost(
                    name,
                    seconds,
                    _sum_terms(step.memory_bytes, terms),
                    _sum_terms(step.disk_bytes, terms),
                )
            )
        return tuple(costs)


def _sum_terms(coefficients: Terms, terms: Terms) -> float:
    return sum(value * terms[name] for name, value in coefficients.items())
