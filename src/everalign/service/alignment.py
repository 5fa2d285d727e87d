"""The alignment that a server shows: a warm view that many requests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Lock
from typing import TypeVar

from everalign import __version__
from everalign._cache import LimitedCache
from everalign.aligner import Aligner
from everalign.methods import ExplainableMethod
from everalign.service.settings import ServiceSettings
from everalign.version_reader import VersionReader
from everalign.view import AlignmentView

Result = TypeVar("Result")

# Answers that are kept: some hundred pages.
MAX_KEPT_BYTES = 10_000_000


@dataclass(frozen=True)
class Mark:
    """What answers show: a version with decisions on top.

    Args:
        version: The version.
        decisions: The number of the last decision.
        digest: The digest of the version: a restored state may have gone another way.
    """

    version: int
    decisions: int
    digest: str

    @property
    def tag(self) -> str:
        """The tag of answers (`ETag`)."""
        return f'W/"{self.version}.{self.decisions}.{self.digest[:8]}.{__version__}"'


class ServedAlignment:
    """Gives requests the last version, one at a time, and remembers what is costly.

    Args:
        settings: The settings of the server.

    Raises:
        StateError: There is no alignment, or it has no version yet.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self.settings = settings
        self.aligner = Aligner.open(settings.state)
        # It does not follow by itself: a request reads one version from beginning to end.
        self.view = AlignmentView(settings.state)
        # For answers to decisions, which wait for no reader.
        self._decision_view = AlignmentView(settings.state)
        # Whether labels are indexed: those who decide meanwhile see names instead.
        self.is_loaded = False
        # Bodies of answers by tag, author and address; the event loop alone uses it.
        self.answers: LimitedCache[tuple[str, str, str, str], bytes] = LimitedCache(
            MAX_KEPT_BYTES, len
        )
        # Held by the request that computes an answer; in the event loop as well.
        self.turn = asyncio.Lock()
        self._cache: dict[str, tuple[Hashable, object]] = {}
        self._cache_lock = Lock()

    def close(self) -> None:
        """Close the views."""
        self.view.close()
        self._decision_view.close()

    @contextmanager
    def reading(self) -> Iterator[VersionReader]:
        """Read the last version; other requests wait meanwhile.

        Yields:
            The reader of the version, with the decisions that are waiting now.
        """
        with self.view.reading(refresh=True) as reader:
            yield reader

    @contextmanager
    def deciding(self) -> Iterator[VersionReader]:
        """Read names for the answer to a decision, without waiting for those who read links.

        Yields:
            The reader of a version that may not be the last one.
        """
        with self._decision_view.reading() as reader:
            yield reader

    def follow(self) -> Mark:
        """Look for a new version and new decisions, and get ready to show a new version.

        Returns:
            What answers show from now on.
        """
        mark = self._find_known_mark()
        if mark is not None:
            return mark
        self.warm_up()
        # Afterwards: decisions do not wait for the labels of a new version to be indexed.
        self._decision_view.refresh()
        return self.read_mark()

    def find_mark(self) -> Mark:
        """Find out what an answer to a request that comes now shows.

        Returns:
            The version and the number of the last decision.
        """
        # Without waiting for those who read links, unless there is a new version.
        return self._find_known_mark() or self.read_mark()

    def _find_known_mark(self) -> Mark | None:
        """What answers show now; None if there is a new version."""
        with self._decision_view.reading() as reader:
            store = reader.session.store
            if store.newest_version() != reader.version:
                return None
            return replace(get_mark(reader), decisions=store.inbox.last_number())

    def warm_up(self) -> None:
        """Load what the first answers about a version need."""
        with self.reading() as reader:
            _ = reader.labels, reader.pager
            if isinstance(reader.method, ExplainableMethod):
                _ = reader.explainer, reader.questions
        self.is_loaded = True

    def read_mark(self) -> Mark:
        """Read what answers show now.

        Returns:
            The version and the number of the last decision.
        """
        with self.reading() as reader:
            return get_mark(reader)

    def remember(self, name: str, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Compute something once for each state of what it depends on.

        Args:
            name: What it is; only the last result of a name is kept.
            key: What it depends on.
            compute: Computes it.

        Returns:
            The result.
        """
        with self._cache_lock:
            known = self._cache.get(name)
        if known is not None and known[0] == key:
            return known[1]  # type: ignore[return-value]
        result = compute()
        with self._cache_lock:
            self._cache[name] = key, result
        return result


def get_mark(reader: VersionReader) -> Mark:
    """Tell what a reader shows.

    Args:
        reader: A reader.

    Returns:
        Its version and the number of the last decision.
    """
    return Mark(reader.version, reader.decision_count, reader.digest)
