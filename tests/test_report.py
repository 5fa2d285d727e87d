"""The report is one file that loads nothing and escapes everything."""

from __future__ import annotations

from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

from tests import toy as toys

from everalign import Aligner, Config

SCRIPT = "<script>alert(1)</script>"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


class Reader(HTMLParser):
    """Collects tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


def write(aligner: Aligner, **options: object) -> Reader:
    stream = BytesIO()
    aligner.write_report(stream, **options)  # type: ignore[arg-type]
    reader = Reader()
    reader.feed(stream.getvalue().decode())
    return reader


def test_a_report(tmp_path: Path, toy: Config) -> None:
    left = [*toys.LEFT, ("Trondheim", LABEL, f'"{SCRIPT} \\" عربي 🎉"')]
    aligner = Aligner.create(tmp_path / SCRIPT[1:7], left, toys.RIGHT, toys.SEEDS, config=toy)
    aligner.reject([("Oslo", "Осло")], author=SCRIPT, comment=SCRIPT, apply=True)
    aligner.confirm([("Bergen", "Берген")], author="ada")
    page = write(aligner, title=SCRIPT)
    assert "script" not in page.tags
    assert f'{SCRIPT} " عربي 🎉' in page.text
    loaded = {"src", "href", "srcset", "action", "data", "xlink:href"}
    assert not loaded & {name for name, _ in page.attributes}
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    assert "url(" not in page.text
    assert "@import" not in page.text
    for words in (
        "Overview",
        "Links by version",
        "Confidence of found links",
        "Thresholds",
        "Corrections of the last version",
        "The most doubtful links",
        "Decisions by author",
    ):
        assert words in page.text
    assert page.tags.count("svg") == 2
    assert "rejected" in page.text
    assert ("http-equiv", "Content-Security-Policy") in page.attributes


def test_a_first_version_has_corrected_nothing(tmp_path: Path, toy: Config) -> None:
    aligner = Aligner.create(tmp_path / "s", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)
    page = write(aligner, doubtful=1)
    assert "The last version has corrected no link." in page.text
    assert "Trondheim" in page.text
    assert "Bergen" not in page.text
    assert "Decisions by author" not in page.text


def test_no_links_at_all(tmp_path: Path, toy: Config) -> None:
    seeds = [("a", "d")]
    aligner = Aligner.create(
        tmp_path / "s", [("a", "b", "c")], [("d", "e", "f")], seeds, config=toy
    )
    aligner.reject([("c", "f")], apply=True)
    assert "The most doubtful links" not in write(aligner).text
