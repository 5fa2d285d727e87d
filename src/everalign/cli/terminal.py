"""How names are shown to a person: by label and CURIE, in as many columns as a terminal has."""

from __future__ import annotations

import re
import shutil
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from everalign.aligner import Aligner
    from everalign.io import Prefixes
    from everalign.state import Side
    from everalign.types import EntityName

# Columns that an entity has at least, however narrow the terminal is.
MIN_ENTITY_WIDTH = 28
# Columns that are kept for a label beside a long name.
MIN_LABEL_WIDTH = 12
MIN_LITERAL_WIDTH = 60
_ELLIPSIS = "…"
_LAST_PART = re.compile(r"[/#:][^/#:]+[/#]?$")


def measure_width(text: str) -> int:
    """Count the columns that a text takes on a terminal.

    Args:
        text: A text without control characters.

    Returns:
        Two for each wide character, as of Chinese; none for those that are put over others.

    Example:
        >>> measure_width("Oslo"), measure_width("東京"), measure_width("e" + chr(0x301))
        (4, 4, 1)
    """
    if text.isascii():
        return len(text)
    return sum(map(_measure_character, text))


def shorten_end(text: str, width: int) -> str:
    """Shorten a text at its end.

    Args:
        text: Any text.
        width: The columns that it may take.

    Returns:
        The text, or its beginning with an ellipsis.

    Example:
        >>> shorten_end("Adagio et rondo", 8)
        'Adagio…'
    """
    if measure_width(text) <= width:
        return text
    used = 1
    for place, character in enumerate(text):
        used += _measure_character(character)
        if used > width:
            return text[:place].rstrip() + _ELLIPSIS
    return text


def shorten_name(name: str, width: int) -> str:
    """Shorten a name to its last part, by which commands find an entity again.

    Args:
        name: An IRI or any other name.
        width: The columns that it may take.

    Returns:
        The name, or its last part behind an ellipsis, however long that is.

    Example:
        >>> shorten_name("http://data.doremus.org/Individual_Work/F14/30018640", 20)
        '…/30018640'
    """
    match = _LAST_PART.search(name)
    return name if match is None or measure_width(name) <= width else _ELLIPSIS + match[0]


def format_entity(name: str, known: EntityName | None, width: int | None = None) -> str:
    """Format an entity as label and CURIE.

    Args:
        name: Its name.
        known: Its label and CURIE, if it has any.
        width: The columns that it may take; None for any number.

    Returns:
        What to print: the label is shortened before the name is.
    """
    identifier = name if known is None else known.curie or name
    has_label = known is not None and known.label not in (name, "")
    if not has_label or known is None:
        return identifier if width is None else shorten_name(identifier, width)
    label = known.label
    if width is not None:
        identifier = shorten_name(identifier, width - MIN_LABEL_WIDTH)
        left = max(width - measure_width(identifier) - 3, MIN_LABEL_WIDTH)
        label = shorten_end(label, left)
    return f"{label} ({identifier})"


class EntityFormatter:
    """Shows entities by label and CURIE on a terminal, and by name elsewhere.

    Args:
        aligner: The alignment.
        languages: Preferred languages of labels.
    """

    def __init__(self, aligner: Aligner, languages: Sequence[str]) -> None:
        self._aligner = aligner
        self._languages = languages
        self.is_terminal = sys.stdout.isatty()

    def name_pairs(self, pairs: Sequence[tuple[str, str]], others: int) -> list[tuple[str, str]]:
        """Show pairs of a left and a right entity.

        Args:
            pairs: Names; an empty one stands for no entity.
            others: The columns that other things in a line take.

        Returns:
            What to print.
        """
        left, right = zip(*pairs, strict=True) if pairs else ((), ())
        shown = self.name_side("left", left, others), self.name_side("right", right, others)
        return [(shown[0][pair[0]], shown[1][pair[1]]) for pair in pairs]

    def name_side(self, side: Side, names: Iterable[str], others: int = 0) -> dict[str, str]:
        """Show entities of a graph, two in a line.

        Args:
            side: The graph.
            names: Their names.
            others: The columns that other things in a line take.

        Returns:
            What to print for each name.
        """
        names = list(names)
        if not self.is_terminal:
            return {name: name for name in names}
        width = max(MIN_ENTITY_WIDTH, (shutil.get_terminal_size().columns - others) // 2)
        known = self._aligner.name_entities(side, names, languages=self._languages)
        return {
            # A literal stands where an entity may stand.
            name: shorten_end(name, max(width, MIN_LITERAL_WIDTH))
            if name.startswith('"')
            else format_entity(name, known.get(name), width)
            for name in names
        }

    def name_entity(self, side: Side, name: str) -> str:
        """Show one entity in full.

        Args:
            side: Its graph.
            name: Its name.

        Returns:
            What to print.
        """
        if not self.is_terminal:
            return name
        known = self._aligner.name_entities(side, [name], languages=self._languages)
        return format_entity(name, known.get(name))

    def name_property(self, name: str) -> str:
        """Show a relation, an attribute or a class.

        Args:
            name: Its name.

        Returns:
            Its CURIE on a terminal, if it has one, and else its name.
        """
        return (self._prefixes.format_curie(name) if self.is_terminal else None) or name

    @cached_property
    def _prefixes(self) -> Prefixes:
        return self._aligner.prefixes()


def _measure_character(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
