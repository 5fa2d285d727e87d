"""EverAlign keeps the identity links between two changing knowledge graphs right.

Everything in `__all__` is public: `Aligner`, what its methods take and return, errors, and what
an alignment method of your own needs. Other modules are internal unless they say otherwise.

>>> from everalign import Aligner, Config
>>> Config(seed=7).seed
7
"""

from __future__ import annotations

import logging
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Type checkers do not follow `__getattr__` below.
if TYPE_CHECKING:
    from everalign._memory_limit import limit_memory
    from everalign._parallel import Engine, use_engine
    from everalign._progress import Progress
    from everalign.aligner import Aligner
    from everalign.benchmark.metrics import Scores, ThresholdScores
    from everalign.benchmark.protocol import BenchmarkRun
    from everalign.cardinality import Cardinality
    from everalign.changeset import ChangeSet
    from everalign.charts import AlignmentCharts
    from everalign.config import Config
    from everalign.engine.spark import SparkEngine
    from everalign.errors import (
        ConfigError,
        EngineError,
        EverAlignError,
        InputError,
        MemoryLimitError,
        SeedError,
        StateDamagedError,
        StateError,
        StateFormatError,
        StateLockedError,
    )
    from everalign.evaluation import Evaluation
    from everalign.graph import AttributeTriples, Graph
    from everalign.io import ExportStyle, LinkChange, Prefixes, ReadOptions, Table, TripleReader
    from everalign.matching import CandidatePairs
    from everalign.methods import (
        AlignmentTask,
        CandidateEvidence,
        EvidencePiece,
        ExplainableMethod,
        Method,
        MethodEntry,
        RelationMatch,
        list_methods,
        register_method,
    )
    from everalign.planning.costs import GraphCounts, StepCost
    from everalign.planning.plan import AlignmentPlan, OperationCost, plan_alignment
    from everalign.results import ResultList
    from everalign.types import (
        AlignmentStatus,
        AlignmentSummary,
        Candidate,
        CandidateExplanation,
        ClassAlignment,
        ClassSummary,
        Compaction,
        ContradictedLink,
        Contribution,
        Decision,
        DecisionResult,
        Disagreement,
        EntityDetails,
        EntityExplanation,
        EntityName,
        EntityPage,
        EventPage,
        EvidenceItem,
        Explanation,
        ExportResult,
        FactComparison,
        FactValue,
        LabelledEntity,
        Link,
        LinkCounts,
        LinkDifference,
        LinkEvent,
        LinkPage,
        LiteralFact,
        Neighbour,
        Question,
        QuestionBatch,
        QuestionCandidate,
        RelationAlignment,
        SearchResult,
        SideSummary,
        UpdateResult,
        Verification,
        VersionReport,
    )
    from everalign.view import AlignmentView

    __version__: str

