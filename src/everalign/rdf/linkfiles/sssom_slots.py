"""What SSSOM 1.0 lets one say, and what 1.1 has added: slots, their types, their values.

From the schema and from the pages on the model and on SSSOM/TSV at https://w3id.org/sssom/spec.
"""

from __future__ import annotations


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SAME = ("owl:sameAs", "skos:exactMatch")
NOT = "Not"
NO_TERM = "sssom:NoTermFound"

# Slots of a mapping set that a file may have in its metadata block, in the order of the schema.
SET_SLOTS = _names("""
    curie_map mapping_set_id mapping_set_version mapping_set_source mapping_set_title
    mapping_set_description creator_id creator_label license subject_type subject_source
    subject_source_version object_type object_source object_source_version mapping_provider
    mapping_tool mapping_tool_version mapping_date publication_date subject_match_field
    object_match_field subject_preprocessing object_preprocessing see_also issue_tracker other
    comment extension_definitions
""")
SET_SLOTS_1_1 = _names("""
    sssom_version mapping_set_confidence predicate_type cardinality_scope mapping_tool_id
    similarity_measure curation_rule curation_rule_text
""")

# Slots of a mapping, each a column, in the order of the schema.
SLOTS = _names("""
    subject_id subject_label subject_category predicate_id predicate_label predicate_modifier
    object_id object_label object_category mapping_justification author_id author_label
    reviewer_id reviewer_label creator_id creator_label license subject_type subject_source
    subject_source_version object_type object_source object_source_version mapping_provider
    mapping_source mapping_cardinality mapping_tool mapping_tool_version mapping_date
    publication_date confidence curation_rule curation_rule_text subject_match_field
    object_match_field match_string subject_preprocessing object_preprocessing similarity_score
    similarity_measure see_also issue_tracker_item other comment
""")
SLOTS_1_1 = _names("record_id predicate_type cardinality_scope mapping_tool_id review_date")

REQUIRED_OF_SET = ("mapping_set_id", "license")
REQUIRED = ("subject_id", "predicate_id", "object_id", "mapping_justification")

# Said once for the whole set where all mappings agree.
PROPAGATED = _names("""
    mapping_date mapping_provider mapping_tool mapping_tool_version object_match_field
    object_preprocessing object_source object_source_version object_type subject_match_field
    subject_preprocessing subject_source subject_source_version subject_type
""")
MULTIVALUED = _names("""
    creator_id creator_label author_id author_label reviewer_id reviewer_label see_also
    mapping_set_source subject_match_field object_match_field match_string subject_preprocessing
    object_preprocessing curation_rule curation_rule_text cardinality_scope
""")

ENTITIES = _names("""
    subject_id predicate_id object_id mapping_justification author_id reviewer_id creator_id
    subject_source object_source mapping_source curation_rule subject_match_field
    object_match_field subject_preprocessing object_preprocessing issue_tracker_item
    mapping_tool_id record_id
""")
IRIS = _names("mapping_set_id mapping_set_source license mapping_provider see_also issue_tracker")
DATES = ("mapping_date", "publication_date", "review_date")
SHARES = ("confidence", "similarity_score", "mapping_set_confidence")

_ENTITY_TYPES = frozenset(
    {
        "owl class", "owl object property", "owl data property", "owl annotation property",
        "owl named individual", "skos concept", "rdfs resource", "rdfs class", "rdfs literal",
        "rdfs datatype", "rdf property", "composed entity expression",
    }
)  # fmt: skip
_JUSTIFICATIONS = _names("""
    MappingReview ManualMappingCuration LogicalReasoning LexicalMatching CompositeMatching
    UnspecifiedMatching SemanticSimilarityThresholdMatching LexicalSimilarityThresholdMatching
    MappingChaining MappingInversion StructuralMatching InstanceBasedMatching
    BackgroundKnowledgeBasedMatching
""")
CHOICES = {
    "predicate_modifier": frozenset({NOT}),
    "mapping_justification": frozenset(f"semapv:{name}" for name in _JUSTIFICATIONS),
    "mapping_cardinality": frozenset({"1:1", "1:n", "n:1", "n:n", "1:0", "0:1", "0:0"}),
    "subject_type": _ENTITY_TYPES,
    "object_type": _ENTITY_TYPES,
    "predicate_type": _ENTITY_TYPES,
    "sssom_version": frozenset({"1.0", "1.1"}),
}
