"""Which statements of a file are kept, and the counts of those that are not.

`ReadOptions` says what a user wants of the files, `StatementFilter` applies it, and `ReadContext`
is what the reader of a format is given: the file, the filter, and where to report errors.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from everalign.errors import ConfigError, InputError
from everalign.io.sources import SourceOptions
from everalign.io.streams import ErrorHandler
from everalign.io.table_source import Table
from everalign.io.terms import Statements, Triple, shorten_text

# A file with millions of errors must not fill the memory; this many show what is wrong.
MAX_LISTED_ERRORS = 100
# Prefixes are for people; no real graph has so many.
MAX_PREFIXES = 1000
# Predicates, graphs and datatypes are few; a file in which they are not must not fill the memory.
_MAX_CACHED_NAMES = 100_000

_FIELD_OF_RULE = {
    "predicate": "predicates",
    "not-predicate": "not_predicates",
    "namespace": "namespaces",
    "graph": "graphs",
    "language": "languages",
}


@dataclass(frozen=True)
class ReadOptions:
    """What to keep of a file; an empty field keeps everything.

    An IRI that ends in ``/``, ``#`` or ``*`` matches all IRIs that begin with it.

    >>> ReadOptions.parse(["predicate=http://example.org/", "language=en", "language="])
    ... # doctest: +NORMALIZE_WHITESPACE
    ReadOptions(predicates=('http://example.org/',), not_predicates=(), namespaces=(), graphs=(),
           languages=('en', ''))
    """

    predicates: tuple[str, ...] = ()
    """The relations and attributes to keep."""

    not_predicates: tuple[str, ...] = ()
    """The relations and attributes to leave out."""

    namespaces: tuple[str, ...] = ()
    """The namespaces of entities to keep; ``_:`` matches blank nodes."""

    graphs: tuple[str, ...] = ()
    """The named graphs to keep, where a format has them; the empty string is the default graph."""

    languages: tuple[str, ...] = ()
    """The languages of literals to keep; ``en`` matches ``en-gb``, an empty string no language."""

    @classmethod
    def parse(cls, rules: Iterable[str]) -> ReadOptions:
        """Parse filter rules as they are given on the command line.

        Args:
            rules: Rules such as ``predicate=IRI``, ``namespace=IRI`` or ``language=en``.

        Returns:
            The options that all rules together describe.

        Raises:
            ConfigError: A rule is not of this form.
        """
        values: dict[str, tuple[str, ...]] = {}
        for rule in rules:
            key, equals, value = rule.partition("=")
            if not equals or key not in _FIELD_OF_RULE:
                known = ", ".join(f"{name}=" for name in _FIELD_OF_RULE)
                raise ConfigError(f"invalid filter rule {shorten_text(rule)}: expected {known}")
            if not value and key not in ("graph", "language"):
                raise ConfigError(f"invalid filter rule {shorten_text(rule)}: the {key} is empty")
            name = _FIELD_OF_RULE[key]
            values[name] = (*values.get(name, ()), value)
        return cls(**values)

    def keeps_everything(self) -> bool:
        """Tell whether nothing is filtered.

        Returns:
            Whether all fields are empty.
        """
        return not any(getattr(self, option.name) for option in fields(self))


class StatementFilter:
    """Applies `ReadOptions` to statements.

    Args:
        options: What to keep.

    >>> filter = StatementFilter(ReadOptions(not_predicates=("urn:born",), languages=("fr",)))
    >>> filter.apply(Statements([("a", "urn:born", "b")], [("a", "urn:name", '"Ada"@en')]))
    Statements(triples=[], literals=[], removed=False)
    """

    def __init__(self, options: ReadOptions) -> None:
        self._options = options
        self._keeps_everything = options.keeps_everything()
        self._namespaces = tuple(rule.removesuffix("*") for rule in options.namespaces)
        # Literals in canonical form have language tags in lower case.
        self._languages = {language.lower() for language in options.languages}
        # The same few predicates, graphs and language tags are asked for again and again.
        self._keeps_predicate = _cache_decisions(self._matches_predicate)
        self._keeps_suffix = _cache_decisions(self._matches_language)
        self.keeps_graph = _cache_decisions(
            lambda graph: _matches_any(graph, options.graphs, if_no_rules=True)
        )

    def apply(self, statements: Statements) -> Statements:
        """Remove the statements that are not wanted.

        Args:
            statements: A batch of statements.

        Returns:
            The statements to keep; the graph is not looked at, see `ReadContext.keeps_graph`.
        """
        if self._keeps_everything:
            return statements
        triples, literals, removed = statements
        return Statements(
            [row for row in triples if self._keeps_triple(row)],
            [row for row in literals if self._keeps_literal(row)],
            removed,
        )

    def _keeps_triple(self, row: Triple) -> bool:
        return self._keeps_predicate(row[1]) and (
            not self._namespaces
            or (row[0].startswith(self._namespaces) and row[2].startswith(self._namespaces))
        )

    def _keeps_literal(self, row: Triple) -> bool:
        # The last quotation mark ends the text: no language tag and no datatype can have one.
        return (
            self._keeps_predicate(row[1])
            and (not self._namespaces or row[0].startswith(self._namespaces))
            and (not self._languages or self._keeps_suffix(row[2][row[2].rindex('"') + 1 :]))
        )

    def _matches_predicate(self, name: str) -> bool:
        options = self._options
        return _matches_any(name, options.predicates, if_no_rules=True) and not _matches_any(
            name, options.not_predicates, if_no_rules=False
        )

    def _matches_language(self, suffix: str) -> bool:
        """Match what follows the quotation marks: a datatype, ``@en`` or ``@en--ltr``."""
        language = suffix[1:].partition("--")[0] if suffix.startswith("@") else ""
        return language in self._languages or language.partition("-")[0] in self._languages


def _matches_any(name: str, rules: tuple[str, ...], *, if_no_rules: bool) -> bool:
    if not rules:
        return if_no_rules
    return any(
        name.startswith(rule.removesuffix("*")) if rule.endswith(("/", "#", "*")) else name == rule
        for rule in rules
    )


def _cache_decisions(decide: Callable[[str], bool]) -> Callable[[str], bool]:
    cache: dict[str, bool] = {}

    def decide_cached(name: str) -> bool:
        if name not in cache:
            if len(cache) == _MAX_CACHED_NAMES:
                cache.clear()
            cache[name] = decide(name)
        return cache[name]

    return decide_cached


def describe_known_rows(count: int) -> str:
    """Say that rows of a table are about entities of other tables.

    Args:
        count: How many rows.

    Returns:
        The end of a note on the table.
    """
    return f"{count} rows have ids of rows in other tables: the same entities"


class SkippedLine(NamedTuple):
    """A part of a file that could not be read, and why."""

    path: str
    line: int | None
    """The line number, None where the format has no lines."""

    reason: str


@dataclass
class ReadCounts:
    """How many statements were read, filtered out and skipped."""

    triples: int = 0
    literals: int = 0
    filtered: int = 0
    """Statements that the filter did not keep."""

    skipped: list[SkippedLine] = field(default_factory=list)
    """The first `MAX_LISTED_ERRORS` parts that could not be read."""

    skipped_count: int = 0

    prefixes: dict[str, str] = field(default_factory=dict)
    """The namespace of each prefix that the files declare; the first declaration counts."""

    notes: list[str] = field(default_factory=list)
    """What was found out about the files, such as an encoding; one line each."""

    row_names: set[str] = field(default_factory=set)
    """The entities of the rows of all tables so far."""

    line_count: int = 0
    """The lines of ranges of a file, see `open_line_range`."""

    def is_empty(self) -> bool:
        """Tell whether nothing was found at all.

        Returns:
            Whether there was no statement, kept or not, and nothing was skipped.
        """
        return not (self.triples or self.literals or self.filtered or self.skipped_count)

    def add_counts(self, others: ReadCounts, lines_before: int) -> None:
        """Add the counts of a slice that was read elsewhere.

        Args:
            others: The counts of a slice, which comes after all that is counted here.
            lines_before: How much higher its line numbers are in the whole file.
        """
        self.triples += others.triples
        self.literals += others.literals
        self.filtered += others.filtered
        self.skipped_count += others.skipped_count
        for path, line, reason in others.skipped[: MAX_LISTED_ERRORS - len(self.skipped)]:
            place = None if line is None else line + lines_before
            self.skipped.append(SkippedLine(path, place, reason))
        for name, namespace in others.prefixes.items():
            if len(self.prefixes) < MAX_PREFIXES:
                self.prefixes.setdefault(name, namespace)
        notes = others.notes
        if known := len(self.row_names & others.row_names):
            notes = [*notes[:-1], f"{notes[-1]}, {describe_known_rows(known)}"]
        self.row_names |= others.row_names
        for note in notes:
            self.add_note(note)

    def add_note(self, note: str) -> None:
        """Add a note, unless there are enough.

        Args:
            note: The note, with the name of the file.
        """
        # A file may be opened twice, and a thousand files may have the same peculiarity.
        if note not in self.notes and len(self.notes) < MAX_LISTED_ERRORS:
            self.notes.append(note)


@dataclass(frozen=True)
class ReadContext:
    """What the reader of a format is given beside the bytes of a file."""

    path: Path
    """The file that is read."""

    filter: StatementFilter = field(default_factory=lambda: StatementFilter(ReadOptions()))
    """What to keep; a reader only has to ask it for named graphs."""

    skip_errors: bool = False
    """Whether to go on after an error."""

    counts: ReadCounts = field(default_factory=ReadCounts)
    """The counts of all files that are read together."""

    sources: SourceOptions = field(default_factory=SourceOptions)
    """How the user wants files to be opened."""

    table: Table = field(default_factory=Table)
    """How the columns are read if the file is a table of entities."""

    reopen: Callable[[], AbstractContextManager[io.BufferedReader]] | None = None
    """Opens the same bytes from the beginning, to look for the line of an error; None if the file
    can be read only once."""

    @property
    def error_handler(self) -> ErrorHandler | None:
        """`report_error`, if reading goes on after an error."""
        return self.report_error if self.skip_errors else None

    def add_note(self, note: str) -> None:
        """Tell the user what was found out about the file.

        Args:
            note: What was found out, without the name of the file.
        """
        self.counts.add_note(f"{self.path}: {note}")

    def report_error(self, error: InputError) -> None:
        """Raise an error, or count and list it if errors are skipped.

        Args:
            error: What is wrong, with its line number if that is known.

        Raises:
            InputError: Errors are not skipped.
        """
        if not self.skip_errors:
            raise error
        self.counts.skipped_count += 1
        if len(self.counts.skipped) < MAX_LISTED_ERRORS:
            path = str(self.path if error.path is None else error.path)
            self.counts.skipped.append(SkippedLine(path, error.line, error.problem))

    def add_prefixes(self, prefixes: Mapping[str, str]) -> None:
        """Note the prefixes that a file declares.

        Args:
            prefixes: The namespace of each prefix.
        """
        room = MAX_PREFIXES - len(self.counts.prefixes)
        for name, namespace in islice(prefixes.items(), max(0, room)):
            self.counts.prefixes.setdefault(name, namespace)

    def keeps_graph(self, graph: str) -> bool:
        """Tell whether a statement of a graph is kept, and count it if not.

        Args:
            graph: The name of the graph, empty for the default graph.

        Returns:
            Whether the filter keeps statements of this graph.
        """
        if self.filter.keeps_graph(graph):
            return True
        self.counts.filtered += 1
        return False
