"""Writes the command reference from the Click commands, so that it cannot be out of date.

The page that holds the marker gets one section for each command, in the order of `--help`.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from mkdocs.structure.pages import Page

from everalign.cli.main import everalign as program

MARKER = "<!-- generated: commands -->"
# Click marks paragraphs whose line breaks are to be kept with this character.
KEEP_LINES = "\b"


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Replace the marker by the sections of all commands."""
    if MARKER not in markdown:
        return markdown
    return markdown.replace(MARKER, render_reference(program))


def render_reference(group: click.Group) -> str:
    """Render a table of all commands, then a section for each."""
    contexts = list(_walk(click.Context(group, info_name=group.name)))
    rows = [
        f"| [`{context.command_path}`](#{_anchor(context)}) | "
        f"{_cell(context.command.get_short_help_str(limit=200))} |"
        for context in contexts
    ]
    table = "\n".join(["| command | purpose |", "|---|---|", *rows])
    return "\n\n".join([table, *map(_render_section, contexts)])


def _walk(context: click.Context) -> Iterator[click.Context]:
    """Visit the commands of a group; a group itself has no section, only its commands have."""
    assert isinstance(context.command, click.Group)
    for name, command in context.command.commands.items():
        if command.hidden:
            continue
        child = click.Context(command, info_name=name, parent=context)
        if isinstance(command, click.Group):
            yield from _walk(child)
        else:
            yield child


def _render_section(context: click.Context) -> str:
    command = context.command
    pieces = " ".join(command.collect_usage_pieces(context))
    parts = [
        f"## {context.command_path} {{ #{_anchor(context)} }}",
        *_paragraphs(inspect.cleandoc(command.help or "")),
        f"```text\n{context.command_path} {pieces}\n```",
        _render_options(context),
        *_paragraphs(inspect.cleandoc(command.epilog or "")),
    ]
    return "\n\n".join(part for part in parts if part)


def _render_options(context: click.Context) -> str:
    options = [
        parameter
        for parameter in context.command.get_params(context)
        if isinstance(parameter, click.Option) and not parameter.hidden
    ]
    rows = [f"| {_names(option, context)} | {_text(option, context)} |" for option in options]
    return "\n".join(["| option | meaning |", "|---|---|", *rows])


def _names(option: click.Option, context: click.Context) -> str:
    """Write an option as it is typed: `--left FILE`, `--json`."""
    names = ", ".join([*option.opts, *option.secondary_opts])
    value = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    return f"`{names}{value}`".replace("|", r"\|")


def _text(option: click.Option, context: click.Context) -> str:
    """Write what an option does, and what else `--help` says about it."""
    extra = option.get_help_extra(context)
    notes = []
    if "default" in extra:
        notes.append(f"Default: `{extra['default']}`.")
    if "range" in extra:
        notes.append(f"Range: `{extra['range']}`.")
    if option.required:
        notes.append("Required.")
    return " ".join([_cell(option.help or ""), *notes])


def _paragraphs(text: str) -> Iterator[str]:
    """Turn Click's paragraphs into Markdown: those with fixed lines become code."""
    for paragraph in filter(None, re.split(r"\n\s*\n", text)):
        first, _, rest = paragraph.partition("\n")
        if first.strip() != KEEP_LINES:
            yield _escape(paragraph)
            continue
        title, _, lines = rest.partition("\n")
        if title.endswith(":"):
            yield title
            rest = lines
        yield f"```sh\n{inspect.cleandoc(rest)}\n```"


def _escape(text: str) -> str:
    """Keep what stands outside of code spans from being read as Markdown or HTML."""
    spans = text.split("`")
    spans[::2] = [re.sub(r"([*<\[\]])", r"\\\1", span) for span in spans[::2]]
    return "`".join(spans)


def _cell(text: str) -> str:
    return _escape(" ".join(text.split())).replace("|", r"\|")


def _anchor(context: click.Context) -> str:
    """Derive the anchor of a command from its path without the program: `datasets-build`."""
    return context.command_path.partition(" ")[2].replace(" ", "-")
