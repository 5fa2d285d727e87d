"""The lock that is taken in order."""

from __future__ import annotations

import time
from threading import Thread

import pytest

from everalign._locks import FairLock


def test_threads_enter_in_the_order_in_which_they_came() -> None:
    lock, entered = FairLock(), list[int]()

    def enter(number: int) -> None:
        with lock, lock:
            entered.append(number)

    threads = [Thread(target=enter, args=(number,)) for number in range(20)]
    with lock:
        for count, thread in enumerate(threads, 1):
            thread.start()
            while len(lock._waiting) < count:
                time.sleep(0.001)
        assert entered == []
    for thread in threads:
        thread.join()
    assert entered == list(range(20))


def test_only_one_is_inside() -> None:
    lock, counts = FairLock(), [0]

    def count() -> None:
        for _ in range(2000):
            with lock:
                before = counts[0]
                counts[0] = before + 1

    threads = [Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [8000]


def test_an_error_inside_releases_it() -> None:
    lock = FairLock()
    with pytest.raises(ValueError), lock:  # noqa: PT011
        raise ValueError
    entered: list[bool] = []

    def enter() -> None:
        with lock:
            entered.append(True)

    thread = Thread(target=enter)
    thread.start()
    thread.join(10)
    assert entered == [True]
