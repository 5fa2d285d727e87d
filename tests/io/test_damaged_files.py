"""A damaged file is read, or refused with an error of one line."""

from __future__ import annotations

import bz2
import gzip
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everalign.errors import InputError
from everalign.io import TripleReader

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

GOOD = {
    "a.nt": b'<urn:a> <urn:r> _:b .\n<urn:a> <urn:n> "x\\u00E9"@en .\n',
    "a.nq": b'<urn:a> <urn:r> _:b <urn:g> .\n<urn:a> <urn:n> "x"^^<urn:t> .\n',
    "a.ttl": b'@prefix e: <urn:> .\ne:a e:r [ e:n "x"@en , 1.5 ] ; e:s ( e:b """y""" ) .\n',
    "a.trig": b"@prefix e: <urn:> .\ne:g { e:a e:r e:b . }\n",
    "a.rdf": b'<?xml version="1.0"?>\n<!DOCTYPE r [<!ENTITY e "urn:">]>\n<r:RDF xmlns:r='
    b'"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:">\n'
    b'<r:Description r:about="&e;a"><e:r r:resource="urn:b"/></r:Description>\n</r:RDF>',
    "a.jsonld": b'{"@context": {"e": "urn:"}, "@id": "e:a", "e:r": [{"@id": "e:b"}, 1.5, "x"]}',
    "a.rdfp": b'H id <urn:1> .\nTX .\nPA "e" <urn:> .\nA e:a e:r e:b .\nD e:a e:n "x" .\nTC .\n',
    "a.tsv": b'a\tr\tb\na\tn\t"x"@en\n',
    "a.gz": gzip.compress(b"a\tr\tb\n"),
    "a.bz2": bz2.compress(b"a\tr\tb\n"),
    "a.zst": zstd.compress(b"a\tr\tb\n"),
}


def read(name: str, content: bytes, *, skip_errors: bool) -> InputError | None:
    with TemporaryDirectory() as directory:
        path = Path(directory, name)
        path.write_bytes(content)
        reader = TripleReader(path, skip_errors=skip_errors)
        try:
            for part in reader.statements():
                assert all(row[2].startswith('"') for row in part.literals)
        except InputError as error:
            return error
    return None


@pytest.mark.parametrize("name", GOOD)
def test_the_examples_are_valid(name: str) -> None:
    assert read(name, GOOD[name], skip_errors=False) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", GOOD)
@settings(max_examples=60)
@given(data=st.data(), skip_errors=st.booleans())
def test_a_damaged_file_is_read_or_refused(
    name: str, data: st.DataObject, skip_errors: bool
) -> None:
    good = GOOD[name]
    start = data.draw(st.integers(0, len(good)))
    end = data.draw(st.integers(start, min(len(good), start + 12)))
    other = data.draw(
        st.binary(max_size=8) | st.sampled_from([good[:20], b'"', b"<", b">", b"\n"])
    )
    error = read(name, good[:start] + other + good[end:], skip_errors=skip_errors)
    if error is not None:
        assert str(error).count("\n") == 0
        assert error.path is not None
