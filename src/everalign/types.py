"""What the methods of `Aligner` return: frozen dataclasses, ready to print or turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A link between a left and a right entity.

    Args:
        left: Name (IRI) of the left entity.
        right: Name (IRI) of the right entity.
        score: 1.0 for given links. Otherwise the score of the method; a probability if the
            method is calibrated.
        since: The version that put the link in force; for a proposal, the version asked for; for
            a link that follows from waiting decisions, the next version.
        origin: "given" for a person's decision, "found" for a link found by the method,
            "proposed" for a pair below the threshold and "rejected" for one that a person
            rejected; these two are not in force.

    Example:
        >>> Link("Oslo", "Осло", 0.97, since=0, origin="found").right
        'Осло'
    """

    left: str
    right: str
    score: float
    since: int
    origin: str


@dataclass(frozen=True)
class LinkPage:
    """Some of the links of a view.

    Args:
        links: The links, best first.
        next: To be given as `after` to get the next page; None at the end.
    """

    links: tuple[Link, ...]
    next: str | None


@dataclass(frozen=True)
class LinkCounts:
    """How many pairs there are.

    Args:
        given: Links in force that people have given.
        found: Links in force that the method has found.
        rejected: Pairs that people have rejected.
    """

    given: int
    found: int
    rejected: int


@dataclass(frozen=True)
class EntityName:
    """An entity as people read it.

    Args:
        name: Its name (IRI).
        label: What it is called.
        curie: Its IRI with a prefix; empty if no prefix fits.
    """

    name: str
    label: str
    curie: str


@dataclass(frozen=True)
class ClassSummary:
    """The entities of a class.

    Args:
        name: The class: an object of `rdf:type`.
        entities: How many entities have it.
        linked: How many of them have a link.
    """

    name: str
    entities: int
    linked: int


@dataclass(frozen=True)
class SideSummary:
    """How much of a graph is linked.

    Args:
        entities: The number of its entities that are in scope.
        linked: How many of them have a link.
        classes: The classes with the most entities.
    """

    entities: int
    linked: int
    classes: tuple[ClassSummary, ...]


@dataclass(frozen=True)
class AlignmentSummary:
    """How much is linked, and how surely.

    Args:
        left: The left graph.
        right: The right graph.
        given_links: Links in force that people have given.
        found_links: Links in force that the method has found.
        blank_links: Links in force with a blank node.
        plain_links: Links in force with a name that is neither a blank node nor an IRI.
        proposals: Pairs below the threshold whose entities have no link.
        confidence: The number of found links in each tenth of the confidence, from 0 to 1; empty
            if scores are not probabilities.
        doubtful: The share of found links with a confidence below 0.8; None if there are none, or
            scores are not probabilities.
    """

    left: SideSummary
    right: SideSummary
    given_links: int
    found_links: int
    blank_links: int
    plain_links: int
    proposals: int
    confidence: tuple[int, ...]
    doubtful: float | None


@dataclass(frozen=True)
class ExportResult:
    """What became of the links, changes or statements that were to be written.

    Args:
        written: How many were written.
        skipped: How many were left out, by the reason why the format cannot hold them.
    """

    written: int
    skipped: Mapping[str, int]


@dataclass(frozen=True)
class LinkEvent:
    """Something that happened to a link in a version, or a decision that is waiting.

    Args:
        version: The version; None for a decision that no version has taken up yet.
        kind: "added", "revised" (takes the place of another link), "retracted", "rescored",
            "confirmed", "rejected" or "withdrawn" (a decision no longer holds); for decisions
            that change no link themselves also "no counterpart" and "unsure".
        left: Name of the left entity; empty if a decision is about a right entity alone.
        right: Name of the right entity; empty if a decision is about a left entity alone.
        score: The score with which it happened.
        reason: Why, in words.
        author: Who took the decision that caused it, if one did.
        decided_at: When that decision was recorded (ISO 8601, UTC).
        comment: What its author wrote.
        waiting: Whether it is a decision that no version has taken up yet.
        cause: What ended a link that was retracted, rejected or withdrawn: "decision", "lost
            evidence", "new evidence", "better rival", "relearned models", "new shares", "out of
            scope" or "revert" (`RetractionCause` in `everalign.causes`). Empty for other events,
            and if the method cannot tell.
    """

    version: int | None
    kind: str
    left: str
    right: str
    score: float
    reason: str
    author: str = ""
    decided_at: str = ""
    comment: str = ""
    waiting: bool = False
    cause: str = ""


