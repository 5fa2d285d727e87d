"""The JSON shapes of the API; the OpenAPI description follows from them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

MAX_IRI_LENGTH = 8000
MAX_COMMENT_LENGTH = 5000
MAX_AUTHOR_LENGTH = 200
MAX_TEXT_LENGTH = 500
MAX_PAGE = 200
MAX_DECISIONS = 100
MAX_CANDIDATES = 20
MAX_LEFT_OUT = 2000

SideName = Literal["left", "right"]
StateName = Literal["given", "found", "proposed", "rejected"]
Iri = Annotated[str, StringConstraints(min_length=1, max_length=MAX_IRI_LENGTH)]
Key = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._:-]{8,100}$")]
Comment = Annotated[str, StringConstraints(max_length=MAX_COMMENT_LENGTH)]
Author = Annotated[str, StringConstraints(max_length=MAX_AUTHOR_LENGTH)]


class Shape(BaseModel):
    """An answer, or a part of one."""

    model_config = ConfigDict(frozen=True)


class Body(BaseModel):
    """What a client sends; members that are not known are an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Entity(Shape):
    """An entity of one of the graphs; `url` is null unless it may be linked to."""

    side: SideName
    name: str
    label: str
    curie: str
    lang: str | None
    dir: Literal["ltr", "rtl"]
    url: str | None


class Relation(Shape):
    """A relation as it is read from an entity."""

    name: str
    label: str
    curie: str
    inverse: bool = False


class Value(Shape):
    """A literal or an entity in a table of facts; `name` is the IRI or the literal."""

    text: str
    lang: str | None
    dir: Literal["ltr", "rtl"]
    url: str | None
    name: str
    is_entity: bool
    matched: bool = False


class ComparedRelation(Relation):
    """A relation of one of the graphs."""

    side: SideName
    attribute: bool = False


class ComparisonRow(Shape):
    """The values of one relation and its counterparts, one cell for each column."""

    relations: list[ComparedRelation]
    cells: list[list[Value]]
    agreement: list[str | None]


class Comparison(Shape):
    """Facts of an entity (column 0) and of others, aligned by relation."""

    columns: list[Entity]
    rows: list[ComparisonRow]


class LinkModel(Shape):
    """A pair; `since` is null if it was never a link."""

    left: Entity
    right: Entity
    confidence: float
    state: str
    since: int | None
    waiting: bool = False


class Evidence(Shape):
    """Two matched neighbours or literals."""

    left_relation: Relation
    left: Value
    right_relation: Relation
    right: Value
    confidence: float
    weight: float


class ContributionModel(Shape):
    """What a group of features adds to the confidence."""

    group: str
    value: float


class CandidateModel(Shape):
    """A possible counterpart, with what speaks for it."""

    entity: Entity
    confidence: float
    support: float
    state: str
    evidence: list[Evidence]
    evidence_count: int
    contributions: list[ContributionModel]
    why_not: str = ""


class NeighbourModel(Shape):
    """An entity that is connected with another one."""

    relation: Relation
    entity: Entity
    counterparts: list[Entity]


class Event(Shape):
    """Something that happened to a link, or a decision."""

    version: int | None
    kind: str
    left: Entity | None
    right: Entity | None
    confidence: float
    reason: str
    author: str
    decided_at: str
    comment: str
    waiting: bool
    cause: str


class DecisionModel(Shape):
    """A decision as it is recorded."""

    number: int
    kind: str
    left: Entity | None
    right: Entity | None
    author: str
    decided_at: str
    comment: str
    key: str
    seen_version: int
    waiting: bool


class Answer(Shape):
    """An answer about a version."""

    version: int
    decisions: int


class Permissions(Shape):
    """What the client may do."""

    decide: bool
    update: bool


class UpdateProgress(Shape):
    """An update that this server runs or ran."""

    id: str
    kind: Literal["update", "revert"]
    state: Literal["running", "done", "failed"]
    step: str
    done: int
    total: int | None
    started_at: str
    finished_at: str | None
    message: str
    version: int | None


class SessionAnswer(Answer):
    """Who the client is, and what is served."""

    role: Literal["reader", "reviewer", "curator"]
    author: str
    author_fixed: bool
    read_only: bool
    method: str
    calibrated: bool
    cardinality: str
    name: str
    update: UpdateProgress | None
    reconciliation: str | None
    can: Permissions


class LinksAnswer(Answer):
    """A page of links."""

    links: list[LinkModel]
    count: int | None
    next: str | None


class Neighbourhood(Shape):
    """The neighbours of both entities; `pairs` joins linked ones: index, index, confidence."""

    left: list[NeighbourModel]
    right: list[NeighbourModel]
    pairs: list[tuple[int, int, float]]


class Rivals(Shape):
    """Other candidates of both entities."""

    left: list[CandidateModel]
    right: list[CandidateModel]


class LinkAnswer(Answer):
    """A pair in detail."""

    link: LinkModel
    comparison: Comparison
    candidate: CandidateModel | None
    rivals: Rivals
    neighbours: Neighbourhood
    history: list[Event]


class EntityAnswer(Answer):
    """An entity in detail."""

    entity: Entity
    links: list[LinkModel]
    comparison: Comparison
    candidates: list[CandidateModel]
    neighbours: list[NeighbourModel]
    neighbour_count: int
    literal_count: int
    reason: str
    threshold: float | None
    history: list[Event]


