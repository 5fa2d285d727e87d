"""Plans an alignment: counts, a sample to learn the speed of the machine, and the cost model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from everalign._parallel import thread_count
from everalign._platform import total_memory_bytes
from everalign._progress import Progress, no_progress
from everalign.aligner import Aligner
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.config import Config
from everalign.errors import ConfigError
from everalign.graph import LinkSource
from everalign.io import LinkReader
from everalign.planning.costs import CostModel, GraphCounts, StepCost, compute_terms
from everalign.planning.recording import StepRecorder
from everalign.planning.survey import GraphFiles, GraphSurvey, choose_sample, survey_graph

DEFAULT_DELTA_SHARE = 0.01
DEFAULT_SAMPLE_STATEMENTS = 30_000
# Too little to tell the speed of anything.
MIN_SAMPLE_STATEMENTS = 2_000
# A sample whose speed differs by more than this from that of the measured machine is no measure.
MAX_SPEED_FACTOR = 10.0
# What graphs have of which only the triples are known: about as much as DBpedia has of them.
TYPICAL_TRIPLES_PER_ENTITY = 5.0
TYPICAL_NAME_BYTES = 40.0
TYPICAL_LITERAL_BYTES = 25.0
TYPICAL_DISTINCT_SHARE = 0.7
MAX_COUNT = 10**12


@dataclass(frozen=True)
class OperationCost:
    """What a fit or an update costs.

    Attributes:
        steps: The cost of each step, in order.
        seconds: How long all of them take.
        memory_bytes: The peak of memory, mapped files not included.
        disk_bytes: What is added to the state directory.
        trains_models: Whether models are trained.
    """

    steps: tuple[StepCost, ...]
    seconds: float
    memory_bytes: float
    disk_bytes: float
    trains_models: bool

    @staticmethod
    def from_steps(steps: tuple[StepCost, ...], *, trains_models: bool) -> OperationCost:
        """Sum up steps.

        Args:
            steps: The cost of each.
            trains_models: Whether models are trained.

        Returns:
            The cost of all.
        """
        return OperationCost(
            steps,
            sum(step.seconds for step in steps),
            max(step.memory_bytes for step in steps),
            sum(step.disk_bytes for step in steps),
            trains_models,
        )


@dataclass(frozen=True)
class AlignmentPlan:
    """What an alignment will cost.

    Attributes:
        left: Counts of the left graph.
        right: Counts of the right graph.
        delta: Statements that an update adds or removes.
        cores: Cores of this machine that are used.
        workers: Cores of a cluster that are used, if there is one.
        fit: Cost of `init` on this machine.
        update: Cost of an `update` on this machine.
        fit_on_workers: Cost of `init` with Apache Spark, if there are workers.
        update_on_workers: Cost of an `update` with Apache Spark.
        memory_limit_bytes: Memory that there is; 0 if that is not known.
        fits_memory: Whether that is enough.
        fitting_triples: How many triples of such graphs fit into the memory, if these do not.
        speed_factor: How many times slower this machine and data are than those measured.
        error_factors: By which factor seconds, memory and disk of predictions were wrong at most,
            nine times out of ten.
        assumptions: What the numbers rest on.
    """

    left: GraphCounts
    right: GraphCounts
    delta: int
    cores: int
    workers: int | None
    fit: OperationCost
    update: OperationCost
    fit_on_workers: OperationCost | None
    update_on_workers: OperationCost | None
    memory_limit_bytes: int
    fits_memory: bool
    fitting_triples: int | None
    speed_factor: float
    error_factors: dict[str, float]
    assumptions: tuple[str, ...]


def plan_alignment(
    left: GraphFiles | None = None,
    right: GraphFiles | None = None,
    seeds: LinkSource | None = None,
    *,
    left_counts: GraphCounts | None = None,
    right_counts: GraphCounts | None = None,
    delta: float = DEFAULT_DELTA_SHARE,
    memory_bytes: int | None = None,
    cores: int | None = None,
    workers: int | None = None,
    sample_statements: int = DEFAULT_SAMPLE_STATEMENTS,
    model: CostModel | None = None,
    progress: Progress = no_progress,
) -> AlignmentPlan:
    """Estimate time, memory and disk of an alignment with the default method.

    Args:
        left: Files of the left graph; None if its counts are given.
        right: Files of the right graph.
        seeds: Trusted links, by which a sample is chosen that belongs together.
        left_counts: Counts of the left graph, instead of files.
        right_counts: Counts of the right graph.
        delta: What an update adds or removes: a number of statements, or a share of them if it
            is below 1.
        memory_bytes: Memory that may be used; that of this machine if None.
        cores: Cores that may be used; those of this machine if None.
        workers: Cores of a cluster with Apache Spark, if there is one.
        sample_statements: Statements of both graphs that are aligned to learn how fast this
            machine is: of the files, or generated ones. 0 for the stored speed of another
            machine.
        model: What steps cost; the one of this version if None.
        progress: Called now and then.

    Returns:
        The plan.

    Raises:
        ConfigError: A graph is missing or given twice, or a number makes no sense.
        InputError: A file cannot be read or has no triples.

    Example:
        >>> counts = GraphCounts(1_000_000, 200_000, 0, 0, 40.0, 0.0)
        >>> plan = plan_alignment(
        ...     left_counts=counts, right_counts=counts, delta=1000, sample_statements=0
        ... )
        >>> plan.delta, plan.update.seconds < plan.fit.seconds
        (1000, True)
    """
    model = model or CostModel.load()
    _check_numbers(delta, memory_bytes, cores, workers, sample_statements)
    surveys = _survey_sides(left, right, left_counts, right_counts, progress)
    if surveys is None:
        assert left_counts is not None
        assert right_counts is not None
        graphs = left_counts, right_counts
    else:
        graphs = surveys[0].estimate_counts(), surveys[1].estimate_counts()
    speed_factor = 1.0
    if sample_statements:
        speed_factor = _measure_speed(model, surveys, graphs, seeds, sample_statements, progress)
    statements = graphs[0].statements + graphs[1].statements
    changed = round(delta * statements) if delta < 1 else round(delta)
    cores = cores or thread_count()
    operations = _Operations(model, graphs, max(1, changed), cores, speed_factor)
    limit = total_memory_bytes() if memory_bytes is None else memory_bytes
    fit, update = operations.estimate_fit(None), operations.estimate_update(None)
    needed = max(fit.memory_bytes, update.memory_bytes)
    fits = not limit or needed <= limit
    return AlignmentPlan(
        *graphs,
        max(1, changed),
        cores,
        workers,
        fit,
        update,
        operations.estimate_fit(workers) if workers else None,
        operations.estimate_update(workers) if workers else None,
        limit,
        fits,
        None if fits else operations.find_fitting_triples(limit),
        round(speed_factor, 3),
        dict(model.error_factors),
        _list_assumptions(
            model, graphs, surveys is not None, seeds is not None, workers, sample_statements
        ),
    )


def complete_counts(
    triples: int, entities: int | None = None, literals: int | None = None
) -> GraphCounts:
    """Complete the counts of a graph of which little is known.

    Args:
        triples: Triples between entities.
        entities: Entities; a typical number if None.
        literals: Triples with a literal; none if None.

    Returns:
        The counts.

    Raises:
        ConfigError: A number makes no sense.

    Example:
        >>> complete_counts(1000).entities
        200
    """
    if entities is None:
        entities = max(1, round(triples / TYPICAL_TRIPLES_PER_ENTITY))
    literals = literals or 0
    for name, count in (("triples", triples), ("entities", entities)):
        if not 1 <= count <= MAX_COUNT:
            raise ConfigError(f"the number of {name} must be from 1 to {MAX_COUNT:,}, got {count}")
    if not 0 <= literals <= MAX_COUNT:
        raise ConfigError(f"the number of literals must be from 0 to {MAX_COUNT:,}")
    if entities > 2 * triples + literals:
        raise ConfigError(f"{triples} triples cannot have {entities} entities")
    distinct = round(literals * TYPICAL_DISTINCT_SHARE)
    return GraphCounts(
        triples, entities, literals, distinct, TYPICAL_NAME_BYTES, TYPICAL_LITERAL_BYTES
    )


@dataclass(frozen=True)
class _Operations:
    """Estimates a fit and an update of two graphs."""

    model: CostModel
    graphs: tuple[GraphCounts, GraphCounts]
    delta: int
    cores: int
    speed_factor: float

    def estimate_fit(self, workers: int | None) -> OperationCost:
        return self._estimate("fit", 0, workers)

    def estimate_update(self, workers: int | None) -> OperationCost:
        trained = self._estimate("retraining", self.delta, workers)
        if self.delta > self._find_training_delta():
            return trained
        spread = self._estimate("update", self.delta, workers)
        # What is affected is at most everything.
        return min(spread, trained, key=lambda cost: cost.seconds)

    def find_fitting_triples(self, limit: int) -> int:
        """Find by bisection how many triples of such graphs a fit has memory for."""
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            left, right = (graph.scale(middle) for graph in self.graphs)
            scaled = replace(self, graphs=(left, right))
            if scaled.estimate_fit(None).memory_bytes <= limit:
                low = middle
            else:
                high = middle
        return round(low * sum(graph.triples for graph in self.graphs))

    def _find_training_delta(self) -> float:
        from everalign.methods.evidence.config import EvidenceParameters

        statements = sum(graph.statements for graph in self.graphs)
        return EvidenceParameters().retrain_growth * statements

    def _estimate(self, operation: str, delta: int, workers: int | None) -> OperationCost:
        terms = compute_terms(self.graphs, delta)
        steps = self.model.estimate_steps(
            operation,
            terms,
            cores=self.cores,
            workers=workers,
            speed_factor=self.speed_factor,
        )
        return OperationCost.from_steps(steps, trains_models=operation != "update")


def _check_numbers(
    delta: float,
    memory_bytes: int | None,
    cores: int | None,
    workers: int | None,
    sample_statements: int,
) -> None:
    # Negated comparisons, so that NaN is refused too.
    if not 0 < delta <= MAX_COUNT:
        raise ConfigError("the delta must be a share above 0 or a number of statements")
    for name, value in (("memory", memory_bytes), ("cores", cores), ("workers", workers)):
        if value is not None and not value >= 1:
            raise ConfigError(f"{name} must be at least 1, got {value}")
    if sample_statements and sample_statements < MIN_SAMPLE_STATEMENTS:
        raise ConfigError(
            f"a sample must have at least {MIN_SAMPLE_STATEMENTS} statements, "
            f"got {sample_statements}"
        )


def _survey_sides(
    left: GraphFiles | None,
    right: GraphFiles | None,
    left_counts: GraphCounts | None,
    right_counts: GraphCounts | None,
    progress: Progress,
) -> tuple[GraphSurvey, GraphSurvey] | None:
    """Read both graphs; None if their counts are given."""
    sides = (left, left_counts), (right, right_counts)
    if any((source is None) == (counts is None) for source, counts in sides) or (
        (left is None) != (right is None)
    ):
        raise ConfigError("a plan needs the files of both graphs, or the numbers of both")
    if left is None or right is None:
        return None
    progress("counting the left graph", 0, 2)
    first = survey_graph(left)
    progress("counting the right graph", 1, 2)
    return first, survey_graph(right)


def _measure_speed(
    model: CostModel,
    surveys: tuple[GraphSurvey, GraphSurvey] | None,
    graphs: tuple[GraphCounts, GraphCounts],
    seeds: LinkSource | None,
    sample_statements: int,
    progress: Progress,
) -> float:
    """How many times longer a fit of a sample takes than the model says."""
    # So that no kernel has to be compiled while time is measured.
    progress("preparing the sample", 0, 2)
    _align_sample(*_generate_sample(MIN_SAMPLE_STATEMENTS, with_labels=True))
    if surveys is None:
        with_labels = any(graph.literals for graph in graphs)
        sample, links = _generate_sample(sample_statements, with_labels=with_labels)
    else:
        reader = seeds if isinstance(seeds, LinkReader) else LinkReader(seeds or ())
        pairs = [(link.left, link.right) for link in reader]
        sample, links = choose_sample(surveys, pairs, sample_statements)
    progress("aligning the sample", 1, 2)
    recorder = _align_sample(sample, links)
    terms = compute_terms(survey.estimate_counts() for survey in sample)
    expected = sum(step.seconds for step in model.estimate_steps("fit", terms))
    factor = recorder.cpu_seconds / expected
    return min(max(factor, 1 / MAX_SPEED_FACTOR), MAX_SPEED_FACTOR)


def _generate_sample(
    statements: int, *, with_labels: bool
) -> tuple[tuple[GraphSurvey, GraphSurvey], list[tuple[str, str]]]:
    sample = generate_sample(SampleConfig(triples=statements, snapshots=1))
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    left, right = (
        GraphSurvey(
            triples,
            [(name, label, f'"{text}"') for name, text in labels] if with_labels else [],
        )
        for triples, labels in (
            (sample.left(0), sample.left_labels()),
            (sample.right(0), sample.right_labels()),
        )
    )
    return (left, right), [*sample.seeds, *sample.validation_links]


def _align_sample(
    sample: tuple[GraphSurvey, GraphSurvey], links: Sequence[tuple[str, str]]
) -> StepRecorder:
    recorder = StepRecorder()
    with TemporaryDirectory() as scratch, recorder.record():
        left, right = ([*survey.triples, *survey.literals] for survey in sample)
        Aligner.create(
            Path(scratch) / "state", left, right, list(links), config=Config(), progress=recorder
        )
    return recorder


def _list_assumptions(
    model: CostModel,
    graphs: tuple[GraphCounts, GraphCounts],
    has_files: bool,
    has_seeds: bool,
    workers: int | None,
    sample_statements: int,
) -> tuple[str, ...]:
    statements = sum(graph.statements for graph in graphs)
    lines = []
    if not has_files:
        lines.append(
            "counts that are not given are typical ones: "
            f"{TYPICAL_TRIPLES_PER_ENTITY:g} triples for each entity, "
            f"{TYPICAL_DISTINCT_SHARE:.0%} of the literals distinct, names of "
            f"{TYPICAL_NAME_BYTES:g} bytes, literals of {TYPICAL_LITERAL_BYTES:g}"
        )
    elif not all(graph.is_exact for graph in graphs):
        lines.append(
            "files are alike all through; distinct entities and literals grow with the file as "
            "they do within what was read"
        )
    if not sample_statements:
        lines.append("this machine is as fast as the one on which costs were measured")
    elif has_files:
        origin = "around the seeds" if has_seeds else "at the beginning of the files"
        lines.append(f"the whole is as hard to align as a sample of it {origin}")
    else:
        lines.append("the graphs are as hard to align as generated ones")
    lines.append("degrees are distributed as in generated graphs: no hubs beyond theirs")
    if statements > 2 * model.largest_triples:
        lines.append(
            f"costs go on growing with n or n · log n: the graphs have "
            f"{statements / model.largest_triples:.0f} times as many statements as the largest "
            "that were measured"
        )
    lines.append("work in chunks is divided evenly among the cores, the rest is done by one")
    lines.append(
        "an update changes facts all over the graphs; a tenth of all facts trains the models again"
    )
    lines.append("memory is that of the process, mapped files not included")
    if workers:
        lines.append(
            "workers are cores as fast as this one with a shared file system, and all of them "
            "wait for the driver; the driver needs as much memory as without them"
        )
    return tuple(lines)