@dataclass(frozen=True)
class EventPage:
    """Some of the link events of a view.

    Args:
        events: The events, oldest first.
        next: To be given as `after` to get the next page; None at the end.
    """

    events: tuple[LinkEvent, ...]
    next: str | None


@dataclass(frozen=True)
class Decision:
    """A decision of a person, as it is recorded.

    Args:
        number: Its number; decisions take effect in this order.
        kind: "confirmed", "rejected", "withdrawn", "no counterpart" or "unsure".
        left: Name of the left entity; empty if it is about a right entity alone.
        right: Name of the right entity; empty if it is about a left entity alone.
        author: Who decided.
        decided_at: When it was recorded (ISO 8601, UTC).
        comment: What the author wrote.
        key: The key of the request: a repeated request with this key changes nothing.
        seen_version: The last version when it was given.
    """

    number: int
    kind: str
    left: str
    right: str
    author: str
    decided_at: str
    comment: str
    key: str
    seen_version: int


@dataclass(frozen=True)
class LinkDifference:
    """How one pair differs between two versions.

    Args:
        kind: As in `LinkEvent`, but the net effect of everything between the versions.
        left: Name of the left entity.
        right: Name of the right entity.
        before: Score at the first of the two versions; None if it was no link.
        after: Score at the second; None if it is no link.
        version: The version of the last event of the pair between the two.
        reason: The reason of that event.
        cause: The cause of that event, as in `LinkEvent`.
    """

    kind: str
    left: str
    right: str
    before: float | None
    after: float | None
    version: int
    reason: str
    cause: str


@dataclass(frozen=True)
class VersionReport:
    """What one version brought: facts in, links out.

    `found_links` grows by `links_added` + `links_revised` − `links_retracted`, apart from links
    that people have confirmed, rejected or withdrawn.

    Args:
        version: Number of the version, from 0.
        made_at: When it was committed (ISO 8601, UTC).
        source: Where the changes came from: file names, "memory", "full pass", ….
        left_added_triples: Triples that the left graph gained.
        right_added_triples: Triples that the right graph gained.
        left_removed_triples: Triples that the left graph lost.
        right_removed_triples: Triples that the right graph lost.
        left_added_entities: Left entities that have facts now and had none.
        right_added_entities: Right entities that have facts now and had none.
        left_removed_entities: Left entities that had facts and have none now.
        right_removed_entities: Right entities that had facts and have none now.
        added_literals: Statements with a literal that were read, of both graphs.
        missing_removals: Removals of statements that were not there.
        found_links: Found links in force (given links are not counted).
        links_added: Links that are new.
        links_revised: Links that take the place of another one.
        links_retracted: Links that are no longer in force.
        links_confirmed: Links that were confirmed by people, or given as trusted links.
        links_rejected: Pairs that were rejected.
        links_withdrawn: Pairs whose decision no longer holds.
        seconds: Duration of the update.
        peak_rss_mb: Peak memory of the process in MB; 0 where the platform does not tell.
        threshold: Candidate pairs that score less became proposals.
        trained: Whether a method that updates locally was trained: for the first version, and
            again after much has changed.
        notes: Remarks of the method.
        calibrated: Whether there were enough trusted links to calibrate confidence; without them
            it is a guess.
    """

    version: int
    made_at: str
    # With defaults: a version that did not run the method reports only some of them.
    source: str = ""
    left_added_triples: int = 0
    right_added_triples: int = 0
    left_removed_triples: int = 0
    right_removed_triples: int = 0
    left_added_entities: int = 0
    right_added_entities: int = 0
    left_removed_entities: int = 0
    right_removed_entities: int = 0
    added_literals: int = 0
    missing_removals: int = 0
    found_links: int = 0
    links_added: int = 0
    links_revised: int = 0
    links_retracted: int = 0
    links_confirmed: int = 0
    links_rejected: int = 0
    links_withdrawn: int = 0
    seconds: float = 0.0
    peak_rss_mb: float = 0.0
    threshold: float | None = None
    trained: bool = False
    notes: tuple[str, ...] = ()
    calibrated: bool = True


@dataclass(frozen=True)
class UpdateResult:
    """What came of a change.

    Args:
        reports: A report of each version made; empty if there was nothing to do.
        message: Why there was nothing to do; empty otherwise.
    """

    reports: tuple[VersionReport, ...]
    message: str


