"""The page "Add an input format": its reader works wherever graphs are read."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
from tests.docs.pages import DOCS, blocks

from everalign.errors import ConfigError, InputError
from everalign.io import FileFormat, ReadOptions, TripleReader, read_triples, register_format
from everalign.io.formats import FORMATS

PAGE = DOCS / "concepts" / "add-a-format.md"
TRIPLE = '{{"subject": "{}", "predicate": "{}", "object": "{}"}}\n'
# A row of the table of formats: name, suffixes, media type.
ROW = re.compile(r"^\| ([^|`]+) \| ((?:`\.\w+` ?)+) \| `([^`]+)` \|", re.MULTILINE)


@pytest.fixture
def registered(tmp_path: Path) -> Iterator[FileFormat]:
    """The format of the page, registered as the page says."""
    path = tmp_path / "json_triples.py"
    path.write_text(blocks(PAGE, "python")[0], encoding="utf-8")
    spec = spec_from_file_location("json_triples", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    known = list(FORMATS)
    register_format(module.JSON_TRIPLES)
    yield module.JSON_TRIPLES
    FORMATS[:] = known


def test_files_are_read_compressed_filtered_and_by_pattern(
    registered: FileFormat, tmp_path: Path
) -> None:
    (tmp_path / "part-1.jsonl").write_text(TRIPLE.format("a", "r", "b"))
    (tmp_path / "part-2.jsonl.gz").write_bytes(
        gzip.compress((TRIPLE.format("c", "r", "d") + TRIPLE.format("c", "s", "d")).encode())
    )
    reader = TripleReader(tmp_path / "part-*", options=ReadOptions(predicates=("r",)))
    assert list(reader) == [("a", "r", "b"), ("c", "r", "d")]
    assert reader.filtered_count == 1
    assert registered in FORMATS


@pytest.mark.usefixtures("registered")
def test_an_error_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "left.jsonl"
    path.write_text(TRIPLE.format("a", "r", "b") + "[]\n")
    with pytest.raises(InputError, match=rf"^{re.escape(str(path))}:2: expected a JSON object"):
        list(read_triples(path))


def test_a_name_or_suffix_is_registered_once(registered: FileFormat) -> None:
    with pytest.raises(ConfigError, match="'JSON triples' is registered already"):
        register_format(registered)
    other = FileFormat("Other", (".nt",), "text/plain", registered.read)
    with pytest.raises(ConfigError, match=r"the suffix '\.nt' belongs to the format"):
        register_format(other)


def test_the_page_on_reading_lists_all_formats() -> None:
    page = (DOCS / "concepts" / "reading.md").read_text(encoding="utf-8")
    listed = [
        (name.strip(), tuple(re.findall(r"\.\w+", suffixes)), media_type)
        for name, suffixes, media_type in ROW.findall(page)
    ]
    assert listed == [(known.name, known.suffixes, known.media_type) for known in FORMATS]
