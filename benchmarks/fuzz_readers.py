"""Damage files of every format that is read, and look for anything but an error of one line.

    python benchmarks/fuzz_readers.py                       # 100,000 inputs
    python benchmarks/fuzz_readers.py --inputs 2000 --seed 7
    python benchmarks/fuzz_readers.py --keep findings       # write inputs that fail to a directory

Each input is a valid file with some mutations: bytes that are changed, removed, repeated or taken
from another file, numbers that are too large, brackets that are nested too deeply. Reading it must
succeed or raise an `EverAlignError` of one line, within `MAX_SECONDS` of processor time. The same
seed makes the same inputs.
"""

from __future__ import annotations

import argparse
import gzip
import io
import lzma
import random
import sys
import tarfile
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as arrow
import pyarrow.parquet

from everalign.config import Config
from everalign.errors import EverAlignError
from everalign.io import TripleReader, check_sssom, read_entity_list, read_links

MAX_SECONDS = 2.0
_MAX_INPUT_BYTES = 1 << 18

Reader = Callable[[Path], object]

_RDF_XML = (
    '<?xml version="1.0" encoding="{0}"?>\n<!DOCTYPE r [<!ENTITY e "urn:">]>\n<r:RDF xmlns:r='
    '"http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="urn:">\n'
    '<r:Description r:about="&e;a" e:n="é"><e:r r:resource="urn:b"/></r:Description>\n</r:RDF>'
)
_SSSOM = (
    '#curie_map:\n#  a: https://a.org/\n#  b: "https://b.org/\\u00e9"\n#mapping_set_id: '
    "https://a.org/set\n#license: https://a.org/l\n#see_also: [https://a.org/1, 'x']\n"
    "subject_id\tpredicate_id\tobject_id\tmapping_justification\tcomment\n"
    'a:1\towl:sameAs\tb:1\tsemapv:LexicalMatching\t"a ""b"" c"\n'
)
_PATCH = b'H id <urn:1> .\nTX .\nPA "e" <urn:> .\nA e:a e:r e:b .\nD e:a e:n "x" .\nTC .\n'
_WIKIDATA = (
    b"<http://www.wikidata.org/entity/Q42> <http://www.wikidata.org/prop/direct/P31> "
    b"<http://www.wikidata.org/entity/Q5> .\n<http://www.wikidata.org/entity/Q42> "
    b'<http://schema.org/name> "Adams"@en .\n'
)


def _pack_zip(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo(name), content)
    return buffer.getvalue()


