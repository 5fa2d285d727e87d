"""The façade: one alignment in its state directory, from a file of triples to a link.

Every verb of the command line is a method here, and does the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import version as installed
from pathlib import Path
from typing import IO, Any

from everalign.config import Config
from everalign.errors import ConfigError, StateError
from everalign.evaluation.metrics import Scores, calibration_error, score
from everalign.exporting import is_calibrated, selected, write_export
from everalign.flow import apply_pending, config_of, read_delta
from everalign.graph import LinkSource, TripleSource, pairs_of, refuse_unreadable
from everalign.ledger import RULES
from everalign.methods import entry_of, make_method
from everalign.past import changes_between, differences, happenings, span_of
from everalign.progress import Progress, silent
from everalign.rdf import Change, Style
from everalign.rdf.linkfiles import write_feed
from everalign.reasons import explanation, relation_links
from everalign.reports import (
    Difference,
    Explanation,
    Happening,
    Link,
    Outcome,
    RelationLink,
    Report,
    Status,
)
from everalign.selection import Selection, check_share
from everalign.store import Delta, Store


class Aligner:
    """An alignment of two growing graphs, kept in a state directory.

    >>> from tempfile import TemporaryDirectory
    >>> left = [("a", "knows", "b"), ("b", "knows", "c"), ("c", "knows", "d")]
    >>> right = [("A", "kennt", "B"), ("B", "kennt", "C"), ("C", "kennt", "D")]
    >>> with TemporaryDirectory() as directory:
    ...     seeds = [("a", "A"), ("d", "D")]
    ...     config = Config(method="contea", settings={"max_epochs": 10})
    ...     aligner = Aligner.create(f"{directory}/state", left, right, seeds, config=config)
    ...     outcome = aligner.update(left=[("d", "knows", "e")], right=[("D", "kennt", "E")])
    ...     [report.version for report in outcome.reports]
    [1]
    """

    def __init__(self, state: str | Path) -> None:
        self.state = Path(state)

    @classmethod
    def create(
        cls,
        state: str | Path,
        left: TripleSource,
        right: TripleSource,
        seeds: LinkSource,
        valid: LinkSource | None = None,
        config: Config | None = None,
        progress: Progress = silent,
    ) -> Aligner:
        """Start an alignment from two graphs and a few trusted links: version 0."""
        config = settled(config or Config())
        make_method(config)  # so that a mistake in its settings is told before any work begins
        delta = read_delta(None, left, right, seeds, valid, progress)
        with _begin(Path(state), config, delta) as store:
            apply_pending(store, progress)
        return cls(state)

    @staticmethod
    def exists(state: str | Path) -> bool:
        """Whether there is an alignment, be it one that was broken off."""
        return Store.exists(state)

    @classmethod
    def open(cls, state: str | Path) -> Aligner:
        """An alignment that exists already."""
        Store.open(state, write=False).close()
        return cls(state)

    def update(
        self,
        left: TripleSource | None = None,
        right: TripleSource | None = None,
        progress: Progress = silent,
        *,
        full: bool = False,
    ) -> Outcome:
        """Feed in what either graph has gained; first finish an update that was broken off.

        A `full` pass looks at everything again, also if nothing has come in.
        """
        with Store.open(self.state, write=True) as store:
            first, pending = store.next_version(), store.pending()
            refuse_unreadable(left, right)
            if pending is None:
                _refuse_unbegun(store, self.state)
            else:
                apply_pending(store, progress)
            # A full pass that was broken off is the one that is asked for again.
            anyway = full and not (pending and pending.full)
            if left is None and right is None and not anyway:
                finished = store.next_version() > first
                return _outcome(
                    store, first, "" if finished else "nothing to do: no delta is given or pending"
                )
            delta = read_delta(store, left, right, progress=progress, full=full)
            applied = store.applied(delta.digest)
            if applied is not None:
                return _outcome(store, first, f"this delta was applied as version {applied}")
            if not anyway and not any(len(rows) for rows in delta.arrays.values()):
                return _outcome(store, first, "nothing new: all triples are known or literals")
            store.journal(delta)
            apply_pending(store, progress)
            return _outcome(store, first)

    def links(
        self,
        *,
        min_score: float | None = None,
        min_confidence: float | None = None,
        target_precision: float | None = None,
        at: int | None = None,
    ) -> list[Link]:
        """The links in force, now or at an earlier version, best first.

        For scores that are probabilities, `min_confidence` brings in the proposals that reach
        it, and `target_precision` gives the longest list that can be expected to be so precise.
        """
        selection = Selection(min_score, min_confidence, target_precision)
        with Store.open(self.state, write=False) as store:
            return selected(store, selection, at)

    def explain(self, entity: str) -> Explanation:
        """Why an entity has the link that it has, and what else the method has considered."""
        with Store.open(self.state, write=False) as store:
            _refuse_unbegun(store, self.state)
            return explanation(store, entity)

    def relations(self, *, min_inclusion: float = 0.0) -> list[RelationLink]:
        """Which relations mean the same, best first: those of which enough is in the other."""
        check_share("min_inclusion", min_inclusion)
        with Store.open(self.state, write=False) as store:
            _refuse_unbegun(store, self.state)
            return relation_links(store, min_inclusion)

    def status(self) -> Status:
        """The alignment at a glance."""
        with Store.open(self.state, write=False) as store:
            config = config_of(store)
            reports = _reports(store)
            view, pending = store.links(), store.pending()
            return Status(
                state=str(self.state),
                method=config.method,
                rule=config.rule,
                seed=config.seed,
                version=store.last_version(),
                left_triples=sum(report.left_triples for report in reports),
                right_triples=sum(report.right_triples for report in reports),
                left_entities=sum(report.left_entities for report in reports),
                right_entities=sum(report.right_entities for report in reports),
                given_links=len(view.confirmed),
                found_links=len(view.links) - len(view.confirmed),
                pending=None if pending is None else pending.source,
                reports=tuple(reports),
            )

    def history(self, entity: str | None = None, *, since: int = 0) -> list[Happening]:
        """What happened to the links of one entity, or to all, from a version on, oldest first."""
        with Store.open(self.state, write=False) as store:
            return happenings(store, entity, since)

    def evaluate(self, gold: LinkSource, *, at: int | None = None) -> Scores:
        """How the found links compare with gold links.

        Given links are left out on both sides, and so is every gold link of their entities.
        """
        pairs = pairs_of(gold)
        links = self.links(at=at)
        lefts = {link.left for link in links if link.origin == "given"}
        rights = {link.right for link in links if link.origin == "given"}
        found = {(link.left, link.right): link.score for link in links if link.origin == "found"}
        wanted = {pair for pair in pairs if pair[0] not in lefts and pair[1] not in rights}
        scores = score(found, wanted)
        if not self._calibrated():
            return scores
        error = calibration_error(list(found.values()), [pair in wanted for pair in found])
        return replace(scores, calibration_error=error)

    def _calibrated(self) -> bool:
        with Store.open(self.state, write=False) as store:
            return is_calibrated(store)

    def diff(self, before: int, after: int) -> list[Difference]:
        """How the links differ between two versions, whichever of them is the later one."""
        with Store.open(self.state, write=False) as store:
            return differences(store, before, after)

    def changes(self, since: int | None = None, until: int | None = None) -> list[Change]:
        """What to remove from the links of a version, and to add, to get those of a later one.

        Without `since` it begins with no links at all, without `until` it leads to those in force.
        """
        with Store.open(self.state, write=False) as store:
            _refuse_unbegun(store, self.state)
            return changes_between(store, since, until)

    def write_changes(
        self,
        stream: IO[bytes],
        format: str = "jsonl",
        *,
        since: int | None = None,
        until: int | None = None,
        removals: IO[bytes] | None = None,
    ) -> int:
        """Write the changes as jsonl, nt or patch (RDF Patch) and say how many there are."""
        with Store.open(self.state, write=False) as store:
            _refuse_unbegun(store, self.state)
            changes = changes_between(store, since, until)
            write_feed(changes, stream, format, span_of(store, since, until), removals)
            return len(changes)

    def export(
        self,
        stream: IO[bytes],
        format: str = "tsv",
        style: Style | None = None,
        *,
        min_score: float | None = None,
        min_confidence: float | None = None,
        target_precision: float | None = None,
        at: int | None = None,
        found_only: bool = False,
    ) -> int:
        """Write the links that `links` would give, in any format, and say how many there are."""
        selection = Selection(min_score, min_confidence, target_precision)
        with Store.open(self.state, write=False) as store:
            _refuse_unbegun(store, self.state)
            links = selected(store, selection, at)
            if found_only:
                links = [link for link in links if link.origin != "given"]
            write_export(store, links, stream, format, style or Style(), at, found_only=found_only)
            return len(links)


def settled(config: Config) -> Config:
    """The configuration with the rule that suits its method, where it leaves that open.

    >>> settled(Config(method="contea")).rule
    'strict'
    """
    if config.rule == "auto":
        return replace(config, rule=entry_of(config.method).rule)
    if config.rule not in RULES:
        raise ConfigError(f"unknown rule {config.rule!r}; there are: auto, {', '.join(RULES)}")
    return config


def _refuse_unbegun(store: Store, state: Path) -> None:
    """Where not even the first version was made, there is nothing to go on from."""
    if store.last_version() is None:
        raise StateError(f"{state} was broken off before it began: run `init` again")


def _begin(state: Path, config: Config, delta: Delta) -> Store:
    """A new state with the delta in its journal, or one whose beginning was broken off."""
    if not Store.exists(state):
        settings = {"config": config.to_toml(), "made_by": installed("everalign")}
        store = Store.create(state, settings)
    else:
        store = Store.open(state, write=True)
    try:
        pending = store.pending()
        if store.last_version() is not None:
            raise StateError(f"{state} is an alignment already: use `update` to change it")
        if config_of(store) != config or (pending and pending.digest != delta.digest):
            raise StateError(
                f"{state} was begun with other input or settings and broken off: "
                "finish it with `update`, or delete it"
            )
        if pending is None:
            store.journal(delta)
    except BaseException:
        store.close()
        raise
    return store


def _outcome(store: Store, first: int, message: str = "") -> Outcome:
    return Outcome(tuple(_reports(store)[first:]), message)


def _reports(store: Store) -> list[Report]:
    return [
        Report(version.number, version.made_at, **_known_facts(version.info))
        for version in store.versions()
    ]


def _known_facts(info: Mapping[str, Any]) -> dict[str, Any]:
    """What this EverAlign knows of the facts that some EverAlign has written down."""
    known = {entry.name for entry in fields(Report)}
    # JSON has lists only, and a report is made of values that cannot change.
    return {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in info.items()
        if name in known
    }