@dataclass(frozen=True)
class DecisionResult:
    """What was recorded, and what came of it if it was to take effect at once.

    Args:
        decisions: The decisions as they are recorded.
        reports: A report of each version made; empty while the decisions are waiting.
        message: Why no version was made; empty otherwise.
    """

    decisions: tuple[Decision, ...]
    reports: tuple[VersionReport, ...]
    message: str


@dataclass(frozen=True)
class ContradictedLink:
    """A given link that contradicts its neighbourhood: it is more likely wrong than right.

    It stays a link, but counts little as evidence for other links.

    Args:
        left: Name of the left entity.
        right: Name of the right entity.
        probability: Estimated probability that it is right.
        support: Sum of the weights of the evidence for it.
        rival_left: Left entity of the best other pair of one of the two; None if there is none.
        rival_right: Right entity of this pair.
        rival_support: The sum of the weights of the evidence for this pair.
    """

    left: str
    right: str
    probability: float
    support: float
    rival_left: str | None
    rival_right: str | None
    rival_support: float


@dataclass(frozen=True)
class AlignmentStatus:
    """The state of an alignment.

    Args:
        state: Path of the state directory.
        method: Name of the method.
        merge_rule: How found links and links in force are merged.
        cardinality: How many links an entity may have, such as "one-to-one".
        seed: Random seed.
        languages: Languages of labels, the best first; empty for those of the locale.
        version: Number of the last version; None before the first.
        left_triples: Triples of the left graph now.
        right_triples: Triples of the right graph now.
        left_entities: Entities of the left graph now.
        right_entities: Entities of the right graph now.
        given_links: Links in force that people have given.
        found_links: Links in force that the method has found.
        waiting_decisions: Decisions that no version has taken up yet.
        pending: Source of an update that was interrupted; None if there is none.
        reports: A report of each version, oldest first.
        contradicted_count: Number of given links that contradict their neighbourhood.
        contradicted_links: The least probable ones of them.
    """

    # A string and not a path, so that the status can be turned into JSON.
    state: str
    method: str
    merge_rule: str
    cardinality: str
    seed: int
    languages: str
    version: int | None
    left_triples: int
    right_triples: int
    left_entities: int
    right_entities: int
    given_links: int
    found_links: int
    waiting_decisions: int
    pending: str | None
    reports: tuple[VersionReport, ...]
    contradicted_count: int = 0
    contradicted_links: tuple[ContradictedLink, ...] = ()


@dataclass(frozen=True)
class EvidenceItem:
    """Two matched neighbours that count as evidence for a pair.

    Args:
        left_relation: Relation between the left entity and its neighbour.
        left_inverse: Whether the relation leads from the neighbour to the entity.
        left_neighbour: Name of the left neighbour, or a literal.
        right_relation: Relation between the right entity and its neighbour.
        right_inverse: Whether the relation leads from the neighbour to the entity.
        right_neighbour: Name of the right neighbour, or a literal.
        confidence: How sure it is that the neighbours match.
        weight: What the item adds to the support of the pair.
    """

    left_relation: str
    left_inverse: bool
    left_neighbour: str
    right_relation: str
    right_inverse: bool
    right_neighbour: str
    confidence: float
    weight: float


@dataclass(frozen=True)
class Contribution:
    """What one kind of evidence adds to a confidence.

    Args:
        group: "prior" for what is expected of a candidate before anything is known of it;
            "neighbours" that are matched or not; "names and values", classes among them; "rivals",
            how other candidates of the two entities do; "may have no counterpart" for what is lost
            since an entity may be dangling; "earlier confidence" for what is kept of that before
            the last training.
        value: What it adds; less than 0 if it takes away.
    """

    group: str
    value: float


@dataclass(frozen=True)
class CandidateExplanation:
    """A candidate pair and the evidence for it.

    Args:
        left: Name of the left entity.
        right: Name of the right entity.
        confidence: The score of the pair.
        support: Sum of the weights of all evidence, also of items too light to be listed.
        evidence: Matched neighbours, heaviest first; perhaps not all of them.
        evidence_count: How many there are.
        contributions: What adds up to the confidence, in the order of a waterfall; empty for
            trusted links, and if the method cannot tell.
    """

    left: str
    right: str
    confidence: float
    support: float
    evidence: tuple[EvidenceItem, ...]
    evidence_count: int
    contributions: tuple[Contribution, ...] = ()


