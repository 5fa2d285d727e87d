"""The seam between graphs and candidates: one small protocol and a visible registry."""

from everalign.methods.base import (
    AlignmentTask,
    CandidateChanges,
    CandidateEvidence,
    CandidateScores,
    DecisionChange,
    EvidencePiece,
    ExplainableMethod,
    GraphChange,
    IncrementalMethod,
    Method,
    RelationMatch,
    ScoringMethod,
    StateArrays,
)
from everalign.methods.registry import (
    METHODS,
    MethodEntry,
    create_method,
    get_method_entry,
    list_methods,
    register_method,
    resolve_file_settings,
)

__all__ = [
    "METHODS",
    "AlignmentTask",
    "CandidateChanges",
    "CandidateEvidence",
    "CandidateScores",
    "DecisionChange",
    "EvidencePiece",
    "ExplainableMethod",
    "GraphChange",
    "IncrementalMethod",
    "Method",
    "MethodEntry",
    "RelationMatch",
    "ScoringMethod",
    "StateArrays",
    "create_method",
    "get_method_entry",
    "list_methods",
    "register_method",
    "resolve_file_settings",
]
