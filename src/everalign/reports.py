"""What the façade answers with: plain values, ready to print or to turn into JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A link in force. `origin` is "given" for a person's word, "found" for a method's.

    A proposal, which is not in force, has "proposed", and the version that it belongs to.
    """

    left: str
    right: str
    score: float
    since: int
    origin: str


@dataclass(frozen=True)
class Happening:
    """Something that happened to a link in a version, and why."""

    version: int
    what: str
    left: str
    right: str
    score: float
    reason: str


@dataclass(frozen=True)
class Report:
    """What a version brought: triples and entities in, links out.

    The links that rest on a method's word grow by `added` + `revised` − `retracted`, but for those
    that people have `confirmed` (as trusted links or later), `rejected` or `withdrawn`. `literals`
    counts the triples with a literal that came in, `absent` the removals of what was not there.
    Candidates that score less than `threshold` became proposals; `notes` are what the method has
    to say.
    """

    version: int
    made_at: str
    source: str = ""
    left_triples: int = 0
    right_triples: int = 0
    left_entities: int = 0
    right_entities: int = 0
    left_removed_triples: int = 0
    right_removed_triples: int = 0
    left_removed_entities: int = 0
    right_removed_entities: int = 0
    literals: int = 0
    absent: int = 0
    links: int = 0
    added: int = 0
    revised: int = 0
    retracted: int = 0
    confirmed: int = 0
    rejected: int = 0
    withdrawn: int = 0
    seconds: float = 0.0
    peak_rss_mb: float = 0.0
    threshold: float | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What came of an update: the versions it made (none if there was nothing to do)."""

    reports: tuple[Report, ...]
    message: str


@dataclass(frozen=True)
class Status:
    """An alignment at a glance."""

    state: str
    method: str
    rule: str
    seed: int
    version: int | None
    left_triples: int
    right_triples: int
    left_entities: int
    right_entities: int
    given_links: int
    found_links: int
    pending: str | None
    reports: tuple[Report, ...]


@dataclass(frozen=True)
class Evidence:
    """A neighbour of either entity of a pair, held to be the same, and what that weighs.

    A relation is read from the entity to its neighbour, or backwards, from the neighbour to it.
    """

    left_relation: str
    left_backwards: bool
    left_neighbour: str
    right_relation: str
    right_backwards: bool
    right_neighbour: str
    confidence: float
    weight: float


@dataclass(frozen=True)
class Considered:
    """A pair that the method has thought about; its `pieces` come in order of their weight."""

    left: str
    right: str
    confidence: float
    support: float
    pieces: tuple[Evidence, ...]


@dataclass(frozen=True)
class Account:
    """Why an entity of one graph has the link that it has, or none.

    `candidates` come best first, and `reason` says why the best of the others lost.
    """

    side: str
    link: Link | None
    candidates: tuple[Considered, ...]
    reason: str


@dataclass(frozen=True)
class Explanation:
    """An entity's links explained: an account for each of the graphs that has the entity."""

    entity: str
    threshold: float | None
    accounts: tuple[Account, ...]


@dataclass(frozen=True)
class RelationLink:
    """How far a left and a right relation mean the same.

    `left_in_right` is the estimated share of the left relation's triples that the right one has
    as well (`backwards`: with head and tail exchanged), `right_in_left` the other way round.
    `support` counts the triples that speak for it. `attributes`: the two lead to literals.
    """

    left: str
    right: str
    backwards: bool
    left_in_right: float
    right_in_left: float
    support: float
    attributes: bool = False


@dataclass(frozen=True)
class Difference:
    """How one pair differs between two versions.

    `what` is "added", "revised" (it takes the place of another link), "retracted", "rescored",
    "confirmed", "rejected" or "withdrawn" (a person's word no longer holds). `before` and `after`
    are the scores at both ends, None where the pair is no link. `version` and `reason` tell of
    the last thing that happened to it in between.
    """

    what: str
    left: str
    right: str
    before: float | None
    after: float | None
    version: int
    reason: str