@dataclass(frozen=True)
class EntityExplanation:
    """Why an entity of one graph has its links, or none.

    Args:
        side: "left" or "right".
        links: Its links in force, best first; one at most, unless the cardinality allows more.
        candidates: The candidate pairs of the entity, best first.
        reason: Why the best candidate that is not a link lost.
        contradicted_links: Given links of the entity that contradict their neighbourhood.
    """

    side: str
    links: tuple[Link, ...]
    candidates: tuple[CandidateExplanation, ...]
    reason: str
    contradicted_links: tuple[ContradictedLink, ...] = ()

    @property
    def link(self) -> Link | None:
        """The best of its links, if there is one."""
        return self.links[0] if self.links else None


@dataclass(frozen=True)
class Explanation:
    """The links of a name explained.

    Args:
        entity: Name of the entity.
        threshold: The threshold of the last version whose method had one.
        sides: One explanation for each graph that has an entity of this name.
    """

    entity: str
    threshold: float | None
    sides: tuple[EntityExplanation, ...]


@dataclass(frozen=True)
class RelationAlignment:
    """How far a left and a right relation mean the same.

    Args:
        left: Name of the left relation.
        right: Name of the right relation.
        inverse: Whether the right relation is read from tail to head.
        left_in_right: Estimated share of the left relation's triples that the right one has too.
        right_in_left: The same the other way round.
        support: Number of triples that the estimate rests on.
        is_attribute: Whether the two lead to literals.
    """

    left: str
    right: str
    inverse: bool
    left_in_right: float
    right_in_left: float
    support: float
    is_attribute: bool = False


@dataclass(frozen=True)
class ClassAlignment:
    """How far a left and a right class have the same instances.

    Args:
        left: IRI of the left class.
        right: IRI of the right class.
        left_in_right: Estimated share of the left class's instances that the right one has too.
        right_in_left: The same the other way round.
        support: Number of links between their instances, each with its confidence.
    """

    left: str
    right: str
    left_in_right: float
    right_in_left: float
    support: float


@dataclass(frozen=True)
class Verification:
    """What `Aligner.verify` has found and done.

    Args:
        findings: What is wrong, one line each; empty if all is well.
        repaired: What was done about it.
        remaining: What is still wrong after that.
    """

    findings: tuple[str, ...]
    repaired: tuple[str, ...] = ()
    remaining: tuple[str, ...] = ()


@dataclass(frozen=True)
class Compaction:
    """What `Aligner.compact` has done.

    Args:
        removed_versions: The versions whose method state was removed. Their links, facts and
            decisions are still there.
        bytes_before: Size of the state directory on the disk before.
        bytes_after: Size after.
    """

    removed_versions: tuple[int, ...]
    bytes_before: int
    bytes_after: int


@dataclass(frozen=True)
class LabelledEntity:
    """An entity of one of the graphs.

    Args:
        side: "left" or "right".
        name: Its name (IRI).
        label: What it is called.
    """

    side: str
    name: str
    label: str


@dataclass(frozen=True)
class EntityPage:
    """Some entities of a graph.

    Args:
        entities: The entities, in the order in which they came.
        next: To be given as `after` to get the next page; None at the end.
    """

    entities: tuple[LabelledEntity, ...]
    next: str | None


@dataclass(frozen=True)
class SearchResult:
    """An entity with a label that matches what was searched for.

    Args:
        entity: The entity.
        match: The label that matches; the entity may be shown with another one.
        is_prefix: Whether the match begins with the text.
    """

    entity: LabelledEntity
    match: str
    is_prefix: bool


@dataclass(frozen=True)
class LiteralFact:
    """A statement of an entity with a literal.

    Args:
        attribute: Name of the attribute.
        literal: The literal as N-Triples writes it.
    """

    attribute: str
    literal: str


@dataclass(frozen=True)
class Neighbour:
    """An entity that another one is connected with.

    Args:
        relation: Name of the relation.
        inverse: Whether the relation leads from the neighbour to the entity.
        entity: The neighbour.
        counterparts: The entities of the other graph that the neighbour is linked with, best
            first.
    """

    relation: str
    inverse: bool
    entity: LabelledEntity
    counterparts: tuple[LabelledEntity, ...]

    @property
    def counterpart(self) -> LabelledEntity | None:
        """The best of them, if there is one."""
        return self.counterparts[0] if self.counterparts else None


@dataclass(frozen=True)
class Candidate:
    """An entity of the other graph that may be the counterpart.

    Args:
        entity: The candidate.
        confidence: The score of the pair.
        support: Sum of the weights of all evidence for it.
    """

    entity: LabelledEntity
    confidence: float
    support: float