def _pack_tar(name: str, content: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def _pack_parquet(columns: tuple[str, ...]) -> bytes:
    table = arrow.table({name: [f"urn:{name}", "urn:é"] for name in columns})
    buffer = io.BytesIO()
    pyarrow.parquet.write_table(table, buffer)
    return buffer.getvalue()


GRAPHS = {
    "a.nt": b'<urn:a> <urn:r> _:b .\n<urn:a> <urn:n> "x\\u00E9"@en .\n# end\n',
    "w.nt": _WIKIDATA,
    "a.nq": b'<urn:a> <urn:r> _:b <urn:g> .\n<urn:a> <urn:n> "x"^^<urn:t> .\n',
    "a.ttl": '@prefix e: <urn:> .\ne:a e:r [ e:n "é"@en , 1 ] ; e:s ( e:b """y""" ) .\n'.encode(),
    "b.ttl": '@base <urn:> .\n<a> <n> "é" .\n'.encode("utf-16"),
    "a.trig": b"@prefix e: <urn:> .\ne:g { e:a e:r e:b . }\n",
    "a.rdf": _RDF_XML.format("UTF-8").encode(),
    "b.rdf": _RDF_XML.format("windows-1252").encode("windows-1252"),
    "a.jsonld": b'{"@context": {"e": "urn:"}, "@id": "e:a", "e:r": [{"@id": "e:b"}, 1.5, "x"]}',
    "b.json": b'{"@context": ["https://schema.org", {"e": "urn:"}], "@id": "e:a", "name": "x"}',
    "a.rdfp": _PATCH,
    "a.tsv": 'a\tr\tb\na\tn\t"é"@en\n'.encode(),
    "a.csv": b'id,name,born\n1,Ada,1815\n2,"Charles, B.",1791\n',
    "a.gz": gzip.compress(b"a\tr\tb\n", mtime=0),
    "a.nt.xz": lzma.compress(b"<urn:a> <urn:r> <urn:b> .\n"),
    "a.zip": _pack_zip("a.nt", b"<urn:a> <urn:r> <urn:b> .\n"),
    "a.tar": _pack_tar("a.ttl", b"<urn:a> <urn:r> <urn:b> .\n"),
    "a.tar.gz": gzip.compress(_pack_tar("a.ttl", b"<urn:a> <urn:r> <urn:b> .\n"), mtime=0),
    "a.parquet": _pack_parquet(("head", "relation", "tail")),
}
LINKS = {
    "l.tsv": "urn:a\turn:é\t0.5\n<urn:c>\turn:d\n".encode(),
    "l.nt": b"<urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:b> .\n",
    "l.ttl": b"@prefix owl: <http://www.w3.org/2002/07/owl#> .\n<urn:a> owl:sameAs <urn:b> .\n",
    "l.jsonl": b'{"left": "a", "right": "b\\u00e9", "score": 0.5}\n',
    "l.rdf": b'<?xml version="1.0"?><r:RDF xmlns="http://knowledgeweb.semanticweb.org/heterogeneity'
    b'/alignment#" xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><Alignment><map><Cell>'
    b'<entity1 r:resource="urn:a"/><entity2 r:resource="urn:b"/><relation>=</relation></Cell>'
    b"</map></Alignment></r:RDF>",
    "l.parquet": _pack_parquet(("left", "right")),
    "l.sssom.tsv": _SSSOM.encode(),
}
OTHERS: dict[str, tuple[bytes, Reader]] = {
    "c.sssom.tsv": (_SSSOM.encode(), check_sssom),
    "c.toml": (
        b'method = "evidence"\nseed = 7\n[settings]\nrounds = 3\nx = [1.5, "a"]\n',
        Config.read,
    ),
    "e.txt": ("<urn:a>\nurn:é\n".encode(), lambda path: list(read_entity_list(path))),
}
# What has surprised parsers before.
_TOKENS = (
    b"", b"\0", b"\xff", b"\xfe\xff", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\r", b"\n", b"\t", b'"',
    b"\\", b"\\u", b"\\uD800", b"\\UFFFFFFFF", b"\\UDEADBEEF", b"\\x", b"&#x110000;", b"&#0;",
    b"&lt;", b"<!--", b"<![CDATA[", b"]]>", b"<?xml ", b'encoding="x-none"', b'encoding="utf-7"',
    b'"@context":"http://e.org/"', b'"@context":', b"@en", b"^^", b"<<(", b"_:", b"99999999999999",
    b"1e999", b"-0", b"NaN", b"1" * 5000, b"!!python/object:x", b"&a", b"*a", b"? ", b"- ", b": ",
    b"%YAML 9.9\n", b"---\n", b"{", b"[", b"(", b"<", b"}", b"]", b"<r:a>", b"TX .\n", b"PA ",
    "\u202e".encode(), "\u2028".encode(), "\U0010ffff".encode(),
)  # fmt: skip


class Finding(NamedTuple):
    """An input that was neither read nor refused as it should be."""

    name: str
    content: bytes
    problem: str


def find_faults(inputs: int, seed: int = 0) -> Iterator[Finding]:
    """Read damaged files of every format.

    Args:
        inputs: How many files to read.
        seed: The random seed.

    Yields:
        The inputs that made a reader raise something else than an error of one line, or take too
        long.
    """
    choice = random.Random(seed)
    seeds = GRAPHS | LINKS | {name: content for name, (content, _) in OTHERS.items()}
    names = sorted(seeds)
    contents = [seeds[name] for name in names]
    with TemporaryDirectory() as directory:
        for number in range(inputs):
            name = names[number % len(names)]
            content = mutate_content(seeds[name], contents, choice)
            path = Path(directory, name)
            path.write_bytes(content)
            if problem := _try_reader(path, skip_errors=choice.random() < 0.3):
                yield Finding(name, content, problem)


def mutate_content(content: bytes, others: list[bytes], choice: random.Random) -> bytes:
    """Damage a file.

    Args:
        content: A valid file.
        others: Files that pieces may be taken from.
        choice: The source of randomness.

    Returns:
        The damaged file, of at most 256 KiB.
    """
    for _ in range(choice.choice((1, 1, 1, 2, 3, 5))):
        start = choice.randint(0, len(content))
        end = min(len(content), start + choice.choice((0, 1, 1, 2, 5, 30)))
        kind = choice.random()
        if kind < 0.25:
            piece = choice.choice(_TOKENS)
        elif kind < 0.45:
            piece = bytes(choice.randrange(256) for _ in range(choice.choice((1, 1, 2, 8))))
        elif kind < 0.6:
            piece = content[start:end] * choice.choice((2, 3, 50, 1000))
        elif kind < 0.65:
            piece = choice.choice(_TOKENS) * choice.choice((100, 5000, 50_000))
        elif kind < 0.75:
            other = choice.choice(others)
            cut = choice.randint(0, len(other))
            piece = other[cut : cut + choice.choice((3, 20, 500))]
        elif kind < 0.85:
            piece, end = b"", len(content)
        else:
            piece = b""
        content = (content[:start] + piece + content[end:])[:_MAX_INPUT_BYTES]
    return content


def _try_reader(path: Path, *, skip_errors: bool) -> str:
    """Read a file, and describe what is wrong with how it went."""
    started = time.process_time()
    try:
        read_file(path, skip_errors=skip_errors)
    except EverAlignError as error:
        if "\n" in str(error) or len(str(error)) > 2000:
            return f"a long message: {str(error)[:300]!r}"
    except Exception:
        return traceback.format_exc()
    seconds = time.process_time() - started
    return f"took {seconds:.1f} s" if seconds > MAX_SECONDS else ""


def read_file(path: Path, *, skip_errors: bool) -> None:
    """Read a file with the reader that its name stands for.

    Args:
        path: A file with the name of one of the seeds.
        skip_errors: Whether to go on after an error, where the reader can.

    Raises:
        EverAlignError: The file is damaged.
    """
    if path.name in GRAPHS:
        for _ in TripleReader(path, skip_errors=skip_errors).statements():
            pass
    elif path.name in LINKS:
        read_links(path)
    else:
        OTHERS[path.name][1](path)


def main() -> int:
    """Run the fuzzer from the command line.

    Returns:
        1 if something was found, else 0.
    """
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path, help="directory for inputs that fail")
    options = parser.parse_args()
    count = 0
    for count, finding in enumerate(find_faults(options.inputs, options.seed), 1):
        print(f"{finding.name} ({len(finding.content)} bytes): {finding.problem}")
        if options.keep:
            options.keep.mkdir(parents=True, exist_ok=True)
            (options.keep / f"{count}-{finding.name}").write_bytes(finding.content)
    print(f"{options.inputs} inputs, seed {options.seed}: {count} failed")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
