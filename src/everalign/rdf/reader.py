"""A file of statements, read from its first line to its last without holding it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from everalign.errors import InputError
from everalign.rdf import ntriples, tabular
from everalign.rdf.formats import Format, opened
from everalign.rdf.names import Triple
from everalign.rdf.opening import Block
from everalign.rdf.statements import Statements


class TripleReader:
    """What a file says, in its order; the counts are complete when the iteration is.

    Iterating gives the triples; `statements` gives the literals as well.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.nt")
    ...     _ = file.write_text('<urn:Ada> <urn:knows> _:b0 .\\n<urn:Ada> <urn:born> "1815" .\\n')
    ...     reader = TripleReader(file)
    ...     list(reader), reader.triples_read, reader.literals_read
    ([('urn:Ada', 'urn:knows', '_:b0')], 1, 1)
    """

    def __init__(self, path: str | Path, watch: Callable[[int], None] = lambda _: None) -> None:
        """`watch` is called now and then with the number of triples read so far."""
        self.path = Path(path)
        self._watch = watch
        self.triples_read = 0
        self.literals_read = 0

    @property
    def literals_skipped(self) -> int:
        """How many literals an iteration over the triples left out."""
        return self.literals_read

    def __iter__(self) -> Iterator[Triple]:
        # A chain of lists hands out triples faster than a generator that yields each of them.
        return chain.from_iterable(part.triples for part in self.statements() if not part.removed)

    def statements(self) -> Iterator[Statements]:
        """Triples and literals, some at a time."""
        self.triples_read = self.literals_read = 0
        file_format, blocks = opened(self.path)
        for block in blocks:
            statements = self._statements_of(block, file_format)
            self.triples_read += len(statements.triples)
            self.literals_read += len(statements.literals)
            self._watch(self.triples_read)
            yield statements
        if not self.triples_read + self.literals_read:
            raise InputError("has no triples", path=self.path)

    def _statements_of(self, block: Block, file_format: Format) -> Statements:
        if file_format is Format.N_TRIPLES:
            return ntriples.statements_of(block, self.path)
        return tabular.statements_of(block, self.path)


def read_triples(path: str | Path) -> Iterator[Triple]:
    """The triples of a file: tab-separated or N-Triples, plain or gzip.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.tsv")
    ...     _ = file.write_text("Ada\\tknows\\tCharles\\n")
    ...     list(read_triples(file))
    [('Ada', 'knows', 'Charles')]
    """
    return iter(TripleReader(path))