@dataclass(frozen=True)
class EntityDetails:
    """What is known about an entity.

    Args:
        entity: The entity.
        links: Its links in force, best first; one at most, unless the cardinality allows more.
        counterparts: The entities that it is linked with, in the same order.
        literals: Its statements with literals; perhaps not all.
        neighbours: What it is connected with; perhaps not all.
        literal_count: How many statements with literals it has.
        neighbour_count: How many triples it is in.
        candidates: Its candidates, best first; none if the method cannot tell.
    """

    entity: LabelledEntity
    links: tuple[Link, ...]
    counterparts: tuple[LabelledEntity, ...]
    literals: tuple[LiteralFact, ...]
    neighbours: tuple[Neighbour, ...]
    literal_count: int
    neighbour_count: int
    candidates: tuple[Candidate, ...]

    @property
    def link(self) -> Link | None:
        """The best of its links, if there is one."""
        return self.links[0] if self.links else None

    @property
    def counterpart(self) -> LabelledEntity | None:
        """The entity of the best of its links, if there is one."""
        return self.counterparts[0] if self.counterparts else None


@dataclass(frozen=True)
class FactValue:
    """What a fact states: a neighbour or a literal.

    Args:
        text: The label of the neighbour, or the text of the literal.
        name: The name (IRI) of the neighbour, or the literal as N-Triples writes it.
        matched: Whether the other entity of the comparison has the same: the same text, or the
            counterpart of the neighbour.
        language: Language of the literal; empty if it has none.
        is_literal: Whether it is a literal.
    """

    text: str
    name: str
    matched: bool
    language: str
    is_literal: bool


@dataclass(frozen=True)
class FactComparison:
    """What two entities state by relations that correspond, side by side.

    Args:
        relation: Name of the relation or attribute of the first entity; empty if it has none.
        inverse: Whether the relation leads to the entity.
        other_relation: The one of the other entity that corresponds; empty if it has none.
        other_inverse: Whether that leads to the other entity.
        values: What the first entity states; perhaps not all.
        other_values: What the other one states; perhaps not all.
        value_count: How many values the first entity has.
        other_value_count: How many the other one has.
        kind: "same" if they share a value, "similar" if texts are nearly the same, "different" if
            both have values and share none, "only entity" or "only candidate" if one has none.
    """

    relation: str
    inverse: bool
    other_relation: str
    other_inverse: bool
    values: tuple[FactValue, ...]
    other_values: tuple[FactValue, ...]
    value_count: int
    other_value_count: int
    kind: str


@dataclass(frozen=True)
class QuestionCandidate:
    """An entity that may be the answer to a question.

    Args:
        entity: The candidate.
        confidence: The score of the pair.
        is_link: Whether the two are linked now.
        linked_with: The entity that the candidate is linked with now, if it is another one.
        facts: The facts of both entities side by side, those that correspond first; perhaps not
            all.
        fact_count: How many comparisons there are.
    """

    entity: LabelledEntity
    confidence: float
    is_link: bool
    linked_with: LabelledEntity | None
    facts: tuple[FactComparison, ...]
    fact_count: int


@dataclass(frozen=True)
class Question:
    """An entity whose counterpart is asked for.

    Args:
        key: Names the question: the side, a space, and the name of the entity.
        entity: The entity.
        counterpart: The entity that it is linked with now, if it is.
        candidates: Its best candidates, five at most.
        expected_gain: What an answer is expected to add to F1.
        reason: Why it is asked: "unlinked", "linked" (but perhaps wrongly) or "disagreement".
        opinions: What stands of earlier decisions about the entity, oldest first.
        version: The version that it is about.
    """

    key: str
    entity: LabelledEntity
    counterpart: LabelledEntity | None
    candidates: tuple[QuestionCandidate, ...]
    expected_gain: float
    reason: str
    opinions: tuple[Decision, ...]
    version: int


@dataclass(frozen=True)
class QuestionBatch:
    """Questions to be asked together.

    Args:
        questions: The questions, best first.
        remaining: How many questions are open for the author, these included.
        expected_gain: What the answers to all of these are expected to add to F1.
        version: The version that they are about.
    """

    questions: tuple[Question, ...]
    remaining: int
    expected_gain: float
    version: int


@dataclass(frozen=True)
class Disagreement:
    """An entity about which people have decided differently.

    Args:
        entity: Name of the entity.
        side: "left" or "right".
        decisions: What stands of the decisions about it, oldest first. The last one is in force.
    """

    entity: str
    side: str
    decisions: tuple[Decision, ...]
