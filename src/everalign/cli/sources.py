"""Options that say how sources are opened: encodings, contexts, dumps, URLs and endpoints."""

from __future__ import annotations

from collections.abc import Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from everalign.cli.inputs import DIRECTORY, Command, combine_options, split_side

if TYPE_CHECKING:
    from everalign.io import SourceOptions


class GraphSource(click.ParamType["Path | str"]):
    """A file, a pattern, a URL, or a SPARQL endpoint."""

    name = "source"

    def convert(
        self,
        value: Any,
        param: click.Parameter | None,  # noqa: ARG002
        ctx: click.Context | None,  # noqa: ARG002
    ) -> Path | str:
        """Make a path of everything that is not on a server.

        Args:
            value: The text, or a value that is converted already.
            param: Not used.
            ctx: Not used.

        Returns:
            The text for a server or a storage, a path for anything else.
        """
        from everalign.io.remote import is_remote, is_storage

        return value if is_remote(value) or is_storage(value) else Path(value)


GRAPH = GraphSource()


class SourceChoices(NamedTuple):
    """The values of the options that say how sources are opened."""

    encoding: tuple[str, ...]
    context: tuple[str, ...]
    keep_languages: str | None
    all_of_wikidata: bool
    query: tuple[str, ...]
    class_iri: tuple[str, ...]
    cache: Path | None
    refresh: bool
    requests_per_second: float
    timeout: float
    page_size: int

    def build_options(self, side: str, state: Path) -> SourceOptions:
        """Build the options for the sources of one side.

        Args:
            side: The side, left or right.
            state: The state directory, beside which the cache is.

        Returns:
            The options.
        """
        from everalign.io import RemoteOptions, SourceOptions

        query = _choose_for_side(self.query, side)
        return SourceOptions(
            _choose_for_side(self.encoding, side),
            dict(map(_parse_context, self.context)),
            not self.all_of_wikidata,
            RemoteOptions(
                None if query is None else Path(query),
                _choose_for_side(self.class_iri, side),
                self.cache or state.with_name(f"{state.name}.cache"),
                self.refresh,
                self.requests_per_second,
                self.timeout,
                self.page_size,
            ),
        )

    def list_language_rules(self) -> list[str]:
        """List the rules of `--graph-filter` that `--keep-languages` stands for.

        Returns:
            A rule for each language, for `mul` (all languages), and for literals without one.
        """
        if self.keep_languages is None:
            return []
        tags = [tag.strip() for tag in self.keep_languages.split(",") if tag.strip()]
        return [f"language={tag}" for tag in (*tags, "mul", "")]


def _choose_for_side(values: Sequence[str], side: str) -> str | None:
    """Choose the last value for a side; values without `left=` or `right=` are for both."""
    given = [split_side(value) for value in values]
    own = [value for its_side, value in given if its_side == side]
    both = [value for its_side, value in given if its_side is None]
    return next(reversed([*both, *own]), None)


def _parse_context(value: str) -> tuple[str, Path]:
    url, _, path = value.rpartition("=")
    return (url, Path(path)) if value.startswith(("http://", "https://")) else ("", Path(value))


def source_options(command: Command) -> Command:
    """Add the options that say how sources are opened.

    Args:
        command: A command that takes their values together, as `sources`.

    Returns:
        The command with the options.
    """

    @wraps(command)
    def run(*args: Any, **values: Any) -> Any:
        chosen = SourceChoices(**{name: values.pop(name) for name in SourceChoices._fields})
        return command(*args, sources=chosen, **values)

    return combine_options(*_SOURCE_OPTIONS)(run)  # type: ignore[return-value]


_SOURCE_OPTIONS = (
    click.option(
        "--encoding",
        multiple=True,
        metavar="[SIDE=]NAME",
        help="Encoding of text that is not UTF-8 and does not say what it is, "
        "such as windows-1252; left=NAME is for one side. May be repeated.",
    ),
    click.option(
        "--context",
        multiple=True,
        metavar="[URL=]FILE",
        help="File with the remote @context URL of JSON-LD, or with all that are not known. "
        "May be repeated.",
    ),
    click.option(
        "--keep-languages",
        metavar="TAGS",
        help="Leave out literals in other languages, such as: en,de. Those without a language "
        "are kept.",
    ),
    click.option(
        "--all-of-wikidata",
        is_flag=True,
        help="Read a dump of Wikidata as it is, with statement nodes and repeated labels.",
    ),
    click.option(
        "--query",
        multiple=True,
        metavar="[SIDE=]FILE",
        help="CONSTRUCT query for SPARQL endpoints; left=FILE is for one side. May be repeated.",
    ),
    click.option(
        "--endpoint-class",
        "class_iri",
        multiple=True,
        metavar="[SIDE=]IRI",
        help="Class whose instances are read from SPARQL endpoints, with all their triples. "
        "May be repeated.",
    ),
    click.option(
        "--cache",
        type=DIRECTORY,
        show_default="STATE.cache",
        help="Where files from servers are kept.",
    ),
    click.option("--refresh", is_flag=True, help="Fetch again what the cache has."),
    click.option(
        "--requests-per-second",
        type=click.FloatRange(min=0, min_open=True),
        default=2.0,
        show_default=True,
        metavar="X",
        help="How often a server is asked at most.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        default=60.0,
        show_default=True,
        metavar="SECONDS",
        help="How long a server may be silent.",
    ),
    click.option(
        "--page-size",
        type=click.IntRange(min=1),
        default=10_000,
        show_default=True,
        metavar="N",
        help="Solutions that one request to a SPARQL endpoint asks for.",
    ),
)
