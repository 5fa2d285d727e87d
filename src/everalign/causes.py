"""Why a link is no longer in force."""

from __future__ import annotations

from enum import StrEnum


class RetractionCause(StrEnum):
    """What ended a link; the values are what people and other programs read.

    >>> RetractionCause("better rival").name
    'BETTER_RIVAL'
    """

    DECISION = "decision"
    """A person has rejected the pair or withdrawn it, confirmed another one of the same entity,
    or stated that an entity has no counterpart."""

    LOST_EVIDENCE = "lost evidence"
    """An entity, its facts, or facts and links that the link rested on went away."""

    NEW_EVIDENCE = "new evidence"
    """New facts of its entities, or what is known of their neighbours now, speak against it."""

    BETTER_RIVAL = "better rival"
    """Another pair of the same entity took its place."""

    RELEARNED_MODELS = "relearned models"
    """Training again has changed its confidence; its facts are what they were."""

    NEW_SHARES = "new shares"
    """The pair is as similar as before, but fewer counterparts are expected: the shares of
    entities with a counterpart, and the threshold, were estimated again."""

    OUT_OF_SCOPE = "out of scope"
    """An entity is no longer to be linked, as a class or a property."""

    REVERT = "revert"
    """The alignment was reverted to an earlier version."""

    UNKNOWN = ""
    """The method cannot tell."""
