"""How much of an alignment is linked, how surely, and of which classes (internal)."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everalign.decide import WaitingView
from everalign.io.links import BLANK_NODE_PROBLEM, find_name_problem
from everalign.scope import find_out_of_scope
from everalign.select import Selection, is_calibrated, iterate_free_proposals, iterate_links
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.state.snapshots import SIDES
from everalign.types import AlignmentSummary, ClassSummary, SideSummary

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# Less sure than this is worth a look.
DOUBTFUL_CONFIDENCE = 0.8
MAX_CLASSES = 5
BIN_COUNT = 10


def summarise_alignment(
    session: AlignmentSession, max_classes: int = MAX_CLASSES, *, with_waiting: bool = True
) -> AlignmentSummary:
    """Summarise the links of the last version.

    Args:
        session: An open alignment that has a version.
        max_classes: How many classes of each graph to list.
        with_waiting: Whether links are shown as the waiting decisions change them.

    Returns:
        Coverage, classes and confidence.
    """
    version = None if with_waiting else session.store.last_version()
    links = list(iterate_links(session, Selection(), version))
    scores = [link.score for link in links if link.origin == "found"]
    calibrated = is_calibrated(session)
    bins = Counter(min(int(score * BIN_COUNT), BIN_COUNT - 1) for score in scores)
    doubtful = sum(score < DOUBTFUL_CONFIDENCE for score in scores)
    found_problems = (find_name_problem(link.left, link.right) for link in links)
    problems = Counter(problem for problem in found_problems if problem)
    names = session.entity_names()
    linked = (
        set(names[0].find_ids([link.left for link in links]).tolist()),
        set(names[1].find_ids([link.right for link in links]).tolist()),
    )
    return AlignmentSummary(
        _summarise_side(session, "left", linked[0], max_classes),
        _summarise_side(session, "right", linked[1], max_classes),
        given_links=len(links) - len(scores),
        found_links=len(scores),
        blank_links=problems[BLANK_NODE_PROBLEM],
        plain_links=problems.total() - problems[BLANK_NODE_PROBLEM],
        proposals=sum(1 for _ in iterate_free_proposals(session, WaitingView())),
        confidence=tuple(bins[number] for number in range(BIN_COUNT)) if calibrated else (),
        doubtful=doubtful / len(scores) if calibrated and scores else None,
    )


def _summarise_side(
    session: AlignmentSession, side: Side, linked: set[int], max_classes: int
) -> SideSummary:
    vocabulary = session.vocabulary(side)
    index = SIDES.index(side)
    triples, literals = session.snapshot.triples[index], session.snapshot.literals[index]
    relation = vocabulary.relations.find(RDF_TYPE)
    typed = triples[triples[:, 1] == (-1 if relation is None else relation)]
    # Masks over all entities: sorting the ids of a large graph would take minutes.
    size = len(vocabulary.entities)
    is_linked = _mark(size, list(linked))
    is_outside = _mark(size, find_out_of_scope(session.config, vocabulary, triples))
    typed = typed[~is_outside[typed[:, 0]]]
    counts = Counter(typed[:, 2].tolist())
    linked_counts = Counter(typed[is_linked[typed[:, 0]], 2].tolist())
    # Ties by id, so that the summary is the same in every run.
    best = sorted(counts, key=lambda number: (-counts[number], number))[:max_classes]
    classes = (
        ClassSummary(vocabulary.entities[number], counts[number], linked_counts[number])
        for number in best
    )
    exists = _mark(size, triples[:, 0], triples[:, 2], literals[:, 0])
    # A person may have linked what is out of scope.
    counted = (exists & ~is_outside) | is_linked
    return SideSummary(int(np.count_nonzero(counted)), len(linked), tuple(classes))


def _mark(size: int, *ids: ArrayLike) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=np.bool_)
    for column in ids:
        mask[np.asarray(column, dtype=np.int64)] = True
    return mask
