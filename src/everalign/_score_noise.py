"""Noise in the scores of a method, as rounding would bring it (internal).

A result that changes with it hangs on rounding. Who measures that says how much noise there is;
otherwise there is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np
from numpy.typing import NDArray

_current: ContextVar[np.random.Generator | None] = ContextVar("score_noise", default=None)
RELATIVE_NOISE = 1e-6  # a few units in the last place of single precision


@contextmanager
def use_score_noise(seed: int) -> Iterator[None]:
    """Add noise to the scores of what is called within.

    Args:
        seed: Random seed of the noise.
    """
    token = _current.set(np.random.default_rng(seed))
    try:
        yield
    finally:
        _current.reset(token)


def add_score_noise(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add noise, if somebody has asked for it.

    Args:
        scores: Scores, from 0 on.

    Returns:
        The scores, each changed by one millionth at most; the same array if there is no noise.
    """
    rng = _current.get()
    if rng is None:
        return scores
    return scores * (1 - RELATIVE_NOISE * rng.random(len(scores)))
