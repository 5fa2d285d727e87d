"""How the world, and what is known of it, grows from snapshot to snapshot.

The constants are set so that degrees, growth and the share of entities with a counterpart are
about as in the real continual alignment datasets.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from everalign.sample.arrays import Flags, Floats, Ids
from everalign.sample.config import SampleConfig

# New entities have few facts each: it takes this many times more of them for the same growth.
_NEW_PER_FIRST = 3.5
# How much chance decides, beside popularity, with which snapshot an entity comes.
_CHANCE = 0.6
# How many facts the entities of snapshot 0 and those of later snapshots have, on average,
# relative to the means of the fact types.
_FIRST_ACTIVITY, _NEW_ACTIVITY = 4.5, 0.5
_ACTIVITY_SPREAD = 0.6
# With this chance a late fact comes with the next snapshot; if not, with the one after, and so on.
_LATE_STOP = 0.35
# The right graph is the larger one.
_LEFT_OF_ONE_SIDED = 0.42


def cohorts(count: int, config: SampleConfig, rng: Generator) -> Ids:
    """Return the snapshot with which each of `count` entities comes, the most popular first."""
    position = (np.arange(count) + 0.5) / count
    order = np.argsort(position + _CHANCE * rng.random(count), kind="stable")
    grown = (1 + config.growth) ** np.arange(config.snapshots) - 1
    size = 1 + _NEW_PER_FIRST * grown
    cohort = np.empty(count, dtype=np.int64)
    cohort[order] = np.searchsorted(size / size[-1], position)
    return cohort


def activity(cohort: Ids, rng: Generator) -> Floats:
    """Return how many facts each entity has, relative to the mean of a fact type."""
    spread = rng.lognormal(-(_ACTIVITY_SPREAD**2) / 2, _ACTIVITY_SPREAD, len(cohort))
    return spread * np.where(cohort == 0, _FIRST_ACTIVITY, _NEW_ACTIVITY)


def presence(
    cohort: Ids, settled: Flags, config: SampleConfig, rng: Generator
) -> tuple[Flags, Flags]:
    """Return which entities the left side has, and which the right side."""
    share = np.where(cohort == 0, config.one_sided_share, config.new_one_sided_share)
    one_sided = (rng.random(len(cohort)) < share) & ~settled
    left_only = rng.random(len(cohort)) < _LEFT_OF_ONE_SIDED
    return ~one_sided | left_only, ~one_sided | ~left_only


def arrivals(known_from: Ids, config: SampleConfig, rng: Generator) -> Ids:
    """Return the snapshot with which one side learns each fact: mostly at once, sometimes late."""
    late = rng.random(len(known_from)) < config.late_share
    return known_from + late * rng.geometric(_LATE_STOP, len(known_from))


def repeats(arrival: Ids, snapshot: int, config: SampleConfig, rng: Generator) -> Ids:
    """Return the positions of the older triples that the snapshot repeats."""
    older = np.flatnonzero(arrival < snapshot)
    wanted = round(config.repeated_share * np.count_nonzero(arrival == snapshot))
    return rng.choice(older, min(wanted, len(older)), replace=False)
