"""The façade: one alignment in its state directory, from a file of triples to a link.

Every verb of the command line is a method here, and does the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib.metadata import version as installed
from pathlib import Path
from typing import IO, Any

from everalign.change import Change, changed_since, read_delta, read_reversion
from everalign.config import Config
from everalign.errors import ConfigError, StateError
from everalign.evaluation.metrics import Scores, calibration_error, score
from everalign.exporting import is_calibrated, selected, write_export
from everalign.flow import apply_pending, config_of
from everalign.graph import LinkSource, TripleSource, pairs_of
from everalign.ledger import RULES
from everalign.methods import entry_of, make_method, with_files_found
from everalign.past import changes_between, differences, happenings, span_of
from everalign.progress import Progress, silent
from everalign.rdf import LinkChange, Style
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
from everalign.situation import SIDES
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
        seeds: LinkSource | None = None,
        valid: LinkSource | None = None,
        config: Config | None = None,
        progress: Progress = silent,
    ) -> Aligner:
        """Start an alignment from two graphs and a few trusted links: version 0.

        Trusted links can be left out where a method can start from names.
        """
        config = settled(config or Config())
        # Mistakes in settings are told before any work begins.
        make_method(config)
        config = with_files_found(config)
        if seeds is None:
            _refuse_seedless(config.method)
        delta = read_delta(None, Change(left, right, seeds=seeds, valid=valid), progress)
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
        change: Change | None = None,
        full: bool = False,
        again: bool = False,
    ) -> Outcome:
        """Feed in what has changed; first finish an update that was broken off.

        `left` and `right` are what either graph has gained; a `change` can say more. A `full`
        pass looks at everything again, also if nothing has come in. A delta that was applied
        before is applied once more only if `again` says so.
        """
        more = change or Change()
        change = replace(
            more,
            left=more.left if left is None else left,
            right=more.right if right is None else right,
        )
        with Store.open(self.state, write=True) as store:
            first, pending = store.next_version(), store.pending()
            change.refuse_unreadable()
            if pending is None:
                _refuse_unbegun(store, self.state)
            else:
                apply_pending(store, progress)
            # A full pass that was broken off is the one that is asked for again.
            anyway = full and not (pending and pending.full)
            if change.is_empty and not anyway:
                finished = store.next_version() > first
                return _outcome(
                    store, first, "" if finished else "nothing to do: no delta is given or pending"
                )
            delta = read_delta(store, change, progress, full=full, again=again)
            applied, effect = store.applied(delta.digest), any(map(len, delta.arrays.values()))
            if applied is not None:
                return _outcome(store, first, _applied(applied, effect))
            if not anyway and not effect:
                return _outcome(store, first, _nothing_new(delta.counts.get("absent", 0)))
            store.journal(delta)
            apply_pending(store, progress)
            return _outcome(store, first)

    def confirm(self, pairs: LinkSource) -> Outcome:
        """Say that links are right: from now on they are in force, and no method overrules it.

        It takes effect at once; what follows from it for other links comes with the next update.
        """
        return self._say(Change(confirm=pairs), "confirmed")

    def reject(self, pairs: LinkSource) -> Outcome:
        """Say that links are wrong: they are out of force, and none of them comes back."""
        return self._say(Change(reject=pairs), "rejected")

    def withdraw(self, pairs: LinkSource) -> Outcome:
        """Take back what was said of pairs, as seeds, by `confirm` or by `reject`."""
        return self._say(Change(withdraw=pairs), "withdrawn")

    def revert(self, version: int) -> Outcome:
        """Make a new version that equals an old one; what came between stays in the history."""
        with Store.open(self.state, write=True) as store:
            _refuse_unfinished(store, self.state)
            first, view = store.next_version(), store.links(version)
            delta = read_reversion(store, version)
            if store.links() == view and not changed_since(store, version):
                return _outcome(store, first, f"nothing to do: all is as in version {version}")
            store.journal(delta)
            apply_pending(store, silent)
            return _outcome(store, first)

    def _say(self, change: Change, what: str) -> Outcome:
        with Store.open(self.state, write=True) as store:
            _refuse_unfinished(store, self.state)
            first = store.next_version()
            delta = read_delta(store, change, asks_method=False)
            if not any(map(len, delta.arrays.values())):
                return _outcome(store, first, f"nothing to do: {what} already")
            store.journal(delta)
            apply_pending(store, silent)
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
                **{
                    f"{side}_{what}": sum(
                        getattr(report, f"{side}_{what}")
                        - getattr(report, f"{side}_removed_{what}")
                        for report in reports
                    )
                    for side in SIDES
                    for what in ("triples", "entities")
                },
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

    def changes(self, since: int | None = None, until: int | None = None) -> list[LinkChange]:
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


def _refuse_unfinished(store: Store, state: Path) -> None:
    """A person's word comes after what was begun before it."""
    _refuse_unbegun(store, state)
    if store.pending() is not None:
        raise StateError(f"{state} has an update that was broken off: run `update` first")


def _refuse_seedless(method: str) -> None:
    if entry_of(method).needs_seeds:
        raise ConfigError(f"method {method!r} needs trusted links to start from: give --seeds")


def _nothing_new(absent: int) -> str:
    if absent:
        return f"nothing to do: of what is to be removed, {absent} rows are not there"
    return "nothing new: all of it is known already"


def _applied(version: int, effect: bool) -> str:
    told = f"this delta was applied as version {version}"
    if not effect:
        return told
    return f"{told}; part of it was taken back since then: --again applies it once more"


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
