"""Counts what is in the files of a graph: exactly if they are small, from samples if not."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from everalign.errors import InputError
from everalign.io import Statements, Triple, TripleReader
from everalign.io.remote import is_remote
from everalign.io.source_parts import list_parts
from everalign.io.streams import (
    COMPRESSION_SUFFIXES,
    ZIP_STARTS,
    decompress_stream,
    is_archive,
)
from everalign.planning.costs import GraphCounts

# Files of this size are read whole: it takes some seconds.
MAX_WHOLE_BYTES = 1 << 25
# So much of larger files is read, decompressed, from this many files and places at most.
SAMPLE_BYTES = 1 << 24
MAX_SAMPLED_FILES = 8
BLOCKS_PER_FILE = 8
# A line of these is a statement, so that any lines make a file.
LINE_SUFFIXES = (".nt", ".nq", ".tsv")
_TURTLE_SUFFIXES = (".ttl", ".trig")
_UNDIVIDED_STARTS = (b"PAR1", *ZIP_STARTS)

GraphFiles = str | Path | Sequence[str | Path]


@dataclass
class GraphSurvey:
    """What was read of a graph, and what follows for the whole of it.

    Attributes:
        triples: The triples that were read.
        literals: The triples with literals that were read.
        share: Which share of the graph that is, by the size of the files.
    """

    triples: list[Triple] = field(default_factory=list)
    literals: list[Triple] = field(default_factory=list)
    share: float = 1.0

    def estimate_counts(self) -> GraphCounts:
        """Estimate how much the whole graph has.

        Returns:
            The counts; exact ones if everything was read.
        """
        entities, texts = self._find_distinct(self.triples, self.literals)
        # The first half and not every second one: in a file that is sorted by entities, the rest
        # of the file is to what was read as the second half is to the first.
        half_entities, half_texts = self._find_distinct(
            self.triples[: len(self.triples) // 2], self.literals[: len(self.literals) // 2]
        )
        return GraphCounts(
            triples=round(len(self.triples) / self.share),
            entities=_extrapolate_distinct(len(entities), len(half_entities), self.share),
            literals=round(len(self.literals) / self.share),
            distinct_literals=_extrapolate_distinct(len(texts), len(half_texts), self.share),
            name_bytes=_average_bytes(entities),
            literal_bytes=_average_bytes(texts),
            is_exact=self.share == 1.0,
        )

    @staticmethod
    def _find_distinct(triples: list[Triple], literals: list[Triple]) -> tuple[set[str], set[str]]:
        texts = {literal for _, _, literal in literals}
        return set(_list_entities(triples, literals)), texts


def survey_graph(source: GraphFiles) -> GraphSurvey:
    """Read a graph, or a sample of it.

    Args:
        source: Files and patterns, optionally compressed.

    Returns:
        What was read.

    Raises:
        InputError: A file cannot be read, has no triples, or is on a server.
    """
    entries = [source] if isinstance(source, str | Path) else list(source)
    for entry in entries:
        if is_remote(entry):
            raise InputError("is on a server: give a file, or the number of triples", path=entry)
    paths = [part.path for part in list_parts(entries)]
    for path in paths:
        if path.is_dir():
            raise InputError("is a directory, expected a file", path=path)
        if not path.exists():
            raise InputError("does not exist", path=path)
    sizes = [path.stat().st_size for path in paths]
    survey = GraphSurvey()
    if sum(sizes) <= MAX_WHOLE_BYTES:
        _add_statements(survey, TripleReader(entries).statements())
        return survey
    step = math.ceil(len(paths) / MAX_SAMPLED_FILES)
    chosen = paths[::step]
    stored = sum(_sample_file(survey, path, SAMPLE_BYTES // len(chosen)) for path in chosen)
    if not survey.triples and not survey.literals:
        raise InputError("has no triples", path=paths[0])
    survey.share = min(1.0, stored / sum(sizes))
    return survey


def _sample_file(survey: GraphSurvey, path: Path, wanted_bytes: int) -> int:
    """Read a part of a file; return how many bytes of the file, as it is stored, that was."""
    name = _strip_compression(path.name)
    suffix = Path(name).suffix.lower()
    size = path.stat().st_size
    with path.open("rb") as file:
        stream = decompress_stream(file, path)
        is_plain = stream is file
        if is_plain and suffix in LINE_SUFFIXES and size > wanted_bytes:
            text = b"".join(_read_blocks(path, size, wanted_bytes))
            stored = len(text)
        else:
            text = stream.read(wanted_bytes)
            is_whole = len(text) < wanted_bytes
            text = text if is_whole else _cut_text(text, suffix)
            stored = size if is_whole else file.tell()
    if is_archive(text) or text.startswith(_UNDIVIDED_STARTS):
        _add_statements(survey, TripleReader(path).statements())
        return size
    with TemporaryDirectory() as scratch:
        part = Path(scratch) / name
        part.write_bytes(text)
        try:
            _add_statements(survey, TripleReader(part, skip_errors=True).statements())
        except InputError:
            # Formats that end with a closing tag or bracket cannot be cut anywhere.
            _add_statements(survey, TripleReader(path).statements())
            return size
    return stored


def _read_blocks(path: Path, size: int, wanted_bytes: int) -> Iterator[bytes]:
    """Read whole lines at several places of a file: its parts may differ."""
    length = wanted_bytes // BLOCKS_PER_FILE
    with path.open("rb") as file:
        for number in range(BLOCKS_PER_FILE):
            file.seek(number * (size - length) // max(1, BLOCKS_PER_FILE - 1))
            if number:
                file.readline()
            block = file.read(length)
            yield block[: block.rfind(b"\n") + 1]


def _cut_text(text: bytes, suffix: str) -> bytes:
    """Cut a text where a statement ends."""
    end = b".\n" if suffix in _TURTLE_SUFFIXES else b"\n"
    return text[: text.rfind(end) + len(end)]


def _strip_compression(name: str) -> str:
    for suffix in COMPRESSION_SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    return name


def _add_statements(survey: GraphSurvey, batches: Iterator[Statements]) -> None:
    for batch in batches:
        if not batch.removed:
            survey.triples += batch.triples
            survey.literals += batch.literals


def _list_entities(triples: list[Triple], literals: list[Triple]) -> list[str]:
    names = [name for head, _, tail in triples for name in (head, tail)]
    return names + [head for head, _, _ in literals]


def _extrapolate_distinct(distinct: int, half_distinct: int, share: float) -> int:
    """Estimate how many distinct values there are in all, from a share of the values.

    By Heaps' law, n values have k · n^β distinct ones; β is what the second half of the values
    adds to the first.

    Example:
        >>> _extrapolate_distinct(200, 100, 0.1), _extrapolate_distinct(100, 100, 0.1)
        (2000, 100)
    """
    if share == 1.0 or half_distinct == 0:
        return distinct
    exponent = math.log2(distinct / half_distinct)
    return round(distinct * math.pow(share, -min(1.0, exponent)))


def _average_bytes(values: set[str]) -> float:
    return sum(len(value.encode()) for value in values) / len(values) if values else 0.0


def choose_sample(
    surveys: tuple[GraphSurvey, GraphSurvey], seeds: list[tuple[str, str]], statement_count: int
) -> tuple[tuple[GraphSurvey, GraphSurvey], list[tuple[str, str]]]:
    """Choose statements of two graphs that belong together.

    Args:
        surveys: What was read of the left and of the right graph.
        seeds: Links between them.
        statement_count: How many statements of both graphs together, about.

    Returns:
        All statements that have a linked entity, for as many links as that gives the wanted
        number, and half of these links; without links the first statements.
    """
    if sum(len(survey.triples) + len(survey.literals) for survey in surveys) <= statement_count:
        return surveys, _keep_known(surveys, seeds)
    degrees = [Counter(_list_entities(survey.triples, survey.literals)) for survey in surveys]
    links, total = [], 0
    for left, right in seeds:
        if left in degrees[0] and right in degrees[1]:
            links.append((left, right))
            total += degrees[0][left] + degrees[1][right]
            if total >= statement_count:
                break
    if total < statement_count / 2:
        # Too few of them are in what was read.
        cut = (
            _cut_survey(surveys[0], statement_count // 2),
            _cut_survey(surveys[1], statement_count // 2),
        )
        return cut, _keep_known(cut, seeds)
    sides = [{pair[side] for pair in links} for side in (0, 1)]
    chosen = [
        GraphSurvey(
            [row for row in survey.triples if row[0] in names or row[2] in names],
            [row for row in survey.literals if row[0] in names],
        )
        for survey, names in zip(surveys, sides, strict=True)
    ]
    # The others are to be found.
    return (chosen[0], chosen[1]), links[::2]


def _cut_survey(survey: GraphSurvey, count: int) -> GraphSurvey:
    total = len(survey.triples) + len(survey.literals)
    share = min(1.0, count / max(1, total))
    # Every n-th would tear entities apart; the first ones are whole in a sorted file.
    return GraphSurvey(
        survey.triples[: round(len(survey.triples) * share)],
        survey.literals[: round(len(survey.literals) * share)],
    )


def _keep_known(
    surveys: tuple[GraphSurvey, GraphSurvey], seeds: list[tuple[str, str]]
) -> list[tuple[str, str]]:
    left, right = (set(_list_entities(survey.triples, survey.literals)) for survey in surveys)
    return [pair for pair in seeds if pair[0] in left and pair[1] in right]
