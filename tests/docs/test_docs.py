"""The documentation is true: links lead somewhere, commands exist, examples run."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import click
import pytest

from everalign.cli.main import everalign
from everalign.config import Config, build
from everalign.ledger import RULES
from everalign.methods.contea import ContEASettings
from everalign.methods.evidence import EvidenceSettings
from everalign.methods.evidence.features import NAMES

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "everalign"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
ROOMS = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)
PAGE_OF_ROOM = {
    "rdf": "reading",
    "linkfiles": "output",
    "store": "state",
    "cli": "command-line",
}
SETTINGS = {"evidence": EvidenceSettings, "contea": ContEASettings}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
INLINE_COMMAND = re.compile(r"`(everalign [^`]+)`")
SHELL = ("sh", "bash", "shell", "console")
Command = list[str]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def blocks(page: Path, *languages: str) -> list[str]:
    """The code blocks of a page in one of these languages."""
    found = FENCE.findall(page.read_text(encoding="utf-8"))
    return [code for language, code in found if language in languages]


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    headings = HEADING.findall(prose(page))
    return {re.sub(r"[^\w -]", "", text).lower().replace(" ", "-") for text in headings}


def shell_commands(page: Path) -> Iterator[Command]:
    """Every command of the page's shell blocks, without comments, pipes and redirections."""
    for block in blocks(page, *SHELL):
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


def parse(arguments: Command) -> None:
    """Let click take the arguments apart, as it would before it runs the command."""
    with suppress(click.exceptions.Exit):  # --help and --version end here
        context = everalign.make_context("everalign", list(arguments))
        command: click.Command = everalign
        rest = list(arguments)
        while isinstance(command, click.Group):
            name, found, rest = command.resolve_command(context, rest)
            assert found is not None
            command = found
            context = command.make_context(name, list(rest), parent=context)


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.is_relative_to(ROOT), target
        assert there.exists(), target
        if anchor:
            assert anchor in anchors(there), target


def test_every_page_is_in_the_index() -> None:
    index = DOCS / "README.md"
    listed = {(DOCS / target).resolve() for target in LINK.findall(prose(index))}
    assert set(DOCS.rglob("*.md")) - {index} <= listed


@each_page
def test_commands_in_shell_blocks_parse(page: Path) -> None:
    for program, *arguments in shell_commands(page):
        if Path(program).name == "everalign":
            parse(arguments)


@each_page
def test_commands_in_the_text_exist(page: Path) -> None:
    for text in INLINE_COMMAND.findall(prose(page)):
        _, name, *rest = shlex.split(text)
        if name.startswith("-") or name.isupper():  # `everalign --help`, `everalign COMMAND`
            continue
        assert name in everalign.commands, text
        command = everalign.commands[name]
        if isinstance(command, click.Group) and rest:
            assert rest[0] in command.commands, text
            command = command.commands[rest[0]]
        known = {option for entry in command.params for option in entry.opts}
        options = {word.partition("=")[0] for word in rest if word.startswith("-")}
        assert options <= known | {"-h", "--help"}, text


def test_every_command_is_shown() -> None:
    page = DOCS / "concepts" / "command-line.md"
    shown = {words[1] for words in shell_commands(page) if words[0] == "everalign"}
    assert shown >= set(everalign.commands)


@pytest.mark.parametrize(
    "page", [page for page in sorted(DOCS.rglob("*.md")) if blocks(page, "python")], ids=name_of
)
def test_python_blocks_run_and_print_what_they_say(page: Path, tmp_path: Path) -> None:
    """The blocks of a page are one program; each line it prints stands there as a comment."""
    code = "\n".join(blocks(page, "python"))
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-W", "error", script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        assert f"# {line}\n" in code


@each_page
def test_toml_blocks_are_configurations(page: Path) -> None:
    for block in blocks(page, "toml"):
        if block.startswith("[project]"):  # what a package says of itself
            continue
        config = Config.parse(block)
        assert config.rule in ("auto", *RULES)
        build(SETTINGS[config.method], config.settings, name_of(page))


@pytest.mark.parametrize(
    ("page", "method"), [("quickstart.md", "evidence"), ("concepts/contea.md", "contea")]
)
def test_every_setting_is_shown_with_its_default(page: str, method: str) -> None:
    full = max(blocks(DOCS / page, "toml"), key=len)
    defaults = asdict(SETTINGS[method]())
    assert tomllib.loads(full) == asdict(Config(method=method, settings=defaults))


def test_every_feature_of_the_judge_is_explained() -> None:
    page = prose(DOCS / "concepts" / "evidence.md")
    for name in NAMES:
        assert f"| {name.partition(',')[0]} | " in page, name


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room.name)
def test_every_room_has_a_page(room: Path) -> None:
    page = DOCS / "concepts" / f"{PAGE_OF_ROOM.get(room.name, room.name)}.md"
    dotted = ".".join(["everalign", *room.relative_to(SOURCE).parts])
    assert f"`{dotted}`" in prose(page)


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(name for extra in extras for name in extra)]
    reasons = (DOCS / "decisions" / "0003-dependencies.md").read_text(encoding="utf-8")
    for requirement in wanted:
        package = re.split(r"[\[<>=!~; ]", requirement, maxsplit=1)[0]
        assert f"| {package} |" in reasons, package


def test_the_readme_begins_with_the_demo_and_the_tests() -> None:
    first_block = next(iter(blocks(ROOT / "README.md", *SHELL)), "")
    commands = [words for line in first_block.splitlines() for words in split_line(line)]
    assert commands[:2] == [["make", "demo"], ["make", "test"]]
