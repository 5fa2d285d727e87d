"""Files of statements, read from the first line to the last without holding them in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from everalign.errors import InputError
from everalign.rdf import documents, nquads, ntriples, parquet, patch, tabular
from everalign.rdf.choice import Choice, Sieve
from everalign.rdf.formats import Format, Opened, opened
from everalign.rdf.names import Triple
from everalign.rdf.opening import blocks_of
from everalign.rdf.reading import Reading, Skipped, Tally
from everalign.rdf.sources import FileSource, files_of
from everalign.rdf.statements import Statements

_OF_BLOCK = {
    Format.TABULAR: tabular.statements_of,
    Format.N_TRIPLES: ntriples.statements_of,
    Format.N_QUADS: nquads.statements_of,
}


class TripleReader:
    """What files say, in their order; the counts are complete when the iteration is.

    Iterating gives the triples; `statements` gives the literals as well.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.nt")
    ...     _ = file.write_text('<urn:Ada> <urn:knows> _:b0 .\\n<urn:Ada> <urn:born> "1815" .\\n')
    ...     reader = TripleReader(file)
    ...     list(reader), reader.triples_read, reader.literals_read
    ([('urn:Ada', 'urn:knows', '_:b0')], 1, 1)
    """

    def __init__(
        self,
        source: FileSource,
        watch: Callable[[int], None] = lambda _: None,
        *,
        choice: Choice | None = None,
        skip_errors: bool = False,
    ) -> None:
        """`source` is a file, a pattern such as ``left/*.nt``, or several of both.

        `watch` is called now and then with the number of triples read so far.
        """
        self._source = source
        self._watch = watch
        self._choice = choice or Choice()
        self._skip_errors = skip_errors
        self._tally = Tally()

    @property
    def name(self) -> str:
        """The files as they were named, for people."""
        source = self._source
        entries = [source] if isinstance(source, str | Path) else source
        return ", ".join(Path(entry).name for entry in entries)

    @property
    def triples_read(self) -> int:
        """How many triples were given, added and removed."""
        return self._tally.triples

    @property
    def literals_read(self) -> int:
        """How many triples with a literal there were, added and removed."""
        return self._tally.literals

    literals_skipped = literals_read

    @property
    def left_out(self) -> int:
        """How many statements the choice did not want."""
        return self._tally.left_out

    @property
    def skipped(self) -> list[Skipped]:
        """The first hundred places that could not be read."""
        return self._tally.skipped

    @property
    def skipped_count(self) -> int:
        """How many places could not be read."""
        return self._tally.skipped_count

    def __iter__(self) -> Iterator[Triple]:
        # A chain of lists hands out triples faster than a generator that yields each of them.
        return chain.from_iterable(part.triples for part in self.statements() if not part.removed)

    def statements(self, *, removing: bool = False) -> Iterator[Statements]:
        """Triples and literals, some at a time; a patch has some that it removes.

        Where they are read for `removing` them, a patch that adds something is a mistake.
        """
        tally = self._tally = Tally()
        sieve = Sieve(self._choice)
        paths = files_of(self._source)
        patched = False
        for number, path in enumerate(paths, 1):
            reading = Reading(path, sieve, self._skip_errors, tally)
            with opened(path) as file:
                is_patch = file.format is Format.RDF_PATCH
                patched = patched or is_patch
                for part in _statements_of(file, reading):
                    if removing and is_patch and _adds(part):
                        raise InputError(
                            "is a patch that adds facts, but was given as what is removed: "
                            "give it as what is gained, it says itself what it removes",
                            path=path,
                        )
                    wanted = self._counted(part, sieve)
                    yield wanted if len(paths) == 1 else _labelled(wanted, number)
        if not patched and not tally.anything():
            raise InputError("has no triples", path=paths[0] if len(paths) == 1 else None)

    def _counted(self, part: Statements, sieve: Sieve) -> Statements:
        wanted = sieve.kept(part)
        tally = self._tally
        tally.triples += len(wanted.triples)
        tally.literals += len(wanted.literals)
        tally.left_out += len(part.triples) + len(part.literals)
        tally.left_out -= len(wanted.triples) + len(wanted.literals)
        self._watch(tally.triples)
        return wanted


def _statements_of(file: Opened, reading: Reading) -> Iterator[Statements]:
    if file.format is Format.PARQUET:
        return parquet.statements_of(reading)
    if file.format is Format.RDF_PATCH:
        return patch.statements_of(blocks_of(file.stream, file.path, reading.on_fault), reading)
    if file.format not in _OF_BLOCK:
        return documents.statements_of(file.stream, reading, file.format)
    of_block = _OF_BLOCK[file.format]
    blocks = blocks_of(file.stream, file.path, reading.on_fault)
    return (of_block(block, reading) for block in blocks)


def _adds(part: Statements) -> bool:
    return not part.removed and bool(part.triples or part.literals)


def _labelled(part: Statements, number: int) -> Statements:
    """The same label of a blank node in two files means two things."""

    def renamed(name: str) -> str:
        return f"_:f{number}.{name[2:]}" if name.startswith("_:") else name

    return Statements(
        [(renamed(head), relation, renamed(tail)) for head, relation, tail in part.triples],
        [(renamed(head), attribute, literal) for head, attribute, literal in part.literals],
        part.removed,
    )


def read_triples(source: FileSource) -> Iterator[Triple]:
    """The triples of files, in any format that EverAlign reads.

    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "left.tsv")
    ...     _ = file.write_text("Ada\\tknows\\tCharles\\n")
    ...     list(read_triples(file))
    [('Ada', 'knows', 'Charles')]
    """
    return iter(TripleReader(source))
