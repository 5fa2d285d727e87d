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
from tests.docs.pages import (
    DOCS,
    PAGES,
    ROOT,
    SHELL,
    all_blocks,
    anchors,
    blocks,
    is_generated,
    link_targets,
    name_of,
    prose,
    shell_commands,
    split_block,
    split_line,
)

from everalign.cli.logs import hide_logs
from everalign.cli.main import everalign
from everalign.config import Config, build_settings
from everalign.methods.contea import ContEASettings
from everalign.methods.evidence import EvidenceSettings
from everalign.methods.evidence.features import FEATURES, VECTORS, Feature
from everalign.state.ledger import MERGE_RULES

SOURCE = ROOT / "src" / "everalign"
PACKAGES = sorted(path.parent for path in SOURCE.rglob("__init__.py") if path.parent != SOURCE)
# Where the page of a package is not called like the package.
PAGE_OF_PACKAGE = {
    "engine": "engines",
    "benchmark": "evaluation",
    "cli": "command-line",
    "index": "literals",
    "io": "reading",
    "links": "output",
    "names": "naming",
    "synthetic": "sample",
}
SETTINGS = {"evidence": EvidenceSettings, "contea": ContEASettings}
INLINE_COMMAND = re.compile(r"`(everalign [^`]+)`")
INLINE_TARGET = re.compile(r"`make ([\w-]+)`")
TARGET = re.compile(r"^([\w-]+):", re.MULTILINE)
# "`name` in [file.py](path)"
DEFINED_IN = re.compile(r"`([\w.]+)` in \[[^\]]+\]\(([^)]+\.py)\)")
# Terms that the glossary has replaced; decisions and the changelog may name them.
REPLACED_TERMS = re.compile(
    r"\b(judges?|lore|verdicts?|beliefs?|believed|pins|pinned|bereft|lessons?|rooms?|house"
    r"|meetings|happenings?|occasions?|situations?|spoken)\b",
    re.IGNORECASE,
)
HISTORY = {DOCS / "decisions", ROOT / "CHANGELOG.md"}
MAKE_TARGETS = set(TARGET.findall((ROOT / "Makefile").read_text(encoding="utf-8")))

each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


def parse(arguments: list[str]) -> None:
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
    hide_logs()  # --verbose shows them as soon as it is parsed


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    """Generated anchors are checked where they are made, by the build of the site."""
    for target in link_targets(page):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.is_relative_to(ROOT), target
        assert there.exists(), target
        if anchor and not is_generated(there):
            assert anchor in anchors(there), target


def test_every_decision_is_listed() -> None:
    index = DOCS / "decisions" / "README.md"
    listed = {index.parent / target for target in link_targets(index)}
    assert set(index.parent.glob("*.md")) - {index} == listed


@each_page
def test_commands_in_shell_blocks_exist(page: Path) -> None:
    """The command line parses them; targets of make and scripts are there."""
    for program, *arguments in shell_commands(page):
        if Path(program).name == "everalign":
            parse(arguments)
        elif program == "make":
            assert {word for word in arguments if "=" not in word} <= MAKE_TARGETS
        elif program == "python" and not arguments[0].startswith("-"):
            assert (ROOT / arguments[0]).is_file(), arguments[0]


@each_page
def test_targets_of_make_in_the_text_exist(page: Path) -> None:
    assert set(INLINE_TARGET.findall(prose(page))) <= MAKE_TARGETS


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


def commands_of(group: click.Group) -> Iterator[click.Command]:
    for command in group.commands.values():
        if isinstance(command, click.Group):
            yield from commands_of(command)
        else:
            yield command


@pytest.mark.parametrize("command", list(commands_of(everalign)), ids=lambda command: command.name)
def test_every_command_has_examples_that_parse(command: click.Command) -> None:
    """They are in the help and, from there, in the command reference."""
    _, _, examples = (command.epilog or "").partition("Examples:\n")
    found = list(split_block(examples))
    assert found
    for program, *arguments in found:
        if program == "everalign":
            parse(arguments)


def program_of(page: Path) -> str:
    """The Python blocks of a page that run, as one program."""
    return "\n".join(
        block.code for block in all_blocks(page) if block.language == "python" and block.runs
    )


@pytest.mark.parametrize("page", [page for page in PAGES if program_of(page)], ids=name_of)
@pytest.mark.slow
def test_python_blocks_run_and_print_what_they_say(page: Path, tmp_path: Path) -> None:
    """The blocks of a page are one program; each line it prints stands there as a comment."""
    code = program_of(page)
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
        assert config.merge_rule in ("auto", *MERGE_RULES)
        build_settings(SETTINGS[config.method], config.settings, name_of(page))


@pytest.mark.parametrize(
    ("page", "method"), [("quickstart.md", "evidence"), ("concepts/contea.md", "contea")]
)
def test_every_setting_is_shown_with_its_default(page: str, method: str) -> None:
    full = max(blocks(DOCS / page, "toml"), key=len)
    defaults = asdict(SETTINGS[method]())
    assert tomllib.loads(full).keys() == asdict(Config()).keys()
    assert Config.parse(full) == Config(method=method, settings=defaults)


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_every_feature_of_the_classifier_is_documented(feature: Feature) -> None:
    page = "combined.md" if feature.group == VECTORS else "evidence.md"
    assert f"| `{feature.name}` | {feature.meaning} |" in prose(DOCS / "concepts" / page)


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.name)
def test_every_package_has_a_page_and_is_on_the_map(package: Path) -> None:
    page = DOCS / "concepts" / f"{PAGE_OF_PACKAGE.get(package.name, package.name)}.md"
    parts = package.relative_to(SOURCE).parts
    assert f"`{'.'.join(['everalign', *parts])}`" in prose(page)
    assert f"| `{'/'.join(parts)}/` |" in prose(DOCS / "architecture.md")


def test_every_module_of_the_root_is_on_the_map() -> None:
    text = prose(DOCS / "architecture.md")
    modules = {path.name for path in SOURCE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert {name for name in modules if f"`{name}`" not in text} == set()


@each_page
def test_names_are_defined_in_the_file_that_is_linked(page: Path) -> None:
    for name, file in DEFINED_IN.findall(page.read_text(encoding="utf-8")):
        code = (page.parent / file).read_text(encoding="utf-8")
        for part in name.split("."):
            pattern = rf"\b(?:def|class) {part}\b|^{part}\b.* = "
            assert re.search(pattern, code, re.MULTILINE), f"{name} in {file}"


@each_page
def test_replaced_terms_do_not_come_back(page: Path) -> None:
    if not HISTORY & {page, page.parent}:
        assert REPLACED_TERMS.findall(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("command", list(commands_of(everalign)), ids=lambda command: command.name)
def test_replaced_terms_are_not_in_the_help(command: click.Command) -> None:
    with click.Context(command) as context:
        assert REPLACED_TERMS.findall(command.get_help(context)) == []


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
