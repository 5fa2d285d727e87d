"""N-Triples: the same names as pyoxigraph gives, counts, and line numbers of errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode, RdfFormat, parse

from everalign.errors import InputError
from everalign.io import TripleReader, read_triples
from everalign.io.terms import is_iri_character

Write = Callable[[str, str | bytes], Path]

PLAIN = "<http://e.org/a> <http://e.org/r> <http://e.org/b> .\n"
TRIPLE = ("http://e.org/a", "http://e.org/r", "http://e.org/b")


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(read_triples(path))
    assert caught.value.path == str(path)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        PLAIN,
        PLAIN.rstrip("\n"),
        PLAIN.replace("\n", "\r\n"),
        "\ufeff" + PLAIN,
        "# a comment\n\n  " + PLAIN,
        PLAIN.replace("\n", " # <urn:not> <urn:a> <urn:triple> .\n"),
        PLAIN.replace(" ", "\t"),
        PLAIN.replace(" ", ""),
        PLAIN.replace("/a", "/\\u0061"),
        PLAIN.replace("/a", "/\\U00000061"),
    ],
)
def test_spelling_does_not_change_the_triple(write: Write, content: str) -> None:
    assert list(read_triples(write("left.nt", content))) == [TRIPLE]


def test_a_name_is_the_same_in_both_formats(write: Write) -> None:
    from_table = read_triples(write("left.tsv", "\t".join(TRIPLE)))
    assert list(read_triples(write("left.nt", PLAIN))) == list(from_table)


def test_blank_nodes_keep_their_label(write: Write) -> None:
    path = write("left.nt", "_:b0 <urn:r> _:Zoë.1 .\n" + PLAIN)
    assert list(read_triples(path)) == [("_:b0", "urn:r", "_:Zoë.1"), TRIPLE]


def test_literals_are_left_out_and_counted(write: Write) -> None:
    literals = ['"1815"', '"Ada"@en', '"1"^^<urn:int>', r'"a \"quoted\" <urn:x> .\n"']
    path = write("left.nt", PLAIN.join(f"<urn:a> <urn:r> {literal} .\n" for literal in literals))
    reader = TripleReader(path)
    assert list(reader) == [TRIPLE] * 3
    assert (reader.triples_read, reader.literals_read) == (3, 4)


XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ('"Ada"', '"Ada"'),
        ('"Ada"@EN-gb', '"Ada"@en-gb'),
        (f'"Ada"^^<{XSD}string>', '"Ada"'),
        (f'"3"^^<{XSD}integer>', f'"3"^^<{XSD}integer>'),
        (r'"Zo\u00EB \"x\"\t\U0001F600"', r'"Zoë \"x\"\t😀"'),
        ('"a\tb"', r'"a\tb"'),
        ('"\x7f"', r'"\u007F"'),
        ('"100"^^<urn:%>', '"100"^^<urn:%>'),
        ('"x"@ar--rtl', '"x"@ar--rtl'),
    ],
)
@pytest.mark.parametrize("around", ["", "# a comment\n", '<urn:a> <urn:r> "x" .\n'])
def test_a_literal_has_one_spelling(
    write: Write, written: str, canonical: str, around: str
) -> None:
    path = write("left.nt", f"{around}<urn:a> <urn:r> {written} .\n{around}")
    found = [row for part in TripleReader(path).statements() for row in part.literals]
    assert ("urn:a", "urn:r", canonical) in found
    assert len(found) == 1 + 2 * around.count('"x"')


def test_a_file_with_only_literals_is_accepted(write: Write) -> None:
    reader = TripleReader(write("left.nt", '<urn:a> <urn:r> "x" .\n'))
    assert list(reader) == []
    assert reader.literals_read == 1


def test_quotes_in_a_comment_are_not_a_literal(write: Write) -> None:
    reader = TripleReader(write("left.nt", '# "x"\n' + PLAIN.replace("\n", ' # "y"\n')))
    assert list(reader) == [TRIPLE]
    assert reader.literals_read == 0


def test_an_iri_with_a_stray_percent_sign_is_read(write: Write) -> None:
    untidy = PLAIN.replace("/a", "/100%")
    alone = list(read_triples(write("alone.nt", untidy)))
    beside_a_blank_node = list(read_triples(write("beside.nt", untidy + "_:b <urn:r> _:c .\n")))
    assert alone == beside_a_blank_node[:1] == [("http://e.org/100%", *TRIPLE[1:])]


@pytest.mark.parametrize(
    ("broken", "problem"),
    [
        ("<urn:a> <urn:r> <urn:b>", "must be followed by a dot"),
        ("<urn:a> <urn:r> .", "object"),
        ("<urn:a> <urn:r> <urn:b> <urn:graph> .", "must be followed by a dot"),
        ('"a" <urn:r> <urn:b> .', "subject"),
        ("<urn:a <urn:r> <urn:b> .", "<urn:a <urn:r>"),
        ("<urn:a b> <urn:r> <urn:c> .", "not an IRI: '<urn:a b>'"),
        (r"<urn:a> <urn:r> <urn:\u003E> .", "not an IRI: '<urn:>>'"),
        ("<urn:a> <urn:{r}> <urn:b> .", "not an IRI: '<urn:{r}>'"),
        ("<> <urn:r> <urn:b> .", "not an IRI: '<>'"),
        ("<_:a> <urn:r> _:b .", "not an IRI: '<_:a>'"),
        ("<urn:a> _:r <urn:b> .", "predicate"),
        ('<urn:a> <urn:r> "x .', "end of file"),
        ('<urn:a> <urn:r> "x"^^<urn:a b> .', "not an IRI: '<urn:a b>'"),
        ("<urn:a> <urn:r> <<( <urn:a> <urn:r> <urn:b> )>> .", "triples about triples"),
        ('<urn:a> <urn:r> <<( <urn:a> <urn:r> "x" )>> .', "triples about triples"),
        ("urn:a\turn:r\turn:b", "not a line of N-Triples"),
        (r"<urn:\uD83D> <urn:r> <urn:b> .", "not a line of N-Triples"),
        (r"<urn:\uDFFF> <urn:r> <urn:b> .", "not a line of N-Triples"),
        (r"<urn:\U00110000> <urn:r> <urn:b> .", "not a line of N-Triples"),
        (r"<urn:\uFFF> <urn:r> <urn:b> .", "not a line of N-Triples"),
        (r'<urn:a> <urn:r> "\uD83D" .', "not a line of N-Triples"),
        (r"_:\u4E00 <urn:r> <urn:b> .", "not a line of N-Triples"),
        (r"<urn:a> <urn:r> <urn:b> \u002E", "not a line of N-Triples"),
    ],
)
@pytest.mark.parametrize("before", ["", PLAIN * 3, PLAIN * 4_000, '<urn:a> <urn:r> "x" .\n\n'])
def test_a_malformed_line_is_reported(
    write: Write, before: str, broken: str, problem: str
) -> None:
    error = refusal(write("left.nt", before + broken + "\n" + PLAIN * 3))
    assert error.line == before.count("\n") + 1
    assert problem in error.problem


@pytest.mark.parametrize("broken", [PLAIN.replace(" .", " ;"), PLAIN.replace("<", ">", 1)])
def test_one_forbidden_character_is_an_error(write: Write, broken: str) -> None:
    assert refusal(write("alone.nt", broken)).line == 1
    assert refusal(write("first.nt", broken + PLAIN)).line == 1
    assert refusal(write("last.nt", PLAIN + broken)).line == 2


def test_a_name_ends_with_its_line(write: Write) -> None:
    assert refusal(write("left.nt", PLAIN + "<urn:a\nb> <urn:r> <urn:c> .\n")).line == 2


def outcome(text: str) -> list[tuple[str, str, str]] | int | None:
    """The triples in a text, or the line that is refused."""
    with TemporaryDirectory() as directory:
        path = Path(directory, "left.nt")
        path.write_bytes(text.encode())
        try:
            return list(read_triples(path))
        except InputError as error:
            return error.line


doubtful_lines = st.sampled_from(
    [
        PLAIN.rstrip(),
        PLAIN.rstrip() + "\r" + PLAIN.rstrip(),
        "# <_:comment>",
        "_:a <urn:r> _:b .",
        "<_:a> <urn:r> <urn:b> .",
        "<urn:a> _:r <urn:b> .",
        "<relative> <urn:r> <urn:b> .",
        "<urn:100%> <urn:r> <urn:b> .",
        r"<urn:100%> <urn:r> <urn:\u0062> .",
        '<urn:100%> <urn:r> "x" .',
        '<urn:a> <urn:r> "x',
        'y" .',
        '<urn:a> <urn:r> "x\ry" .',
        r"<urn:a\u003E <urn:r> <urn:b> .",
        "<urn:a>\t<urn:r>\t<urn:b>\t.",
        "<urn:a\tb> <urn:r> <urn:b> .",
        "<urn:a> <urn:r> <urn:b>",
        "<urn:a",
        "b> <urn:r> <urn:c> .",
    ]
)


@pytest.mark.slow
@given(st.lists(doubtful_lines, min_size=1, max_size=6))
def test_a_line_is_accepted_or_refused_whatever_stands_around_it(lines: list[str]) -> None:
    one_by_one = [outcome(PLAIN + line) for line in lines]
    together = outcome("\n".join([PLAIN.rstrip(), *lines]))
    if 2 in one_by_one:
        assert together == 2 + one_by_one.index(2)
    else:
        accepted = [found[1:] for found in one_by_one if isinstance(found, list)]
        assert together == sum(accepted, [TRIPLE])


# All the ways to write a line that a fast reader could stumble over.
iris = st.sampled_from(
    ["<urn:a>", "<urn:_:a>", "<http://e.org/Zoë#x>", "<urn:b.#c>", r"<urn:\u00E9>", "<u:'>"]
)
blank_nodes = st.sampled_from(["_:a", "_:0", "_:a.b", "_:Zoë"])
literals = st.sampled_from(['""', '"# ."@en', r'"\\\"\n> <"', '"<urn:a>"^^<urn:t>', '"> .<"'])
spaces = st.sampled_from([" ", " ", " ", "  ", "\t", ""])
ends = st.sampled_from([".", ".", ".", ". ", ".# . . .", '. # "<urn:a>"'])
fillers = st.sampled_from(["", " ", "# <urn:a> <urn:b> <urn:c> .", '#"', "#a b ."])


@st.composite
def statements(draw: st.DrawFn) -> str:
    terms = [draw(iris | blank_nodes), draw(iris), draw(iris | blank_nodes | literals)]
    return "".join(term + (draw(spaces) or " " * term.startswith("_")) for term in terms) + draw(
        ends
    )


plain_statements = (
    st.tuples(iris | blank_nodes, iris, iris | blank_nodes | literals)
    .map(" ".join)
    .map("{} .".format)
)


@pytest.mark.slow
@given(st.lists(statements() | plain_statements | fillers).map(lambda lines: [*lines, PLAIN]))
def test_every_spelling_is_read_as_pyoxigraph_reads_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    quads = list(parse(text, format=RdfFormat.N_TRIPLES))
    rows = [
        tuple(term.value if isinstance(term, NamedNode) else str(term) for term in list(quad)[:3])
        for quad in quads
    ]
    expected = [row for row in rows if not row[2].startswith('"')]
    with TemporaryDirectory() as directory:
        path = Path(directory, "left.nt")
        path.write_text(text, "utf-8")
        reader = TripleReader(path)
        assert list(reader) == expected
        assert reader.literals_read == len(quads) - len(expected)
        found = [row for part in reader.statements() for row in part.literals]
        assert sorted(found) == sorted(row for row in rows if row[2].startswith('"'))


def test_two_halves_of_a_character_are_read_as_that_character(write: Write) -> None:
    path = write("left.nt", r"<urn:\uD83D\uDE00> <urn:r> <urn:b> .")
    assert list(read_triples(path)) == [("urn:😀", "urn:r", "urn:b")]


# Any character that an IRI may hold, and one that has two hexadecimal spellings.
iri_characters = st.characters(exclude_categories=["Cs"]).filter(is_iri_character) | st.just(
    "\u4eff"
)


@st.composite
def iris_in_two_spellings(draw: st.DrawFn) -> tuple[str, str]:
    """The same IRI in UTF-8, and with some characters escaped."""
    raw = draw(st.text(iri_characters, min_size=1, max_size=8))
    escapes = ["{}", "\\U{:08X}", "\\U{:08x}", "\\u{:04X}", "\\u{:04x}"]
    escaped = ""
    for character in raw:
        usable = escapes if ord(character) <= 0xFFFF else escapes[:3]
        form = draw(st.sampled_from(usable))
        escaped += form.format(character if form == "{}" else ord(character))
    return f"urn:{raw}", f"urn:{escaped}"


@pytest.mark.slow
@given(
    st.lists(iris_in_two_spellings(), min_size=3, max_size=3),
    st.sampled_from(
        ["", "# a comment\n", '<urn:a> <urn:r> "x" .\n', "<urn:%> <urn:r> <urn:b> .\n"]
    ),
    st.sampled_from(["a.nt", "a.nq", "a.rdfp"]),
)
def test_an_escaped_iri_is_the_same_name(
    spellings: list[tuple[str, str]], before: str, name: str
) -> None:
    raw, escaped = zip(*spellings, strict=True)
    line = " ".join(f"<{iri}>" for iri in escaped) + " .\n"
    code = "A " if name == "a.rdfp" else ""
    before = code * before.startswith("<") + before
    with TemporaryDirectory() as directory:
        path = Path(directory, name)
        path.write_bytes((before + code + line).encode())
        assert list(read_triples(path))[-1] == raw
