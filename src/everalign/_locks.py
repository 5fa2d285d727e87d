"""A lock that is taken in the order in which threads ask for it (internal)."""

from __future__ import annotations

from collections import deque
from threading import Lock, get_ident
from types import TracebackType


class FairLock:
    """A reentrant lock that nobody waits for longer than those who asked earlier.

    Python's own locks go to any of the waiting threads: with twenty readers who ask all the time,
    some would wait several times as long as others.

    Example:
        >>> lock = FairLock()
        >>> with lock, lock:
        ...     "entered twice"
        'entered twice'
    """

    def __init__(self) -> None:
        self._guard = Lock()
        self._owner: int | None = None
        self._depth = 0
        # Each waits at a gate of its own, which the owner opens when it is the first of them.
        self._waiting: deque[tuple[int, Lock]] = deque()

    def __enter__(self) -> None:
        thread = get_ident()
        with self._guard:
            if self._owner in (None, thread):
                self._owner = thread
                self._depth += 1
                return
            gate = Lock()
            gate.acquire()
            self._waiting.append((thread, gate))
        gate.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._guard:
            self._depth -= 1
            if self._depth:
                return
            self._owner = None
            if self._waiting:
                # It belongs to the first of them at once: nobody who comes now is faster.
                self._owner, gate = self._waiting.popleft()
                self._depth = 1
                gate.release()
