"""How the tests read the pages of the documentation.

A code block runs unless the line right above it says why not: `<!-- not run: REASON -->`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]
SHELL = ("sh", "bash", "shell", "console")

FENCE = re.compile(
    r"^(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?```(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
LINK = re.compile(
    r"\[[^\]]*\]\(([^)\s]+)\)|<(?:a|img|source)\s[^>]*?(?:href|src|srcset)=\"([^\"]+)\""
)
CODE_SPAN = re.compile(r"`[^`\n]+`")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
GENERATED = re.compile(r"^<!-- generated: \w+ -->$", re.MULTILINE)

Command = list[str]


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    code: str
    runs: bool


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def all_blocks(page: Path) -> list[Block]:
    """The code blocks of a page, in their order."""
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [Block(match["language"], match["code"], match["reason"] is None) for match in found]


def blocks(page: Path, *languages: str) -> list[str]:
    """The code of the blocks of a page in one of these languages."""
    return [block.code for block in all_blocks(page) if block.language in languages]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def link_targets(page: Path) -> list[str]:
    """Where the links and images of a page lead."""
    found = LINK.findall(CODE_SPAN.sub("``", prose(page)))
    return [markdown or html for markdown, html in found]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub and the site make of the headings."""
    headings = HEADING.findall(prose(page))
    return {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}


def is_generated(page: Path) -> bool:
    """Whether a part of the page is there only when the site is built."""
    return GENERATED.search(page.read_text(encoding="utf-8")) is not None


def shell_commands(page: Path) -> Iterator[Command]:
    """Every command of the page's shell blocks, without comments, pipes and redirections."""
    for block in blocks(page, *SHELL):
        yield from split_block(block)


def split_block(block: str) -> Iterator[Command]:
    for line in block.replace("\\\n", " ").splitlines():
        yield from split_line(line.removeprefix("$ "))


def split_line(line: str) -> Iterator[Command]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: Command = []
    for word in lexer:
        if word in ("|", "&&", "||", ";"):
            yield words
            words = []
        elif word in (">", ">>"):
            next(lexer)
        else:
            words.append(word)
    if words:
        yield words


def check_output(shown: str, output: str) -> None:
    """Check that the lines a page shows are lines of the output, in this order.

    `…` stands for anything, and any white space for any other.
    """
    lines = iter(" ".join(line.split()) for line in output.splitlines())
    for line in shown.splitlines():
        pattern = ".*".join(map(re.escape, " ".join(line.split()).split("…")))
        assert any(re.fullmatch(pattern, found) for found in lines), f"{line}\n\n{output}"
