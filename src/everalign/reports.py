"""What the façade answers with: plain values, ready to print or to turn into JSON."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Link:
    """A link in force. `origin` is "given" for a person's word, "found" for a method's."""

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

    The links that rest on a method's word grow by `added` + `revised` − `retracted`; `literals`
    counts the triples that were left out because they lead to no entity.
    """

    version: int
    made_at: str
    source: str = ""
    left_triples: int = 0
    right_triples: int = 0
    left_entities: int = 0
    right_entities: int = 0
    literals: int = 0
    links: int = 0
    added: int = 0
    revised: int = 0
    retracted: int = 0
    seconds: float = 0.0
    peak_rss_mb: float = 0.0


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
