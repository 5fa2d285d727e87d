"""The steps of a fit and of an update, as a plan names them."""

from __future__ import annotations

READING = "reading"
SPREADING = "spreading"
# In the order in which they come.
FIT_STEPS = (
    READING,
    "storing the input",
    "loading",
    "matching literals",
    "building adjacency lists",
    "propagating",
    "comparing neighbours",
    "learning",
    "concluding",
    "indexing candidates",
    SPREADING,
    "selecting links",
    "storing the links",
)
UPDATE_STEPS = (
    READING,
    "storing the input",
    "loading",
    SPREADING,
    "selecting links",
    "storing the links",
)
# An update that trains again reports these, one that follows a small change does not.
TRAINING_STEPS = frozenset(FIT_STEPS) - frozenset(UPDATE_STEPS)
_OTHER_NAMES = {"equal literals": "matching literals", "similar names": "matching literals"}


def find_step(reported: str) -> str | None:
    """Find the step of a plan that a report of progress belongs to.

    Args:
        reported: The name that a `Progress` is called with.

    Returns:
        The name of the step; None if a plan has no such step, as with other methods.

    Example:
        >>> find_step("reading left.nt"), find_step("similar names"), find_step("training")
        ('reading', 'matching literals', None)
    """
    if reported.startswith(f"{READING} "):
        return READING
    name = _OTHER_NAMES.get(reported, reported)
    return name if name in FIT_STEPS else None