class UnmatchedAnswer(Answer):
    """A page of entities without a link."""

    entities: list[Entity]
    count: int
    next: str | None


class VersionsAnswer(Answer):
    """The reports of all versions."""

    versions: list[dict[str, Any]]


class CorrectionsAnswer(Answer):
    """What a version revised or retracted."""

    of: int
    events: list[Event]
    counts: dict[str, int]
    next: str | None


class RelationPair(Shape):
    """How far two relations mean the same."""

    left: Relation
    right: Relation
    inverse: bool
    left_in_right: float
    right_in_left: float
    support: float
    attribute: bool


class RelationsAnswer(Answer):
    """The alignment of relations; `count` is the number of all pairs."""

    relations: list[RelationPair]
    count: int


class RelationExample(Shape):
    """A link whose entities have both relations."""

    link: LinkModel
    left: Value
    right: Value
    same: bool


class RelationAnswer(Answer):
    """A pair of relations with examples."""

    relation: RelationPair
    examples: list[RelationExample]


class ClassCount(Shape):
    """A class, and how many of its instances are linked."""

    name: str
    label: str
    entities: int
    linked: int


class ClassesAnswer(Answer):
    """The largest classes of both graphs."""

    classes: dict[str, list[ClassCount]]


class Reviewer(Shape):
    """What somebody has answered."""

    author: str
    answers: int
    same: int
    different: int
    no_counterpart: int
    not_sure: int
    withdrawn: int
    last: str


class DisagreementModel(Shape):
    """An entity about which people say different things."""

    entity: Entity
    decisions: list[DecisionModel]


class ActivityAnswer(Answer):
    """Decisions, newest first."""

    disagreements: list[DisagreementModel]
    recorded: list[DecisionModel]
    next: str | None
    reviewers: list[Reviewer]


class QuestionModel(Shape):
    """An entity with its best candidates."""

    id: str
    entity: Entity
    link: LinkModel | None
    candidates: list[CandidateModel]
    comparison: Comparison
    expected_gain: float
    reason: str
    opinions: list[DecisionModel]
    seen_version: int


class QuestionAnswer(Answer):
    """One question."""

    question: QuestionModel


class QuestionsAnswer(Answer):
    """The next questions."""

    questions: list[QuestionModel]
    answered: int
    expected_gain: float
    remaining: int


class SearchMatch(Shape):
    """An entity that was found by one of its labels."""

    entity: Entity
    match: str
    prefix: bool
    link: LinkModel | None


class SearchAnswer(Answer):
    """What a search found."""

    results: list[SearchMatch]


class QuestionRequest(Body):
    """Which questions are wanted."""

    limit: Annotated[int, Field(ge=1, le=100)] = 10
    side: SideName | None = None
    exclude: Annotated[list[Iri], Field(max_length=MAX_LEFT_OUT)] = []
    author: Author = ""


class EntityName(Body):
    """An entity."""

    side: SideName
    name: Iri


class DecisionBody(Body):
    """A decision: about a pair (`left`, `right`), or about an entity and its candidates."""

    key: Key
    kind: Literal["same", "different", "none of these", "no counterpart", "not sure"]
    left: Iri | None = None
    right: Iri | None = None
    entity: EntityName | None = None
    candidates: Annotated[list[Iri], Field(max_length=MAX_CANDIDATES)] = []
    seen_version: Annotated[int, Field(ge=0, le=2**31)] | None = None
    comment: Comment = ""


class DecisionsBody(Body):
    """Decisions of one author, in order."""

    decisions: Annotated[list[DecisionBody], Field(min_length=1, max_length=MAX_DECISIONS)]
    author: Author = ""


class WithdrawalBody(Body):
    """The end of an earlier decision."""

    key: Key
    withdraws: Key


class WithdrawalsBody(Body):
    """Decisions to withdraw."""

    withdrawals: Annotated[list[WithdrawalBody], Field(min_length=1, max_length=MAX_DECISIONS)]
    author: Author = ""


class ErrorModel(Shape):
    """What went wrong."""

    code: str
    message: str


class ErrorAnswer(Shape):
    """An answer that is an error."""

    error: ErrorModel


class DecisionOutcome(Shape):
    """What became of a decision."""

    key: str
    status: Literal["recorded", "repeated", "refused"]
    decisions: list[DecisionModel]
    error: ErrorModel | None
    notice: str | None


class DecisionsAnswer(Answer):
    """What became of decisions; what is recorded is on the disk."""

    results: list[DecisionOutcome]


class UpdateBody(Body):
    """An update: files of the data directory, or none for the waiting decisions alone."""

    left: Iri | None = None
    right: Iri | None = None
    remove_left: Iri | None = None
    remove_right: Iri | None = None
    full: bool = False


class RevertBody(Body):
    """A version to go back to."""

    version: Annotated[int, Field(ge=0, le=2**31)]


class UpdateAnswer(Shape):
    """The update that this server runs, or ran last."""

    update: UpdateProgress | None


class LoginBody(Body):
    """A token."""

    token: Annotated[str, StringConstraints(min_length=1, max_length=500)]
