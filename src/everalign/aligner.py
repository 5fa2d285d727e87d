"""The façade: one alignment in its state directory; each command is a method here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from everalign._progress import Progress, no_progress
from everalign.changeset import ChangeSet
from everalign.charts import AlignmentCharts
from everalign.class_alignment import align_classes
from everalign.config import Config
from everalign.decide import DecisionNote, record_entities, record_pairs
from everalign.entities import find_entity_name, name_entities
from everalign.errors import ConfigError, EverAlignError, StateLockedError
from everalign.evaluation import Evaluation, evaluate_decisions, evaluate_links
from everalign.explain import write_relation_statements
from everalign.export import export_links
from everalign.graph import LinkSource, TripleSource, read_pairs
from everalign.history import (
    describe_status,
    iterate_link_events,
    list_decisions,
    list_differences,
    list_link_changes,
    name_version_range,
)
from everalign.io import ExportStyle, LinkChange, Prefixes, write_classes
from everalign.io.links import write_change_feed
from everalign.pipeline import (
    apply_waiting_decisions,
    check_seeds_given,
    create_alignment,
    resolve_config,
    revert_alignment,
    update_alignment,
)
from everalign.report import collect_report, format_report
from everalign.results import ResultList
from everalign.review.answers import Answer, record_answer, undo_answer
from everalign.review.decision_files import import_decisions
from everalign.select import Selection, check_fraction, find_target_problem, iterate_links
from everalign.session import AlignmentSession, verify_alignment
from everalign.state import Side, StateStore
from everalign.state.backup import copy_state
from everalign.state.decisions import DecisionKind
from everalign.state.repair import repair_state
from everalign.summary import summarise_alignment
from everalign.types import (
    AlignmentStatus,
    AlignmentSummary,
    ClassAlignment,
    Compaction,
    ContradictedLink,
    Decision,
    DecisionResult,
    Disagreement,
    EntityName,
    Explanation,
    ExportResult,
    Link,
    LinkDifference,
    LinkEvent,
    QuestionBatch,
    RelationAlignment,
    UpdateResult,
    Verification,
)
from everalign.view import AlignmentView


class Aligner:
    """An alignment of two knowledge graphs, kept in a state directory.

    Use `Aligner.create` or `Aligner.open`. An aligner holds no files open between calls, so any
    number of them may look at one state directory; only one process at a time can change it. As
    a context manager it can be used like a file.

    Args:
        state: The state directory.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> left = [("a", "knows", "b"), ("b", "knows", "c"), ("c", "knows", "d")]
        >>> right = [("A", "kennt", "B"), ("B", "kennt", "C"), ("C", "kennt", "D")]
        >>> with TemporaryDirectory() as directory:
        ...     seeds = [("a", "A"), ("d", "D")]
        ...     aligner = Aligner.create(f"{directory}/state", left, right, seeds)
        ...     result = aligner.update(left=[("d", "knows", "e")], right=[("D", "kennt", "E")])
        ...     [report.version for report in result.reports]
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
        validation: LinkSource | None = None,
        config: Config | None = None,
        progress: Progress = no_progress,
    ) -> Self:
        """Start an alignment from two graphs and trusted links: version 0.

        If an earlier call with the same input was interrupted, it is finished.

        Args:
            state: The state directory to create.
            left: Triples of the left graph: a file, a `TripleReader`, or tuples of names.
            right: Triples of the right graph.
            seeds: Trusted links to learn from: a file, or pairs of names. Optional for methods
                that can start from names and other literals.
            validation: Trusted links for validation (not used for training).
            config: Method, random seed and settings.
            progress: Called now and then with the current step.

        Returns:
            The new alignment.

        Raises:
            ConfigError: A setting does not exist, a graph is missing, or the method needs seeds.
            InputError: A file, or a line in it, is not as expected.
            SeedError: Trusted links contradict the graphs or each other.
            StateError: The directory holds an alignment or other files.
        """
        if left is None or right is None:
            raise ConfigError("an alignment needs a left and a right graph")
        # Settings are checked before anything is read or written: reading may take minutes.
        config = resolve_config(config or Config())
        check_seeds_given(config, seeds)
        change = ChangeSet(left, right, seeds=seeds, validation=validation)
        create_alignment(Path(state), change, config, progress)
        return cls(state)

    @staticmethod
    def exists(state: str | Path) -> bool:
        """Tell whether a directory holds an alignment, also an interrupted one.

        Args:
            state: Any path.

        Returns:
            True if `Aligner.open` would find an alignment there.

        Example:
            >>> Aligner.exists("no/such/directory")
            False
        """
        return StateStore.exists(state)

    @classmethod
    def open(cls, state: str | Path) -> Self:
        """Open an alignment that exists already.

        Args:
            state: The state directory.

        Returns:
            The alignment.

        Raises:
            StateError: There is no alignment, or it cannot be read.
        """
        # A wrong path fails here and not when the alignment is first used.
        AlignmentSession.open(state).close()
        return cls(state)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing: no file is open between calls."""

    def __repr__(self) -> str:
        try:
            with self._read() as session:
                method, version = session.config.method, session.store.last_version()
                count = sum(session.store.count_links()[:2])
        # A debugger may show an aligner whose directory is gone or damaged.
        except EverAlignError as error:
            return f"<Aligner {str(self.state)!r}: {error}>"
        return f"<Aligner {str(self.state)!r}: {method}, version {version}, {count} links>"

    def update(
        self,
        left: TripleSource | None = None,
        right: TripleSource | None = None,
        progress: Progress = no_progress,
        *,
        change: ChangeSet | None = None,
        full: bool = False,
    ) -> UpdateResult:
        """Apply changes of the graphs and bring the links up to date.

        An interrupted update is finished first. Decisions made since the method last ran are
        taken into account, also if nothing else has changed.

        Args:
            left: Triples that the left graph gains.
            right: Triples that the right graph gains.
            progress: Called now and then with the current step.
            change: Everything else that can change, such as removals. `left` and `right` take
                precedence over its additions.
            full: Look at everything again, also if nothing has changed.

        Returns:
            A report of each version made; none, and a message, if there was nothing to do.

        Raises:
            InputError: A file, or a line in it, is not as expected. Nothing has changed then.
            SeedError: Decisions contradict the graphs or each other. Nothing has changed then.
            StateError: Another process writes to the state directory, or it is damaged.
        """
        change = change or ChangeSet()
        # Compared with None: an empty list is given as well.
        change = replace(
            change,
            added_left=change.added_left if left is None else left,
            added_right=change.added_right if right is None else right,
        )
        with self._write() as session:
            return update_alignment(session, change, progress, rescore_all=full)

    def confirm(
        self,
        pairs: LinkSource,
        *,
        author: str = "",
        comment: str = "",
        keys: Sequence[str] | None = None,
        apply: bool = False,
    ) -> DecisionResult:
        """Confirm links: they are in force from now on, and no method overrules that.

        The decision is on the disk when this returns, also while another process updates the
        alignment. `links` shows it at once. The next `update` takes it up and revises other
        links accordingly, also without other changes.

        Args:
            pairs: A file, or pairs of names.
            author: Who decides.
            comment: Why, in words.
            keys: A key for each pair, in order. A repeated request with the same keys changes
                nothing and returns what was recorded first.
            apply: Let all waiting decisions take effect at once, in a version of their own.

        Returns:
            What is recorded, and a report of the version if one was made.

        Raises:
            SeedError: A name is unknown, or pairs contradict each other.
            StateLockedError: `apply` is given and another process updates the alignment. The
                decisions are recorded all the same.
        """
        note = DecisionNote(author, comment, keys)
        return self._decide(DecisionKind.CONFIRMED, pairs, note, apply=apply)

    def reject(
        self,
        pairs: LinkSource,
        *,
        author: str = "",
        comment: str = "",
        keys: Sequence[str] | None = None,
        apply: bool = False,
    ) -> DecisionResult:
        """Reject links: they are no longer in force, and no method brings them back.

        It is recorded as by `confirm`. The next `update` looks for other links of the entities.

        Args:
            pairs: A file, or pairs of names.
            author: Who decides.
            comment: Why, in words.
            keys: A key for each pair, in order. A repeated request with the same keys changes
                nothing and returns what was recorded first.
            apply: Let all waiting decisions take effect at once, in a version of their own.

        Returns:
            What is recorded, and a report of the version if one was made.

        Raises:
            SeedError: A name is unknown.
            StateLockedError: `apply` is given and another process updates the alignment. The
                decisions are recorded all the same.
        """
        note = DecisionNote(author, comment, keys)
        return self._decide(DecisionKind.REJECTED, pairs, note, apply=apply)

    def withdraw(
        self,
        pairs: LinkSource = (),
        left: Iterable[str] = (),
        right: Iterable[str] = (),
        *,
        author: str = "",
        comment: str = "",
        keys: Sequence[str] | None = None,
        apply: bool = False,
    ) -> DecisionResult:
        """Withdraw decisions: whether there is a link is left to the method again.

        It is recorded as by `confirm`.

        Args:
            pairs: A file, or pairs of names, that were seeds, confirmed or rejected.
            left: Names of left entities that were decided to have no counterpart.
            right: The same for right entities.
            author: Who decides.
            comment: Why, in words.
            keys: A key for each pair or entity, in order. A repeated request with the same keys
                changes nothing and returns what was recorded first.
            apply: Let all waiting decisions take effect at once, in a version of their own.

        Returns:
            What is recorded, and a report of the version if one was made.

        Raises:
            ConfigError: Both pairs and entities are given.
            SeedError: There was no such decision.
            StateLockedError: `apply` is given and another process updates the alignment. The
                decisions are recorded all the same.
        """
        note = DecisionNote(author, comment, keys)
        entities = list(left), list(right)
        if not any(entities):
            return self._decide(DecisionKind.WITHDRAWN, pairs, note, apply=apply)
        if pairs != ():
            raise ConfigError("withdraw decisions about pairs and about entities one by one")
        return self._decide_alone(DecisionKind.WITHDRAWN, *entities, note, apply=apply)

    def no_counterpart(
        self,
        left: Iterable[str] = (),
        right: Iterable[str] = (),
        *,
        author: str = "",
        comment: str = "",
        keys: Sequence[str] | None = None,
        apply: bool = False,
    ) -> DecisionResult:
        """Decide that entities have no counterpart: no method finds a link for them.

        It is recorded as by `confirm`. A link of the entity is no longer in force, also if it was
        confirmed before; to confirm a link later takes the decision back.

        Args:
            left: Names of left entities.
            right: Names of right entities.
            author: Who decides.
            comment: Why, in words.
            keys: A key for each entity, in order. A repeated request with the same keys changes
                nothing and returns what was recorded first.
            apply: Let all waiting decisions take effect at once, in a version of their own.

        Returns:
            What is recorded, and a report of the version if one was made.

        Raises:
            SeedError: A name is unknown.
            StateLockedError: `apply` is given and another process updates the alignment. The
                decisions are recorded all the same.
        """
        note = DecisionNote(author, comment, keys)
        kind = DecisionKind.NO_COUNTERPART
        return self._decide_alone(kind, list(left), list(right), note, apply=apply)

    def unsure(
        self,
        pairs: LinkSource,
        *,
        author: str = "",
        comment: str = "",
        keys: Sequence[str] | None = None,
        apply: bool = False,
    ) -> DecisionResult:
        """Note that it is not clear whether pairs are the same. This changes no link.

        It is recorded as by `confirm`, and `history` lists it.

        Args:
            pairs: A file, or pairs of names.
            author: Who decides.
            comment: Why, in words.
            keys: A key for each pair, in order. A repeated request with the same keys changes
                nothing and returns what was recorded first.
            apply: Let all waiting decisions take effect at once, in a version of their own.

        Returns:
            What is recorded, and a report of the version if one was made.

        Raises:
            SeedError: A name is unknown.
            StateLockedError: `apply` is given and another process updates the alignment. The
                decisions are recorded all the same.
        """
        note = DecisionNote(author, comment, keys)
        return self._decide(DecisionKind.UNSURE, pairs, note, apply=apply)

    def answer(
        self,
        entity: str,
        side: Side,
        kind: str,
        candidates: Sequence[str] = (),
        *,
        author: str = "",
        comment: str = "",
        key: str | None = None,
        seen_version: int | None = None,
    ) -> DecisionResult:
        """Answer a question about an entity.

        It is recorded as by `confirm`, all of it or nothing.

        Args:
            entity: Name of the entity.
            side: Its graph, "left" or "right".
            kind: "same" or "different" for one candidate; "none of these" for all that were
                shown, which are rejected; "no counterpart"; or "unsure".
            candidates: Names of the candidates that the answer is about.
            author: Who answers.
            comment: Why, in words.
            key: A repeated answer with the same key changes nothing and returns what was recorded
                first. The decision has this key; with several, the others have numbers after it.
            seen_version: The version that the author has seen; the last one if None.

        Returns:
            What is recorded.

        Raises:
            ConfigError: There is no such kind, side or version, or the number of candidates does
                not fit.
            SeedError: A name is unknown.
        """
        answer = Answer(entity, side, kind, tuple(candidates), author, comment, key, seen_version)
        with self._read() as session:
            recorded = record_answer(session, answer)
        return self._finish_decision(recorded, apply=False)

    def undo(
        self,
        key: str,
        *,
        author: str = "",
        comment: str = "",
        undo_key: str | None = None,
    ) -> DecisionResult:
        """Take an answer back: its pairs are decided as they were before it.

        Pairs that were decided again since stay as they are. Other links of the entities that a
        confirmed link has displaced come back with the next update, if the method finds them.

        Args:
            key: The key of the answer: that of its first decision.
            author: Who takes it back.
            comment: Why, in words.
            undo_key: As `key` of `answer`, for this request; by default it follows from the key,
                so that to undo twice does nothing more.

        Returns:
            What is recorded.

        Raises:
            SeedError: Nothing was recorded under this key.
        """
        with self._read() as session:
            recorded = undo_answer(session, key, author, comment, undo_key)
        return self._finish_decision(recorded, apply=False)

    def import_decisions(
        self, source: str | Path, *, author: str = "", comment: str = "", apply: bool = False
    ) -> DecisionResult:
        """Record the decisions of an SSSOM file: links confirmed or negated by people.

        Args:
            source: The file. Mappings that no person has judged are left out, and so are those
                that are decided like that already.
            author: Who decided, where the file does not tell.
            comment: Why, where the file does not tell.
            apply: Let all waiting decisions take effect at once, in a version of their own.

        Returns:
            What is recorded, with the reviewers and dates of the file.

        Raises:
            InputError: The file is not SSSOM, or names an entity that the graphs do not have.
            StateLockedError: `apply` is given and another process updates the alignment. The
                decisions are recorded all the same.
        """
        with self._read() as session:
            recorded = import_decisions(session, source, author, comment)
        return self._finish_decision(recorded, apply=apply)

    def decisions(
        self,
        entity: str | None = None,
        *,
        author: str | None = None,
        after: int = 0,
        limit: int | None = None,
    ) -> ResultList[Decision]:
        """List what people have decided, oldest first, also what no longer holds.

        Args:
            entity: Name of an entity of either graph; all decisions if None.
            author: Only decisions of this author.
            after: Only decisions with a greater number.
            limit: The most decisions to list.

        Returns:
            The decisions as they were recorded. Trusted links of files are not among them.

        Raises:
            InputError: No graph has the entity.
        """
        with self._read() as session:
            return ResultList(list_decisions(session, entity, author, after, limit), Decision)

    def disagreements(self) -> list[Disagreement]:
        """List the entities about which people have decided differently.

        Returns:
            The newest disagreement first; one is settled once more people agree with the decision
            in force, which is the last one, than contradict it.
        """
        with self.session() as view:
            return view.disagreements()

    def questions(
        self,
        limit: int = 100,
        *,
        author: str = "",
        side: Side | None = "left",
        leave_out: Iterable[str] = (),
        max_facts: int = 20,
    ) -> QuestionBatch:
        """Choose what to ask a person next. A `session` answers faster the second time.

        Args:
            limit: The most questions.
            author: Who is asked.
            side: "left" or "right" for entities of one graph; None for both, which takes more
                answers to correct as much.
            leave_out: `Question.key` of questions that are not to be asked now.
            max_facts: The most comparisons of facts for each candidate.

        Returns:
            The questions, best first, and what the answers are expected to add to F1.

        Raises:
            ConfigError: A number is out of range, or a key is no key of a question.
        """
        with self.session() as view:
            return view.questions(
                limit, author=author, side=side, leave_out=leave_out, max_facts=max_facts
            )

    def write_report(self, stream: IO[bytes], *, title: str = "", doubtful: int = 50) -> None:
        """Write a report of the alignment: one HTML file that needs nothing else.

        Args:
            stream: Where to write.
            title: Its title; the name of the state directory by default.
            doubtful: How many of the most doubtful links to list.

        Raises:
            StateError: The alignment has no version yet.
        """
        with self.session() as view, self._read() as session:
            content = collect_report(session, view, title or self.state.name, doubtful)
        stream.write(format_report(content).encode())

    def charts(self) -> AlignmentCharts:
        """Draw charts for a notebook, with Altair (extra `charts`).

        Returns:
            What draws them; nothing is read or imported before.

        Raises:
            StateError: The alignment has no version yet.
        """
        with self._read() as session:
            session.check_started()
        return AlignmentCharts(self._read)

    def apply_decisions(self, progress: Progress = no_progress) -> UpdateResult:
        """Let all waiting decisions take effect in one version, without running the method.

        An interrupted update is finished first.

        Args:
            progress: Called while an interrupted update is finished.

        Returns:
            A report of the version, or a message if no decision was waiting.

        Raises:
            StateLockedError: Another process updates the alignment.
        """
        with self._write() as session:
            return apply_waiting_decisions(session, progress)

    def revert(self, version: int, progress: Progress = no_progress) -> UpdateResult:
        """Make a new version that equals an earlier one. The history keeps what came between.

        An interrupted update is finished first. Decisions that are waiting go on waiting.

        Args:
            version: The version to revert to.
            progress: Called while an interrupted update is finished.

        Returns:
            A report of the new version, or a message if nothing differs.

        Raises:
            StateError: There is no such version.
        """
        with self._write() as session:
            return revert_alignment(session, version, progress)

    def verify(self, progress: Progress = no_progress, *, repair: bool = False) -> Verification:
        """Compare everything in the state directory with its checksums and with each other.

        Args:
            progress: Called at each step.
            repair: Derive again what follows from other parts. For this, no other process may
                write to the alignment.

        Returns:
            What is wrong, and what was repaired.

        Raises:
            StateError: It is not a state directory, or another process writes to it.
        """
        findings = verify_alignment(self.state, progress)
        if not repair or not findings:
            return Verification(tuple(map(str, findings)), (), tuple(map(str, findings)))
        done = repair_state(self.state, findings)
        remaining = verify_alignment(self.state, progress)
        return Verification(tuple(map(str, findings)), tuple(done), tuple(map(str, remaining)))

    def backup(self, target: str | Path, progress: Progress = no_progress) -> bool:
        """Copy the state directory, also while another process updates it.

        Args:
            target: The directory to create.
            progress: Called now and then.

        Returns:
            False if the directory is there already and equals this alignment.

        Raises:
            StateError: The directory is something else, or cannot be written.
            StateDamagedError: The alignment is damaged; there is no copy then.
        """
        return copy_state(self.state, target, progress)

    @classmethod
    def restore(
        cls, backup: str | Path, state: str | Path, progress: Progress = no_progress
    ) -> Self:
        """Make a state directory from a backup.

        Args:
            backup: What `backup` has written.
            state: The state directory to create.
            progress: Called now and then.

        Returns:
            The alignment.

        Raises:
            StateError: The state directory exists and differs, or cannot be written.
            StateDamagedError: The backup is damaged.
        """
        copy_state(backup, state, progress)
        return cls.open(state)

    def compact(self) -> Compaction:
        """Remove what the method remembers of versions before the last one.

        Links, facts and decisions of all versions stay. `update` does most of this by itself.

        Returns:
            What was removed.

        Raises:
            StateLockedError: Another process updates the alignment.
        """
        with self._write() as session:
            result = session.store.compact()
        return Compaction(result.versions, result.bytes_before, result.bytes_after)

    def session(self, *, follow: bool = False, progress: Progress = no_progress) -> AlignmentView:
        """Open a view of the last version, to ask many questions without loading anything twice.

        Args:
            follow: Whether to look for a new version, and new decisions, before each answer.
            progress: Called while the index of labels is built.

        Returns:
            The view, to be used as a context manager.

        Raises:
            StateError: There is no alignment, or it has no version yet.
        """
        return AlignmentView(self.state, follow=follow, progress=progress)

    def links(
        self,
        *,
        min_score: float | None = None,
        min_confidence: float | None = None,
        target_precision: float | None = None,
        at: int | None = None,
        found_only: bool = False,
    ) -> ResultList[Link]:
        """List links, best first.

        Decisions that are waiting count already, unless a version is asked for. At most one of
        `min_score`, `min_confidence` and `target_precision` can be given. The last two are for
        methods whose scores are probabilities.

        Args:
            min_score: Leave out found links that score less.
            min_confidence: Leave out found links that are less sure, and include proposals that
                are sure enough.
            target_precision: The longest list of found links and proposals that can be expected
                to be this precise.
            at: The version; None for the last one with the waiting decisions on top.
            found_only: Leave out given links.

        Returns:
            Given links, then the others by descending score.

        Raises:
            ConfigError: Limits exclude each other, or do not fit the method.
            StateError: There is no such version.
        """
        links = self.iterate_links(
            min_score=min_score,
            min_confidence=min_confidence,
            target_precision=target_precision,
            at=at,
            found_only=found_only,
        )
        return ResultList(links, Link)

    def iterate_links(
        self,
        *,
        min_score: float | None = None,
        min_confidence: float | None = None,
        target_precision: float | None = None,
        at: int | None = None,
        found_only: bool = False,
    ) -> Iterator[Link]:
        """Iterate over what `links` lists, without holding all of it in memory.

        Args:
            min_score: As in `links`.
            min_confidence: As in `links`.
            target_precision: As in `links`.
            at: As in `links`.
            found_only: As in `links`.

        Yields:
            Links, best first.

        Raises:
            ConfigError: Limits exclude each other, or do not fit the method.
            StateError: There is no such version.
        """
        selection = Selection(min_score, min_confidence, target_precision, found_only)
        with self._read() as session:
            yield from iterate_links(session, selection, at)

    def export(
        self,
        stream: IO[bytes],
        format: str = "tsv",
        style: ExportStyle | None = None,
        *,
        min_score: float | None = None,
        min_confidence: float | None = None,
        target_precision: float | None = None,
        at: int | None = None,
        found_only: bool = False,
    ) -> ExportResult:
        """Write the links that `links` lists; those that a format cannot hold are left out.

        Args:
            stream: Where to write.
            format: "tsv", "nt", "ttl", "jsonl", "alignment", "parquet" or "sssom".
            style: Prefixes, annotations and metadata.
            min_score: As in `links`.
            min_confidence: As in `links`.
            target_precision: As in `links`.
            at: As in `links`.
            found_only: As in `links`. SSSOM leaves out rejected pairs as well.

        Returns:
            The number of links written, and of those left out by reason.

        Raises:
            ConfigError: The format is unknown, or does not fit the style or the limits.
            InputError: IRIs have no prefix, which SSSOM requires.
            StateError: There is no such version.
        """
        selection = Selection(min_score, min_confidence, target_precision, found_only)
        with self._read() as session:
            session.check_started()
            return export_links(session, stream, format, style or ExportStyle(), selection, at)

    def find_target_problem(self, target_precision: float, *, at: int | None = None) -> str:
        """Find out why the links for a target precision may be less precise.

        Args:
            target_precision: As in `links`.
            at: The version; None for the last one with the waiting decisions on top.

        Returns:
            One line; empty if the links that `links` lists can be expected to be this precise.

        Raises:
            ConfigError: The precision is out of range, or the scores are no probabilities.
            StateError: There is no such version.
        """
        with self._read() as session:
            session.check_started()
            return find_target_problem(session, target_precision, at)

    def find_entity(self, text: str, side: Side | None = None) -> str:
        """Find the entity that a person means.

        Args:
            text: A name, a CURIE, a label, or the last part of an IRI.
            side: "left" or "right"; None for either graph.

        Returns:
            The name of the entity, as other methods take it.

        Raises:
            InputError: There is no such entity, or several; the message lists them.
        """
        with self._read() as session:
            return find_entity_name(session, text, side)

    def name_entities(
        self, side: Side, names: Iterable[str], *, languages: Sequence[str] = ()
    ) -> dict[str, EntityName]:
        """Give entities their labels and CURIEs.

        Args:
            side: "left" or "right".
            names: Names of entities.
            languages: Preferred languages of labels, the best first.

        Returns:
            Label and CURIE of each that the graph has.
        """
        with self._read() as session:
            return name_entities(session, side, names, languages)

    def prefixes(self) -> Prefixes:
        """Return the prefixes of CURIEs.

        Returns:
            Those that the files of both graphs declare, and well-known ones.
        """
        with self._read() as session:
            return session.prefixes

    def summary(self) -> AlignmentSummary:
        """Summarise how much is linked, how surely, and of which classes.

        Returns:
            The summary of the last version.

        Raises:
            StateError: The alignment has no version yet.
        """
        with self._read() as session:
            session.check_started()
            return summarise_alignment(session)

    def explain(self, entity: str) -> Explanation:
        """Explain why an entity has its link, or none, and what else was considered.

        Args:
            entity: Name of an entity of either graph.

        Returns:
            An explanation for each graph that has the entity.

        Raises:
            ConfigError: The method cannot explain its links.
            InputError: No graph has the entity.
        """
        with self.session() as view:
            return view.explain(entity, max_evidence=None)

    def contradicted_links(self) -> ResultList[ContradictedLink]:
        """List the given links that contradict their neighbourhood, the least probable first.

        They stay links, but count little as evidence for others.

        Returns:
            Links that are more likely wrong than right, with their best rivals.

        Raises:
            ConfigError: The method cannot explain its links.
        """
        with self.session() as view:
            return ResultList(view.contradicted_links(), ContradictedLink)

    def relations(self, *, min_inclusion: float = 0.0) -> ResultList[RelationAlignment]:
        """List relations that mean the same, best first.

        Args:
            min_inclusion: Leave out relations whose inclusion is less in both directions.

        Returns:
            Pairs of a left and a right relation.

        Raises:
            ConfigError: The method cannot explain its links, or the value is out of range.
        """
        with self.session() as view:
            return ResultList(view.relations(min_inclusion=min_inclusion), RelationAlignment)

    def write_relations(
        self, stream: IO[bytes], *, min_inclusion: float = 0.0, accept: float = 0.5
    ) -> ExportResult:
        """Write statements about relations as N-Triples.

        These are `rdfs:subPropertyOf`, `owl:equivalentProperty` and `owl:inverseOf`.

        Args:
            stream: Where to write.
            min_inclusion: As in `relations`.
            accept: The inclusion from which a relation counts as contained in the other.

        Returns:
            The number of statements written, and of those left out by reason.

        Raises:
            ConfigError: The method cannot explain its links, or a value is out of range.
        """
        relations = self.relations(min_inclusion=min_inclusion)
        return write_relation_statements(relations, stream, accept)

    def classes(self, *, min_inclusion: float = 0.0) -> ResultList[ClassAlignment]:
        """List classes that have the same instances, best first.

        Args:
            min_inclusion: Leave out classes whose inclusion is less in both directions.

        Returns:
            Pairs of a left and a right class.

        Raises:
            ConfigError: The value is out of range.
        """
        check_fraction("min_inclusion", min_inclusion)
        with self._read() as session:
            return ResultList(align_classes(session, min_inclusion), ClassAlignment)

    def write_classes(
        self, stream: IO[bytes], *, min_inclusion: float = 0.0, accept: float = 0.5
    ) -> ExportResult:
        """Write statements about classes as N-Triples.

        These are `rdfs:subClassOf` and `owl:equivalentClass`.

        Args:
            stream: Where to write.
            min_inclusion: As in `classes`.
            accept: The inclusion from which a class counts as contained in the other.

        Returns:
            The number of statements written, and of those left out by reason.

        Raises:
            ConfigError: A value is out of range.
        """
        check_fraction("accept", accept)
        found = self.classes(min_inclusion=min_inclusion)
        rows = ((pair.left, pair.right, pair.left_in_right, pair.right_in_left) for pair in found)
        return ExportResult(*write_classes(rows, stream, accept))

    def status(self) -> AlignmentStatus:
        """Describe the alignment: settings, sizes, and a report of each version.

        Returns:
            The status.
        """
        with self._read() as session:
            return describe_status(session)

    def history(self, entity: str | None = None, *, since: int = 0) -> ResultList[LinkEvent]:
        """List what happened to links, oldest first, then the decisions that are waiting.

        Args:
            entity: Name of an entity of either graph; all links if None.
            since: The first version to list.

        Returns:
            Link events. What a person decided has its author, time and comment.

        Raises:
            InputError: No graph has the entity.
        """
        with self._read() as session:
            return ResultList(iterate_link_events(session, entity, since), LinkEvent)

    def iterate_history(self, entity: str | None = None, *, since: int = 0) -> Iterator[LinkEvent]:
        """Iterate over what `history` lists, without holding all of it in memory.

        Args:
            entity: As in `history`.
            since: As in `history`.

        Yields:
            Link events.

        Raises:
            InputError: No graph has the entity.
        """
        with self._read() as session:
            yield from iterate_link_events(session, entity, since)

    def diff(self, before: int, after: int) -> ResultList[LinkDifference]:
        """List how the links differ between two versions.

        Args:
            before: A version.
            after: Another version, earlier or later.

        Returns:
            The net differences, removals first.

        Raises:
            StateError: There is no such version.
        """
        with self._read() as session:
            return ResultList(list_differences(session, before, after), LinkDifference)

    def changes(self, since: int | None = None, until: int | None = None) -> list[LinkChange]:
        """List what to remove from the links of one version, and to add, to get another.

        Args:
            since: The version to start from; no links at all if None.
            until: The version to reach; the last one if None.

        Returns:
            Removals, then additions.

        Raises:
            StateError: There is no such version.
        """
        with self._read() as session:
            session.check_started()
            return list_link_changes(session, since, until)

    def write_changes(
        self,
        stream: IO[bytes],
        format: str = "jsonl",
        *,
        since: int | None = None,
        until: int | None = None,
        removals: IO[bytes] | None = None,
    ) -> ExportResult:
        """Write the changes that `changes` lists; those that a format cannot hold are left out.

        Args:
            stream: Where to write.
            format: "jsonl", "nt", or "patch" for RDF Patch.
            since: As in `changes`.
            until: As in `changes`.
            removals: Where to write removed links as N-Triples.

        Returns:
            The number of changes written, and of those left out by reason.

        Raises:
            ConfigError: The format is unknown, or cannot hold removals.
            StateError: There is no such version.
        """
        with self._read() as session:
            session.check_started()
            # In one session, so that the changes and the names of the versions belong together
            # also while another process writes.
            changes = list_link_changes(session, since, until)
            versions = name_version_range(session, since, until)
            skipped = write_change_feed(changes, stream, format, versions, removals)
            return ExportResult(len(changes) - sum(skipped.values()), skipped)

    def evaluate(
        self,
        gold: LinkSource | None,
        *,
        at: int | None = None,
        scope: str | None = None,
        thresholds: Sequence[float] = (),
    ) -> Evaluation:
        """Compare the found links with gold links.

        Entities of given links are left out, in the links as well as in the gold links. Gold
        links that name less than nine tenths of the linked entities judge only the links that
        touch one of their entities, unless the scope is given.

        Args:
            gold: A file, a `LinkReader`, or pairs of names; None for what people confirmed,
                rejected or decided to have no counterpart. Each decision is compared with the
                links of the version before it took effect.
            at: The version; the last one if None.
            scope: "gold" for the links that touch an entity of the gold links, "all" for all
                found links; None for the one that fits the gold links.
            thresholds: Confidences to compute scores at, such as 0.5 and 0.9.

        Returns:
            Precision, recall, F1 and, for calibrated methods, the calibration error; also at each
            threshold.

        Raises:
            ConfigError: The scope is unknown, or a threshold is out of range.
            InputError: The file is not as expected, or there is no decision.
            StateError: There is no such version.
        """
        with self._read() as session:
            session.check_started()
            if gold is None:
                return evaluate_decisions(session, scope, thresholds, at)
            pairs = read_pairs(gold, session.entity_names())
            return evaluate_links(session, pairs, scope, thresholds, at)

    def _decide(
        self, kind: DecisionKind, pairs: LinkSource, note: DecisionNote, *, apply: bool
    ) -> DecisionResult:
        # Open for reading: a decision waits for nobody.
        with self._read() as session:
            recorded = record_pairs(session, kind, pairs, note)
        return self._finish_decision(recorded, apply=apply)

    def _decide_alone(
        self,
        kind: DecisionKind,
        left: list[str],
        right: list[str],
        note: DecisionNote,
        *,
        apply: bool,
    ) -> DecisionResult:
        with self._read() as session:
            recorded = record_entities(session, kind, left, right, note)
        return self._finish_decision(recorded, apply=apply)

    def _finish_decision(self, recorded: list[Decision], *, apply: bool) -> DecisionResult:
        if not apply:
            return DecisionResult(tuple(recorded), (), "waiting for the next update")
        try:
            result = self.apply_decisions()
        except StateLockedError as error:
            raise StateLockedError(f"{error}; what was decided is recorded and waits") from error
        return DecisionResult(tuple(recorded), result.reports, result.message)

    def _read(self) -> AlignmentSession:
        # A session for each call: no file stays open between calls, and a writer holds its lock no
        # longer than it needs to.
        return AlignmentSession.open(self.state)

    def _write(self) -> AlignmentSession:
        return AlignmentSession.open(self.state, write=True)
