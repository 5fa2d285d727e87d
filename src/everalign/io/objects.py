"""Graphs and tables that are objects of other libraries: rdflib, pyoxigraph, data frames.

None of these libraries is imported here unless an object of it is given, but pyoxigraph.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

from pyoxigraph import BlankNode, Dataset, Literal, NamedNode, Quad, Store
from pyoxigraph import Triple as OxigraphTriple

from everalign.errors import ConfigError, InputError
from everalign.io.entity_tables import ROWS_PER_BATCH, RowConverter, check_triple_rows
from everalign.io.filters import ReadContext
from everalign.io.table_source import find_triple_columns
from everalign.io.terms import (
    Statements,
    Triple,
    format_graph_name,
    format_term,
    group_statements,
    is_iri,
    shorten_text,
    split_literals,
)


class DataFrame(Protocol):
    """A data frame: of pandas, polars, pyarrow, or another library that narwhals knows."""

    @property
    def columns(self) -> Any:
        """The columns, or their names."""
        ...


class RdfGraph(Protocol):
    """A graph of rdflib or pyoxigraph."""

    def add(self, statement: Any, /) -> Any:
        """Add a statement.

        Args:
            statement: A triple or a quad of the library.
        """
        ...

    def __len__(self) -> int: ...


_OXIGRAPH_TERMS = (NamedNode, BlankNode, Literal, OxigraphTriple)


def is_readable_object(source: object) -> bool:
    """Tell whether an object is a graph or a data frame that can be read.

    Args:
        source: Any object.

    Returns:
        Whether it is an `rdflib.Graph`, a `pyoxigraph.Store` or `Dataset`, or a data frame of a
        library that narwhals knows.

    >>> is_readable_object(Store()), is_readable_object([("a", "knows", "b")])
    (True, False)
    """
    # A string, a list or a generator is nothing of these, which spares the import.
    if isinstance(source, str | list | tuple | set | dict | Iterator):
        return False
    return isinstance(source, Store | Dataset) or _is_rdflib_graph(source) or _is_frame(source)


def describe_object(source: object) -> str:
    """Name an object by its type, for messages.

    Args:
        source: An object that can be read.

    Returns:
        Such as ``rdflib.Graph`` or ``pandas.DataFrame``.

    >>> describe_object(Store())
    'pyoxigraph.Store'
    """
    kind = type(source)
    return f"{kind.__module__.partition('.')[0]}.{kind.__name__}"


def read_object(source: object, context: ReadContext) -> Iterator[Statements]:
    """Read a graph or a data frame.

    Args:
        source: An object for which `is_readable_object` holds.
        context: How columns are read, what to keep, and where to report errors.

    Returns:
        The statements in batches.

    Raises:
        InputError: It has something that cannot be read (when iterating).
    """
    if _is_frame(source):
        return _read_frame(source, context)
    return _read_graph(source, context)


def list_object_columns(source: object) -> list[str]:
    """List the columns of an object.

    Args:
        source: An object that can be read.

    Returns:
        The names of its columns; none if it is no data frame.
    """
    return _open_frame(source).columns if _is_frame(source) else []


def list_frame_rows(source: object, width: int) -> list[tuple[Any, ...]] | None:
    """List the first cells of each row of a data frame.

    Args:
        source: An object that can be read.
        width: How many columns.

    Returns:
        The rows without missing values; None if it is no data frame.

    Raises:
        InputError: It has fewer columns.
    """
    if not _is_frame(source):
        return None
    frame = _open_frame(source)
    if len(frame.columns) < width:
        problem = f"expected {width} columns, found {len(frame.columns)}"
        raise InputError(f"{describe_object(source)}: {problem}")
    columns = [_list_values(frame[column]) for column in frame.columns[:width]]
    rows = zip(*columns, strict=True)
    return [row for row in rows if all(value is not None for value in row)]


def read_rows(rows: Iterable[Any]) -> Statements:
    """Read statements in memory: tuples of three names or of three terms of an RDF library.

    Args:
        rows: The statements. Names are text, and a third one in quotation marks that is a literal
            in N-Triples syntax is a literal. Terms of rdflib and pyoxigraph are what they are.

    Returns:
        The statements.

    Raises:
        InputError: A row is something else.

    >>> read_rows([(NamedNode("urn:a"), NamedNode("urn:p"), Literal("x"))]).literals
    [('urn:a', 'urn:p', '"x"')]
    """
    names: list[Triple] = []
    terms: list[Triple] = []
    for number, row in enumerate(rows, 1):
        try:
            head, relation, tail = list(row)[:3] if isinstance(row, Quad) else row
        except (TypeError, ValueError):
            found = shorten_text(repr(row))
            problem = f"row {number}: expected head, relation and tail, found {found}"
            raise InputError(problem) from None
        # Terms of rdflib are text as well, but of a type of their own.
        if type(head) is type(relation) is type(tail) is str:
            names.append(_check_names(head, relation, tail, number))
        else:
            try:
                terms.append((_name_term(head), _name_term(relation), _name_term(tail)))
            except InputError as error:
                raise InputError(f"row {number}: {error.problem}") from None
    statements, others = split_literals(names), group_statements(terms)
    return Statements(statements.triples + others.triples, statements.literals + others.literals)


def _check_names(head: str, relation: str, tail: str, number: int) -> Triple:
    """Refuse half characters, which no file can hold."""
    try:
        f"{head}{relation}{tail}".encode()
    except UnicodeEncodeError:
        found = shorten_text(repr((head, relation, tail)))
        raise InputError(f"row {number}: has a character that is not Unicode: {found}") from None
    return head, relation, tail


def _is_rdflib_graph(source: object) -> bool:
    rdflib = sys.modules.get("rdflib")
    return rdflib is not None and isinstance(source, rdflib.Graph)


def _is_frame(source: object) -> bool:
    try:
        from narwhals.dependencies import is_into_dataframe, is_into_lazyframe
    except ModuleNotFoundError:  # an older narwhals
        return False
    is_frame = is_into_dataframe(source) or is_into_lazyframe(source)
    return bool(is_frame) or _is_record_batch(source)


def _is_record_batch(source: object) -> bool:
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(source, arrow.RecordBatch)


def _open_frame(source: Any) -> Any:
    import narwhals

    if _is_record_batch(source):
        source = sys.modules["pyarrow"].Table.from_batches([source])
    # The index of pandas is a column only if it has a name.
    if hasattr(source, "reset_index") and any(name is not None for name in source.index.names):
        source = source.reset_index()
    try:
        frame = narwhals.from_native(source)
        return frame.collect() if isinstance(frame, narwhals.LazyFrame) else frame
    except (TypeError, ValueError, narwhals.exceptions.NarwhalsError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{describe_object(source)}: cannot be read ({reason})") from None


def _read_frame(source: Any, context: ReadContext) -> Iterator[Statements]:
    frame = _open_frame(source)
    header = frame.columns
    if not all(isinstance(column, str) for column in header):
        raise InputError("the names of the columns are not text", path=context.path)
    columns = find_triple_columns(header, exact=True)
    if columns is None and context.table.uses_table_name:
        raise ConfigError("a data frame has no name for {table}: write the base in full")
    converter = None if columns else RowConverter(header, context)
    for start in range(0, len(frame), ROWS_PER_BATCH):
        cells = [_list_values(frame[column][start : start + ROWS_PER_BATCH]) for column in header]
        places = range(start + 1, start + 1 + len(cells[0]))
        if converter is not None:
            yield converter.convert(cells, places, is_text=False)
        elif columns is not None:
            rows = zip(*(cells[header.index(column)] for column in columns), strict=True)
            found = check_triple_rows(zip(rows, places, strict=True), columns, context)
            yield split_literals(found)
    if converter is not None:
        converter.finish("a table")


def _list_values(series: Any) -> list[Any]:
    # Each library has its own idea of a missing value.
    missing = series.is_null().to_list()
    values = series.to_list()
    return [None if gone else value for gone, value in zip(missing, values, strict=True)]


def _read_graph(source: Any, context: ReadContext) -> Iterator[Statements]:
    rows = _iterate_oxigraph if isinstance(source, Store | Dataset) else _iterate_rdflib
    found = rows(source, context)
    while batch := list(islice(found, ROWS_PER_BATCH)):
        yield group_statements(batch)


def _iterate_oxigraph(source: Any, context: ReadContext) -> Iterator[Triple]:
    for quad in source:
        if context.keeps_graph(format_graph_name(quad.graph_name)):
            yield _name_terms(quad.triple, context)


def _iterate_rdflib(source: Any, context: ReadContext) -> Iterator[Triple]:
    # A dataset of rdflib gives quads, with None for its default graph.
    for row in source:
        graph = row[3] if len(row) > 3 else None
        name = "" if graph is None else str(getattr(graph, "identifier", graph))
        if context.keeps_graph(name):
            yield _name_terms(row[:3], context)


def _name_terms(terms: Iterable[Any], context: ReadContext) -> Triple:
    try:
        head, relation, tail = (_name_term(term) for term in terms)
    except InputError as error:
        raise InputError(error.problem, path=context.path) from None
    return head, relation, tail


def _name_term(term: Any) -> str:
    """Name a term: of pyoxigraph, of rdflib, or a plain name."""
    if isinstance(term, _OXIGRAPH_TERMS):
        return format_term(term)
    if type(term) is str:
        return term
    rdflib = sys.modules.get("rdflib")
    if rdflib is not None and isinstance(term, rdflib.term.Identifier):
        if isinstance(term, rdflib.Literal):
            return _convert_literal(term)
        if isinstance(term, rdflib.BNode):
            return f"_:{term}"
        if isinstance(term, rdflib.URIRef):
            if not is_iri(str(term)):
                raise InputError(f"not an IRI: {shorten_text(str(term))}")
            return str(term)
    problem = f"expected a name or a term of RDF, found {shorten_text(repr(term))}"
    raise InputError(f"{problem} of type {describe_object(term)}")


def _convert_literal(term: Any) -> str:
    try:
        if term.language:
            return format_term(Literal(str(term), language=str(term.language)))
        if term.datatype is None:
            return format_term(Literal(str(term)))
        return format_term(Literal(str(term), datatype=NamedNode(str(term.datatype))))
    except ValueError as error:
        raise InputError(f"not a literal: {shorten_text(repr(term))} ({error})") from None
