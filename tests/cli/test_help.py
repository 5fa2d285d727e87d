"""The help of every command: complete, with defaults and examples, in one vocabulary."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator

import click
import pytest

from everalign import Config
from everalign.cli.alignment import init
from everalign.cli.benchmarks import bench
from everalign.cli.main import SECTIONS
from everalign.cli.main import everalign as group

Run = Callable[..., subprocess.CompletedProcess[str]]


def walk_commands(context: click.Context) -> Iterator[click.Context]:
    """The contexts of all commands, also of those in groups."""
    assert isinstance(context.command, click.Group)
    for name, command in context.command.commands.items():
        inner = click.Context(command, info_name=name, parent=context)
        yield inner
        if isinstance(command, click.Group):
            yield from walk_commands(inner)


CONTEXTS = list(walk_commands(click.Context(group, info_name="everalign")))
each_command = pytest.mark.parametrize("context", CONTEXTS, ids=lambda each: each.command_path)


@each_command
def test_help_starts_with_a_sentence_and_ends_with_examples(context: click.Context) -> None:
    summary, _, description = inspect.cleandoc(context.command.help or "").partition("\n")
    assert summary[0].isupper()
    assert summary.endswith(".")
    assert len(summary) < 70
    assert description or isinstance(context.command, click.Group)
    text = context.get_help()
    assert "Examples:\n" in text
    assert f"  {context.command_path}" in text.partition("Examples:")[2]


@each_command
def test_every_option_has_help_and_every_value_a_name(context: click.Context) -> None:
    for option in context.command.params:
        if not isinstance(option, click.Option):
            continue
        assert option.help, option.name
        assert option.help.endswith("."), option.help
        metavar = option.make_metavar(context)
        assert metavar not in ("TEXT", "INTEGER", "FLOAT", "PATH") or option.is_flag, option.name
        if option.multiple:
            assert "ay be repeated." in option.help
        if option.default not in (None, False, ()) and isinstance(option.default, int | str):
            assert option.show_default or option.count, option.name


def test_the_defaults_shown_are_those_of_the_configuration() -> None:
    config = Config()
    for command in (init, bench):
        shown = {option.name: getattr(option, "show_default", None) for option in command.params}
        assert shown["method"] == config.method
        assert shown["seed"] == str(config.seed)
        assert shown["merge_rule"] == config.merge_rule


def test_commands_are_listed_by_purpose(everalign: Run) -> None:
    lines = everalign("--help").stdout.splitlines()
    positions = [lines.index(f"{title}:") for title in SECTIONS]
    assert list(SECTIONS) == [
        "Start", "Keep up to date", "Look", "Decide", "Hand on", "Maintain", "Benchmark"
    ]  # fmt: skip
    assert positions == sorted(positions)
    assert [command for part in SECTIONS.values() for command in part] == list(
        group.commands.values()
    )
    assert "  Exit codes:" in lines


def test_help_imports_nothing_heavy() -> None:
    program = "import sys, everalign.cli.main; print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert {"numpy", "numba", "scipy", "rich", "torch"}.isdisjoint(run.stdout.split())
