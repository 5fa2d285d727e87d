"""The weight of a piece of evidence.

Given a match (y, y') with probability p, the edges (x, d, y) and (x', d', y') add to the support
of the pair (x, x')

    − log[(1 − p · P(d' ⊆ d) · inverse_functionality(x, d, y))
          · (1 − p · P(d ⊆ d') · inverse_functionality(x', d', y'))]
"""

from __future__ import annotations

import math

from everalign._numba import jit_cached


@jit_cached()
def compute_evidence_weight(
    probability: float,
    forward: float,
    backward: float,
    inverse_functionality: float,
    inverse_functionality2: float,
) -> float:
    """Compute what one pair of matched neighbours adds to the support of a pair (x, x').

    Args:
        probability: Match probability of the neighbours.
        forward: P(d ⊆ d') of the relations that lead to them.
        backward: P(d' ⊆ d).
        inverse_functionality: Of the edge of x.
        inverse_functionality2: Of the edge of x'.

    Returns:
        The weight, from 0 on.
    """
    return -math.log(
        compute_doubt(
            probability, forward, backward, inverse_functionality, inverse_functionality2
        )
    )


@jit_cached()
def compute_doubt(
    probability: float,
    forward: float,
    backward: float,
    inverse_functionality: float,
    inverse_functionality2: float,
) -> float:
    """Compute the probability that a pair of matched neighbours says nothing of a pair (x, x').

    Args:
        probability: Match probability of the neighbours.
        forward: P(d ⊆ d') of the relations that lead to them.
        backward: P(d' ⊆ d).
        inverse_functionality: Of the edge of x.
        inverse_functionality2: Of the edge of x'.

    Returns:
        The probability, of which the evidence weight is the negative logarithm.
    """
    return (1 - probability * backward * inverse_functionality) * (
        1 - probability * forward * inverse_functionality2
    )