# A program that uses the package decides what becomes of its log.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# Names are imported when they are first used: the command line must not wait for all of them.
_MODULES = {
    "_memory_limit": ["limit_memory"],
    "_parallel": ["Engine", "use_engine"],
    "_progress": ["Progress"],
    "aligner": ["Aligner"],
    "benchmark.metrics": ["Scores", "ThresholdScores"],
    "benchmark.protocol": ["BenchmarkRun"],
    "changeset": ["ChangeSet"],
    "charts": ["AlignmentCharts"],
    "cardinality": ["Cardinality"],
    "config": ["Config"],
    "engine.spark": ["SparkEngine"],
    "errors": [
        "ConfigError",
        "EngineError",
        "EverAlignError",
        "InputError",
        "MemoryLimitError",
        "SeedError",
        "StateDamagedError",
        "StateError",
        "StateFormatError",
        "StateLockedError",
    ],
    "evaluation": ["Evaluation"],
    "graph": ["AttributeTriples", "Graph"],
    "io": ["ExportStyle", "LinkChange", "Prefixes", "ReadOptions", "Table", "TripleReader"],
    "matching": ["CandidatePairs"],
    "methods": [
        "AlignmentTask",
        "CandidateEvidence",
        "EvidencePiece",
        "ExplainableMethod",
        "Method",
        "MethodEntry",
        "RelationMatch",
        "list_methods",
        "register_method",
    ],
    "planning.costs": ["GraphCounts", "StepCost"],
    "planning.plan": ["AlignmentPlan", "OperationCost", "plan_alignment"],
    "results": ["ResultList"],
    "types": [
        "AlignmentStatus",
        "AlignmentSummary",
        "Candidate",
        "CandidateExplanation",
        "ClassAlignment",
        "ClassSummary",
        "Compaction",
        "Contribution",
        "Decision",
        "DecisionResult",
        "Disagreement",
        "ContradictedLink",
        "EntityDetails",
        "EntityExplanation",
        "EntityName",
        "EntityPage",
        "EventPage",
        "EvidenceItem",
        "Explanation",
        "ExportResult",
        "FactComparison",
        "FactValue",
        "LabelledEntity",
        "Link",
        "LinkCounts",
        "LinkDifference",
        "LinkEvent",
        "LinkPage",
        "LiteralFact",
        "Neighbour",
        "Question",
        "QuestionBatch",
        "QuestionCandidate",
        "RelationAlignment",
        "SearchResult",
        "SideSummary",
        "UpdateResult",
        "Verification",
        "VersionReport",
    ],
    "view": ["AlignmentView"],
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [
    "Aligner",
    "AlignmentCharts",
    "AlignmentPlan",
    "AlignmentStatus",
    "AlignmentSummary",
    "AlignmentTask",
    "AlignmentView",
    "AttributeTriples",
    "BenchmarkRun",
    "Candidate",
    "CandidateEvidence",
    "CandidateExplanation",
    "CandidatePairs",
    "Cardinality",
    "ChangeSet",
    "ClassAlignment",
    "ClassSummary",
    "Compaction",
    "Config",
    "ConfigError",
    "ContradictedLink",
    "Contribution",
    "Decision",
    "DecisionResult",
    "Disagreement",
    "Engine",
    "EngineError",
    "EntityDetails",
    "EntityExplanation",
    "EntityName",
    "EntityPage",
    "Evaluation",
    "EventPage",
    "EverAlignError",
    "EvidenceItem",
    "EvidencePiece",
    "ExplainableMethod",
    "Explanation",
    "ExportResult",
    "ExportStyle",
    "FactComparison",
    "FactValue",
    "Graph",
    "GraphCounts",
    "InputError",
    "LabelledEntity",
    "Link",
    "LinkChange",
    "LinkCounts",
    "LinkDifference",
    "LinkEvent",
    "LinkPage",
    "LiteralFact",
    "MemoryLimitError",
    "Method",
    "MethodEntry",
    "Neighbour",
    "OperationCost",
    "Prefixes",
    "Progress",
    "Question",
    "QuestionBatch",
    "QuestionCandidate",
    "ReadOptions",
    "RelationAlignment",
    "RelationMatch",
    "ResultList",
    "Scores",
    "SearchResult",
    "SeedError",
    "SideSummary",
    "SparkEngine",
    "StateDamagedError",
    "StateError",
    "StateFormatError",
    "StateLockedError",
    "StepCost",
    "Table",
    "ThresholdScores",
    "TripleReader",
    "UpdateResult",
    "Verification",
    "VersionReport",
    "__version__",
    "limit_memory",
    "list_methods",
    "plan_alignment",
    "register_method",
    "use_engine",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        # From the metadata of the installed package: the number is kept in one place.
        from importlib.metadata import version

        return version("everalign")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'everalign' has no attribute {name!r}")
    return getattr(import_module(f"everalign.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    # Otherwise names that are not imported yet would be missing from completion.
    return sorted({*globals(), *__all__})
