"""A warm, read-only view of one version of an alignment, for many readers.

`Aligner.session` opens it. What costs time to load is loaded once: the method with its mapped
arrays, the alignment of relations, the index of labels. An answer reads what it shows and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

from everalign._locks import FairLock
from everalign._progress import Progress, no_progress
from everalign.errors import StateError
from everalign.link_pages import LinkFilter
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.types import (
    AlignmentStatus,
    Candidate,
    ContradictedLink,
    Disagreement,
    EntityDetails,
    EntityPage,
    EventPage,
    Explanation,
    LinkCounts,
    LinkPage,
    Question,
    QuestionBatch,
    RelationAlignment,
    SearchResult,
)
from everalign.version_reader import VersionReader

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def _one_at_a_time(
    method: Callable[Concatenate[AlignmentView, Parameters], Result],
) -> Callable[Concatenate[AlignmentView, Parameters], Result]:
    """Let one thread at a time ask; a view that follows looks for a new version first."""

    @wraps(method)
    def ask(
        view: AlignmentView, /, *arguments: Parameters.args, **options: Parameters.kwargs
    ) -> Result:
        with view._lock:
            if view._follow:
                view.refresh()
            return method(view, *arguments, **options)

    return ask


class AlignmentView:
    """A version of an alignment, held open for many questions. Nothing can be changed through it.

    It shows the same version, with the decisions that were waiting when it was opened, until
    `refresh` is called. Several threads may use one view; other processes may update the
    alignment meanwhile.

    Args:
        state: The state directory.
        follow: Whether to look for a new version, and new decisions, before each answer.
        progress: Called while the index of labels is built.

    Raises:
        StateError: There is no alignment, or it has no version yet.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> from everalign import Aligner
        >>> left = [("a", "knows", "b"), ("b", "knows", "c")]
        >>> right = [("A", "kennt", "B"), ("B", "kennt", "C")]
        >>> with TemporaryDirectory() as directory:
        ...     aligner = Aligner.create(f"{directory}/state", left, right, [("a", "A")])
        ...     with aligner.session() as view:
        ...         page = view.links(origin="given")
        ...         [(link.left, link.right) for link in page.links], page.next
        ([('a', 'A')], None)
    """

    def __init__(
        self, state: str | Path, *, follow: bool = False, progress: Progress = no_progress
    ) -> None:
        self._state = Path(state)
        self._follow = follow
        self._progress = progress
        self._lock = FairLock()
        self._open_reader: VersionReader | None = self._read_newest()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._open_reader is None:
            return f"<AlignmentView {str(self._state)!r}: closed>"
        return f"<AlignmentView {str(self._state)!r}: version {self._open_reader.version}>"

    def close(self) -> None:
        """Close the view; nothing can be asked of it any more."""
        with self._lock:
            if self._open_reader is not None:
                self._open_reader.close()
            self._open_reader = None

    @property
    def version(self) -> int:
        """The version that it shows."""
        return self._reader.version

    def refresh(self) -> bool:
        """Go on to the last version, and to the decisions that are waiting now.

        Returns:
            Whether there was anything new.

        Raises:
            StateError: The view is closed.
        """
        with self._lock:
            reader = self._reader
            store = reader.session.store
            if store.newest_version() == reader.version:
                decision_count = store.inbox.last_number()
                if decision_count == reader.decision_count:
                    return False
                reader.take_decisions(decision_count)
                return True
            self._open_reader = self._read_newest(reader)
            reader.close()
            return True

    @contextmanager
    def reading(self, *, refresh: bool = False) -> Iterator[VersionReader]:
        """Read several things of one version; other threads wait meanwhile.

        Args:
            refresh: Whether to look for a new version, and new decisions, first; a view that
                follows does so in any case.

        Yields:
            The reader of the version that is shown.

        Raises:
            StateError: The view is closed.
        """
        with self._lock:
            if refresh or self._follow:
                self.refresh()
            yield self._reader

    @_one_at_a_time
    def links(
        self,
        after: str | None = None,
        limit: int = 100,
        *,
        min_confidence: float = -inf,
        max_confidence: float = inf,
        origin: str | None = None,
        text: str = "",
    ) -> LinkPage:
        """List links, a page at a time.

        Args:
            after: `LinkPage.next` of the page before; None for the first page.
            limit: The most links to list.
            min_confidence: Leave out links with a lower score.
            max_confidence: Leave out links with a higher score.
            origin: "given" or "found"; "proposed" for pairs below the threshold whose entities
                have no link; "rejected" for pairs that people have rejected; None for all links
                in force.
            text: Only links with an entity whose label contains this text.

        Returns:
            Given links, then the others, each by descending score.

        Raises:
            ConfigError: There is no such origin, or `after` is not the end of a page.
        """
        wanted = LinkFilter(origin, min_confidence, max_confidence, text)
        return self._reader.list_links(wanted, after, limit)

    @_one_at_a_time
    def count_links(
        self,
        *,
        min_confidence: float = -inf,
        max_confidence: float = inf,
        origin: str | None = None,
        text: str = "",
    ) -> int:
        """Count what `links` lists with the same filters.

        Args:
            min_confidence: As in `links`.
            max_confidence: As in `links`.
            origin: As in `links`.
            text: As in `links`.

        Returns:
            The number of links of all pages.

        Raises:
            ConfigError: There is no such origin.
        """
        wanted = LinkFilter(origin, min_confidence, max_confidence, text)
        return self._reader.pager.count(wanted)

    @_one_at_a_time
    def counts(self) -> LinkCounts:
        """Count the links of the version, without the decisions that are waiting.

        Returns:
            The numbers of given links, found links and rejected pairs.
        """
        return LinkCounts(*self._reader.session.store.count_links())

    @_one_at_a_time
    def entity(self, name: str, side: Side | None = None, *, limit: int = 100) -> EntityDetails:
        """Describe an entity: its label, link, facts and candidates.

        Args:
            name: Its name (IRI).
            side: "left" or "right"; None for the graph that has it, the left one if both do.
            limit: The most literals and the most neighbours to list.

        Returns:
            The entity.

        Raises:
            InputError: The graph does not have it.
        """
        return self._reader.describe_entity(name, side, limit)

    @_one_at_a_time
    def label(self, name: str, side: Side | None = None) -> str:
        """Find what an entity is called.

        Args:
            name: Its name (IRI).
            side: As in `entity`.

        Returns:
            A literal that names it, or the readable part of its IRI, or the IRI.

        Raises:
            InputError: The graph does not have it.
        """
        index, entity = self._reader.find_entity(name, side)
        return self._reader.label_entities(index, [entity])[entity].label

    @_one_at_a_time
    def search(self, text: str, side: Side | None = None, limit: int = 20) -> list[SearchResult]:
        """Search for entities by label.

        The first search builds an index of all labels in the folder `cache` of the state
        directory; later ones use it.

        Args:
            text: What a label begins with or contains; case does not matter.
            side: "left" or "right"; None for both graphs.
            limit: The most results.

        Returns:
            Entities whose label begins with the text, then those whose label contains it.
        """
        return self._reader.search(text, side, limit)

    @_one_at_a_time
    def explain(self, entity: str, *, max_evidence: int | None = 20) -> Explanation:
        """Explain why an entity has its link, or none, and what else was considered.

        Args:
            entity: Name of an entity of either graph.
            max_evidence: How many pieces of evidence to list for each candidate; None for all.

        Returns:
            An explanation for each graph that has the entity.

        Raises:
            ConfigError: The method cannot explain its links.
            InputError: No graph has the entity.
        """
        return self._reader.explainer.explain(entity, max_evidence)

    @_one_at_a_time
    def candidates(self, entity: str, side: Side | None = None) -> tuple[Candidate, ...]:
        """List the entities of the other graph that may be the counterpart of an entity.

        Args:
            entity: Its name.
            side: As in `entity`.

        Returns:
            Candidates, best first.

        Raises:
            ConfigError: The method cannot tell.
            InputError: The graph does not have the entity.
        """
        return self._reader.list_candidates(entity, side)

    @_one_at_a_time
    def questions(
        self,
        limit: int = 100,
        *,
        author: str = "",
        side: Side | None = "left",
        leave_out: Iterable[str] = (),
        max_facts: int = 20,
    ) -> QuestionBatch:
        """Choose what to ask a person next.

        First come entities that others have decided about differently, then those whose answers
        are expected to correct the most. Nobody is asked about an entity whose counterpart is
        known, that has none, or that they were unsure about; nor about a pair that was rejected.

        Args:
            limit: The most questions.
            author: Who is asked.
            side: "left" or "right" for entities of one graph; None for both, which takes more
                answers to correct as much.
            leave_out: `Question.key` of questions that are not to be asked now: put off, or shown
                already.
            max_facts: The most comparisons of facts for each candidate.

        Returns:
            The questions, best first, and what the answers are expected to add to F1.

        Raises:
            ConfigError: A number is out of range, or a key is no key of a question.
        """
        return self._reader.questions.ask(limit, author, side, leave_out, max_facts)

    @_one_at_a_time
    def question(self, entity: str, side: Side | None = None, *, max_facts: int = 20) -> Question:
        """Ask about a certain entity, whatever is expected of the answer.

        Args:
            entity: Its name.
            side: As in `entity`.
            max_facts: As in `questions`.

        Returns:
            The question.

        Raises:
            InputError: The graph does not have the entity.
        """
        key = self._reader.find_entity(entity, side)
        return self._reader.questions.describe([key], max_facts)[0]

    @_one_at_a_time
    def disagreements(self) -> list[Disagreement]:
        """List the entities about which people have decided differently.

        A disagreement is settled once more people agree with the decision in force, which is the
        last one, than contradict it.

        Returns:
            The newest disagreement first.
        """
        return self._reader.questions.list_disagreements()

    @_one_at_a_time
    def dangling(self, side: Side, after: str | None = None, limit: int = 100) -> EntityPage:
        """List the entities of a graph that have no link, a page at a time.

        Args:
            side: "left" or "right".
            after: `EntityPage.next` of the page before; None for the first page.
            limit: The most entities to list.

        Returns:
            The entities, in the order in which the graph got them.
        """
        return self._reader.list_dangling(side, after, limit)

    @_one_at_a_time
    def relations(self, *, min_inclusion: float = 0.0) -> list[RelationAlignment]:
        """List relations that mean the same, best first.

        Args:
            min_inclusion: Leave out relations whose inclusion is less in both directions.

        Returns:
            Pairs of a left and a right relation.

        Raises:
            ConfigError: The method cannot explain its links, or the value is out of range.
        """
        return self._reader.explainer.list_relations(min_inclusion)

    @_one_at_a_time
    def contradicted_links(self) -> list[ContradictedLink]:
        """List the given links that contradict their neighbourhood, the least probable first.

        Returns:
            Links that are more likely wrong than right, with their best rivals.

        Raises:
            ConfigError: The method cannot explain its links.
        """
        return self._reader.explainer.list_contradicted()

    @_one_at_a_time
    def history(
        self,
        entity: str | None = None,
        after: str | None = None,
        limit: int = 100,
        *,
        since: int = 0,
    ) -> EventPage:
        """List what happened to links, oldest first, a page at a time.

        Args:
            entity: Name of an entity of either graph; all links if None.
            after: `EventPage.next` of the page before; None for the first page.
            limit: The most events to list.
            since: The first version to list.

        Returns:
            Link events, then the decisions that are waiting.

        Raises:
            InputError: No graph has the entity.
        """
        return self._reader.list_events(entity, since, after, limit)

    @_one_at_a_time
    def status(self) -> AlignmentStatus:
        """Describe the alignment: settings, sizes, and a report of each version.

        Returns:
            The status.
        """
        return self._reader.describe_status()

    @property
    def _reader(self) -> VersionReader:
        if self._open_reader is None:
            raise StateError(f"the view of {self._state} is closed")
        return self._open_reader

    def _read_newest(self, before: VersionReader | None = None) -> VersionReader:
        session = AlignmentSession.open(self._state)
        try:
            return VersionReader(session, self._progress, before)
        except BaseException:
            session.close()
            raise
