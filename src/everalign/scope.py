"""The scope of an alignment: which entities are to be linked.

Classes and properties are schema: they say what the entities of a graph have in common, and are
evidence, but no owl:sameAs link is to be made of them. By default all other entities are in scope.
With classes given, those of their instances; a class has the instances of its subclasses as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from everalign.config import Config
from everalign.errors import ConfigError
from everalign.graph import IntArray, Vocabulary
from everalign.graph.id_sets import mark_members, subtract_ids, union_ids, unique_ids
from everalign.graph.iri_names import list_endings
from everalign.graph.triples import mark_known_rows

RDF, RDFS, OWL = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "http://www.w3.org/2000/01/rdf-schema#",
    "http://www.w3.org/2002/07/owl#",
)
TYPE, SUBCLASS = f"{RDF}type", f"{RDFS}subClassOf"
# Whatever has one of these types is a class or a property.
SCHEMA_TYPES = (
    f"{RDF}Property",
    f"{RDFS}Class",
    f"{RDFS}Datatype",
    f"{OWL}Class",
    f"{OWL}Restriction",
    f"{OWL}ObjectProperty",
    f"{OWL}DatatypeProperty",
    f"{OWL}AnnotationProperty",
    f"{OWL}FunctionalProperty",
    f"{OWL}InverseFunctionalProperty",
    f"{OWL}SymmetricProperty",
    f"{OWL}TransitiveProperty",
    f"{OWL}Ontology",
)

# Both ends of these are classes or properties.
SCHEMA_RELATIONS = (
    SUBCLASS,
    f"{RDFS}subPropertyOf",
    f"{RDFS}domain",
    f"{RDFS}range",
    f"{OWL}equivalentClass",
    f"{OWL}disjointWith",
    f"{OWL}equivalentProperty",
    f"{OWL}inverseOf",
    f"{OWL}onProperty",
    f"{OWL}someValuesFrom",
    f"{OWL}allValuesFrom",
)

# Classes that an error names.
MAX_LISTED = 5

NO_IDS = np.empty(0, dtype=np.int32)

ListFacts = Callable[[Sequence[int]], IntArray]


@dataclass(frozen=True)
class GraphScope:
    """The scope of one graph, in ids.

    Args:
        type_relation: The relation from an instance to its class; -1 if there is none.
        subclass_relation: The relation from a class to a more general one; -1 if there is none.
        schema_types: The classes of classes and of properties.
        schema_relations: The relations between classes and properties.
        classes: The classes whose instances are to be linked; empty for all.
        other_classes: The classes whose instances are not to be linked.
    """

    type_relation: int
    subclass_relation: int
    schema_types: IntArray
    schema_relations: IntArray
    classes: IntArray
    other_classes: IntArray

    @staticmethod
    def from_config(config: Config, vocabulary: Vocabulary) -> GraphScope:
        """Look up the names that matter.

        Args:
            config: The configuration of the alignment.
            vocabulary: The names of the graph.

        Returns:
            The scope.
        """
        relations, entities = vocabulary.relations, vocabulary.entities
        type_relation, subclass_relation = relations.find_ids([TYPE, SUBCLASS]).tolist()
        schema_types, classes, other_classes = (
            _drop_unknown(entities.find_ids(list(names)))
            for names in (SCHEMA_TYPES, config.classes, config.other_classes)
        )
        schema_relations = _drop_unknown(relations.find_ids(list(SCHEMA_RELATIONS)))
        return GraphScope(
            type_relation,
            subclass_relation,
            schema_types,
            schema_relations,
            classes,
            other_classes,
        )

    def find_outside(self, triples: IntArray, entity_count: int) -> IntArray:
        """Find the entities of a whole graph that are not in scope.

        Args:
            triples: All triples.
            entity_count: Number of entities.

        Returns:
            Their ids, ascending.
        """
        types, subclasses = self._select_types(triples), self._select_subclasses(triples)

        def list_subclasses(classes: Sequence[int]) -> IntArray:
            return subclasses[np.isin(subclasses[:, 2], classes)]

        everything = np.arange(entity_count, dtype=np.int32) if len(self.classes) else NO_IDS
        return self._leave_out(everything, self.find_schema(triples), types, list_subclasses)

    def find_outside_changed(
        self, added: IntArray, removed: IntArray, new: IntArray, list_facts: ListFacts
    ) -> tuple[IntArray, IntArray]:
        """Find out again for the entities of a change whether they are in scope.

        Args:
            added: Triples that the graph gains.
            removed: Triples that it loses.
            new: Entities that had no facts, may no longer be schema, or have to be looked at for
                another reason.
            list_facts: Lists the triples before the change that have one of some entities.

        Returns:
            Those that are not in scope, and those that are and may not have been; ascending.
        """
        known = list_facts(new.tolist())
        known = known[~mark_known_rows(known, removed)]
        schema = self.find_schema(np.concatenate([added, known]))
        if not len(self.classes) and not len(self.other_classes):
            return schema, subtract_ids(new, schema)
        changed = np.concatenate([self._select_types(added), self._select_types(removed)])[:, 0]
        changed = unique_ids(np.concatenate([changed, new]))
        before = self._select_types(list_facts(changed.tolist()))
        types = np.concatenate(
            [before[~mark_known_rows(before, removed)], self._select_types(added)]
        )
        new_subclasses = self._select_subclasses(added)

        def list_subclasses(classes: Sequence[int]) -> IntArray:
            known = self._select_subclasses(list_facts(classes))
            rows = np.concatenate([known, new_subclasses])
            return rows[np.isin(rows[:, 2], classes)]

        everything = changed if len(self.classes) else NO_IDS
        outside = self._leave_out(everything, schema, types, list_subclasses)
        return outside, subtract_ids(changed, outside)

    def find_schema(self, triples: IntArray) -> IntArray:
        """Find the classes and properties that triples tell of.

        Args:
            triples: Some triples.

        Returns:
            What is a type, is typed as class or property, or has to do with other classes and
            properties as only these have; ascending.
        """
        types = self._select_types(triples)
        is_schema = mark_members(self.schema_types, types[:, 2])
        related = triples[mark_members(self.schema_relations, triples[:, 1])][:, [0, 2]].ravel()
        return unique_ids(np.concatenate([types[:, 2], types[is_schema, 0], related]))

    def _select_types(self, triples: IntArray) -> IntArray:
        selected: IntArray = triples[triples[:, 1] == self.type_relation]
        return selected

    def _select_subclasses(self, triples: IntArray) -> IntArray:
        selected: IntArray = triples[triples[:, 1] == self.subclass_relation]
        return selected

    def _leave_out(
        self, entities: IntArray, schema: IntArray, types: IntArray, list_subclasses: ListFacts
    ) -> IntArray:
        """Of entities and schema, those that are not instances of the classes in scope."""
        outside = unique_ids(np.concatenate([entities, schema]))
        # Who asks for the instances of owl:Class means them.
        inside = self._list_instances(self.classes, types, list_subclasses)
        others = self._list_instances(self.other_classes, types, list_subclasses)
        return unique_ids(np.concatenate([subtract_ids(outside, inside), others]))

    def _list_instances(
        self, classes: IntArray, types: IntArray, list_subclasses: ListFacts
    ) -> IntArray:
        """The instances of classes and of their subclasses."""
        known, found = classes, classes
        while len(found):
            found = subtract_ids(list_subclasses(found.tolist())[:, 0], known)
            known = unique_ids(np.concatenate([known, found]))
        instances: IntArray = types[mark_members(known, types[:, 2]), 0]
        return instances


def find_out_of_scope(config: Config, vocabulary: Vocabulary, triples: IntArray) -> IntArray:
    """Find the entities of a graph that are not to be linked.

    Args:
        config: The configuration of the alignment.
        vocabulary: The names of the graph.
        triples: All triples.

    Returns:
        Their ids, ascending: those that are not in scope, and all predicates.
    """
    scope = GraphScope.from_config(config, vocabulary)
    outside = scope.find_outside(triples, len(vocabulary.entities))
    named = vocabulary.entities.find_ids([*vocabulary.relations, *vocabulary.attributes])
    return union_ids(outside, named[named >= 0])


def resolve_classes(
    config: Config,
    vocabularies: Sequence[Vocabulary],
    graphs: Sequence[IntArray],
    expand_curie: Callable[[str], str | None],
) -> Config:
    """Replace the classes of a configuration by their full names.

    Args:
        config: The configuration of the alignment, with classes as people write them: by IRI,
            CURIE, or the last part of an IRI.
        vocabularies: The names of the left and the right graph.
        graphs: The triples of both.
        expand_curie: Gives the IRI of a CURIE whose prefix is known.

    Returns:
        The configuration with names that the graphs have.

    Raises:
        ConfigError: No graph has one of the classes, or a graph has several.
    """
    if not config.classes and not config.other_classes:
        return config
    known = [
        vocabulary.entities.map_names(
            GraphScope.from_config(config, vocabulary).find_schema(triples).tolist()
        ).values()
        for vocabulary, triples in zip(vocabularies, graphs, strict=True)
    ]

    def resolve(texts: Sequence[str]) -> tuple[str, ...]:
        found = (_find_class(text, vocabularies, known, expand_curie) for text in texts)
        return tuple(dict.fromkeys(name for names in found for name in names))

    return replace(
        config, classes=resolve(config.classes), other_classes=resolve(config.other_classes)
    )


def _find_class(
    text: str,
    vocabularies: Sequence[Vocabulary],
    known: Sequence[Collection[str]],
    expand_curie: Callable[[str], str | None],
) -> list[str]:
    """The class that is meant, or that of each graph if only the last part is given."""
    for name in (text, expand_curie(text), text.strip("<>")):
        if name and any(names.entities.find(name) is not None for names in vocabularies):
            return [name]
    found = [[name for name in names if name.endswith(list_endings(text))] for names in known]
    if not any(found):
        named = {name for names in known for name in names if not name.startswith("_:")}
        classes = sorted(named)[:MAX_LISTED]
        some = f"; classes are {', '.join(classes)}" if classes else ""
        raise ConfigError(f"no graph has the class {text}{some}")
    for names in found:
        if len(names) > 1:
            shown = ", ".join(sorted(names)[:MAX_LISTED])
            raise ConfigError(f"the class {text} is ambiguous: it can be {shown}")
    return [name for names in found for name in names]


def _drop_unknown(ids: IntArray) -> IntArray:
    return unique_ids(ids[ids >= 0])
