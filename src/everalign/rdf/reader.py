"""A file of triples, read from its first line to its last without holding it in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from everalign.errors import InputError
from everalign.rdf import ntriples, tabular
from everalign.rdf.formats import Format, opened
from everalign.rdf.names import Triple
from everalign.rdf.opening import Block


class TripleReader:
    """The triples of a file, in its order; the counts are complete when the iteration is.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.nt")
    ...     _ = file.write_text('<urn:Ada> <urn:knows> _:b0 .\\n<urn:Ada> <urn:born> "1815" .\\n')
    ...     reader = TripleReader(file)
    ...     list(reader), reader.triples_read, reader.literals_skipped
    ([('urn:Ada', 'urn:knows', '_:b0')], 1, 1)
    """

    def __init__(self, path: str | Path, watch: Callable[[int], None] = lambda _: None) -> None:
        """`watch` is called now and then with the number of triples read so far."""
        self.path = Path(path)
        self._watch = watch
        self.triples_read = 0
        self.literals_skipped = 0

    def __iter__(self) -> Iterator[Triple]:
        # A chain of lists hands out triples faster than a generator that yields each of them.
        return chain.from_iterable(self._triples_by_block())

    def _triples_by_block(self) -> Iterator[list[Triple]]:
        self.triples_read = self.literals_skipped = 0
        file_format, blocks = opened(self.path)
        for block in blocks:
            triples, literals = self._statements_of(block, file_format)
            self.triples_read += len(triples)
            self._watch(self.triples_read)
            self.literals_skipped += literals
            yield triples
        if not self.triples_read + self.literals_skipped:
            raise InputError("has no triples", path=self.path)

    def _statements_of(self, block: Block, file_format: Format) -> tuple[list[Triple], int]:
        if file_format is Format.N_TRIPLES:
            return ntriples.statements_of(block, self.path)
        return tabular.triples_of(block, self.path), 0


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
