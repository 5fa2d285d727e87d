"""What the commands take in: shared arguments and options, configuration, readers of triples."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from everalign.cli.completion import complete_state, complete_version
from everalign.cli.output import format_count

if TYPE_CHECKING:
    from everalign._progress import Progress
    from everalign.aligner import Aligner
    from everalign.cli.sources import SourceChoices
    from everalign.cli.table_options import TableOptions
    from everalign.config import Config
    from everalign.io import LinkReader, TripleReader

# Of BCP 47: a language of two or three letters, then anything.
LANGUAGE_TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")

SIDES = ("left", "right")

Command = TypeVar("Command", bound=Callable[..., Any])
OpenReader = Callable[[str, Sequence[Path | str]], "TripleReader | None"]


def _build_path_type(metavar: str) -> click.Path:
    # No checks by click: the readers say more precisely what is wrong, and take patterns.
    path_type = click.Path(path_type=Path)
    path_type.name = metavar
    return path_type


FILE = _build_path_type("file")
DIRECTORY = _build_path_type("directory")


def combine_options(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Combine options into one decorator, so that several commands can share them.

    Args:
        options: Decorators made by `click.option` or `click.argument`, in the order of the help.

    Returns:
        A decorator that adds all of them.
    """

    def add_options(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add_options


def format_examples(*lines: str) -> str:
    """Format the examples at the end of a command's help.

    Args:
        lines: Command lines.

    Returns:
        A paragraph that click does not wrap.

    Example:
        >>> print(format_examples("everalign demo").removeprefix(chr(8)))
        <BLANKLINE>
        Examples:
          everalign demo
    """
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


state_argument = click.argument("state", type=DIRECTORY, shell_complete=complete_state)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
version_option = click.option(
    "--at",
    type=int,
    metavar="VERSION",
    show_default="last",
    help="Version to read.",
    shell_complete=complete_version,
)
output_option = click.option(
    "--output",
    type=FILE,
    help="Write to FILE instead of standard output. An error leaves FILE unchanged.",
)
# Options without a value leave the choice to the configuration file; the defaults shown are those
# of a configuration that is empty.
method_option = click.option(
    "--method",
    metavar="NAME",
    show_default="evidence",
    help="Alignment method (see `everalign methods`).",
)
config_options = combine_options(
    method_option,
    click.option(
        "--seed", type=click.IntRange(min=0), metavar="N", show_default="0", help="Random seed."
    ),
    click.option(
        "--merge-rule",
        metavar="RULE",
        show_default="auto",
        help="How found links and links in force are merged: best, published, latest, or auto "
        "for the rule of the method.",
    ),
    click.option(
        "--cardinality",
        metavar="CARDINALITY",
        show_default="one-to-one",
        help="How many links an entity may have: one-to-one, many-to-one (many left entities may "
        "be linked to one right entity), one-to-many or many-to-many.",
    ),
    click.option(
        "--class",
        "classes",
        multiple=True,
        metavar="CLASS",
        help="Link only instances of this class (IRI, CURIE or end of an IRI) and of its "
        "subclasses; a graph that has none of "
        "the classes is linked whole. May be repeated.",
    ),
    click.option(
        "--not-class",
        "other_classes",
        multiple=True,
        metavar="CLASS",
        help="Link no instances of this class and of its subclasses. May be repeated.",
    ),
    click.option("--config", type=FILE, help="Settings as TOML. Options take precedence."),
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    show_default=True,
    help="Random seed.",
)
skip_errors_option = click.option(
    "--skip-errors",
    is_flag=True,
    help="Skip lines that cannot be parsed and faulty links; list them on standard error.",
)
reader_options = combine_options(
    click.option(
        "--graph-filter",
        multiple=True,
        metavar="RULE",
        help="Read only statements that match RULE: predicate=IRI, not-predicate=IRI, "
        "namespace=IRI, graph=IRI or language=TAG. May be repeated.",
    ),
    skip_errors_option,
)
# The names of these parameters are those of `Aligner.links` and `Aligner.export`.
selection_options = combine_options(
    click.option(
        "--min-score", type=float, metavar="X", help="Leave out found links with a lower score."
    ),
    click.option(
        "--min-confidence",
        type=float,
        metavar="P",
        help="Leave out found links with a lower confidence; include proposals that reach it.",
    ),
    click.option(
        "--target-precision",
        type=float,
        metavar="P",
        help="Print as many found links and proposals as can be expected to be this precise.",
    ),
    click.option("--found-only", is_flag=True, help="Leave out given links."),
    version_option,
)

languages_option = click.option(
    "--languages",
    callback=lambda _, __, value: parse_languages(value or ""),
    metavar="TAGS",
    show_default="those given to `init`, or of the locale",
    help="Languages of labels, the best first, such as en,de.",
)
blank_node_options = combine_options(
    click.option(
        "--blank-nodes",
        is_flag=True,
        help="Include links of blank nodes, with .well-known/genid IRIs.",
    ),
    click.option(
        "--skolem-base",
        metavar="IRI",
        default="http://everalign.invalid/",
        show_default=True,
        help="What the IRIs of blank nodes begin with.",
    ),
)
label_options = combine_options(
    click.option("--labels", is_flag=True, help="Add the labels of both entities."),
    languages_option,
    click.option(
        "--spreadsheet-safe",
        is_flag=True,
        help="Put ' before cells of a table that a spreadsheet would take for formulas.",
    ),
)


def choose_languages(state: Path, given: tuple[str, ...]) -> tuple[str, ...]:
    """Choose the languages of labels.

    Args:
        state: The state directory.
        given: The value of `--languages`.

    Returns:
        What is given, or else what is stored in the state, or else the language of the locale.
    """
    if given:
        return given
    if stored := parse_languages(open_aligner(state).status().languages):
        return stored
    names = (os.environ.get(name) for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    found = next((name for name in names if name), "")
    tags = [entry.partition(".")[0].partition("_")[0] for entry in found.split(":")]
    # "C" and "POSIX" are no languages.
    return tuple(tag.lower() for tag in tags if LANGUAGE_TAG.fullmatch(tag))


def parse_languages(value: str) -> tuple[str, ...]:
    """Parse a list of languages.

    Args:
        value: Language tags with commas between them; empty for none.

    Returns:
        The tags in lower case, the best first.

    Raises:
        click.BadParameter: A tag is not valid.

    Example:
        >>> parse_languages("en, de-AT")
        ('en', 'de-at')
    """
    tags = [tag.strip() for tag in value.split(",")] if value else []
    for tag in tags:
        if not LANGUAGE_TAG.fullmatch(tag):
            raise click.BadParameter(f"{tag!r} is not a language, such as en")
    return tuple(tag.lower() for tag in tags)


def split_side(value: str) -> tuple[str | None, str]:
    """Split the side off a value that may hold for one side only.

    Args:
        value: The value of an option, which may begin with ``left=`` or ``right=``.

    Returns:
        The side, None for both, and the rest.

    Example:
        >>> split_side("left=sku"), split_side("tags=|")
        (('left', 'sku'), (None, 'tags=|'))
    """
    side, equals, rest = value.partition("=")
    return (side, rest) if equals and side in SIDES else (None, value)


class SnapshotRange(click.ParamType[tuple[int, int]]):
    """A range of snapshots such as 0-5, or a single number."""

    name = "FIRST-LAST"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        """Parse a range.

        Args:
            value: The text, or a value that is converted already.
            param: The parameter, for the message.
            ctx: The context, for the message.

        Returns:
            The first and the last snapshot.

        Raises:
            click.BadParameter: The text is not a range.

        Example:
            >>> SnapshotRange().convert("0-5", None, None)
            (0, 5)
        """
        if isinstance(value, tuple):
            return value
        first, _, last = value.partition("-")
        # int() refuses numbers of thousands of digits with an error of its own.
        if not (first.isdecimal() and (last or first).isdecimal() and len(value) < 20):
            self.fail(f"expected a range such as 0-5, found {value!r}", param, ctx)
        return int(first), int(last or first)


def open_aligner(state: Path) -> Aligner:
    """Open an alignment that exists already.

    Args:
        state: The state directory.

    Returns:
        The alignment. Its code is imported only now, so that `everalign --help` stays fast.

    Raises:
        StateError: There is no alignment, or it cannot be read.
    """
    from everalign.aligner import Aligner

    return Aligner.open(state)


def read_config(
    path: Path | None,
    method: str | None = None,
    seed: int | None = None,
    merge_rule: str | None = None,
    cardinality: str | None = None,
    classes: tuple[str, ...] = (),
    other_classes: tuple[str, ...] = (),
    languages: Sequence[str] = (),
) -> Config:
    """Read a configuration file and let options take precedence over it.

    Args:
        path: The file; the defaults if None.
        method: Value of `--method`.
        seed: Value of `--seed`.
        merge_rule: Value of `--merge-rule`.
        cardinality: Value of `--cardinality`.
        classes: Values of `--class`.
        other_classes: Values of `--not-class`.
        languages: Value of `--languages`.

    Returns:
        The configuration.

    Raises:
        ConfigError: The file is not as expected.
    """
    from everalign.cardinality import Cardinality
    from everalign.config import Config

    config = Config.read(path) if path else Config()
    return replace(
        config,
        method=method or config.method,
        seed=config.seed if seed is None else seed,
        merge_rule=merge_rule or config.merge_rule,
        classes=classes or config.classes,
        other_classes=other_classes or config.other_classes,
        languages=",".join(languages) or config.languages,
        cardinality=Cardinality.parse(cardinality or config.cardinality),
    )


@contextmanager
def open_readers(
    rules: Sequence[str],
    skip_errors: bool,
    progress: Progress,
    sources: SourceChoices,
    tables: TableOptions,
    state: Path,
) -> Iterator[OpenReader]:
    """Give a function that makes a reader of files; report at the end how they were read.

    The report goes to standard error: standard output is for the result.

    Args:
        rules: Values of `--graph-filter`.
        skip_errors: Whether lines that cannot be parsed are skipped.
        progress: Called while files are read.
        sources: How sources are opened.
        tables: How tables are read.
        state: The state directory, beside which files from servers are kept.

    Yields:
        A function from a side and its sources to a reader, or to None if there are none.

    Raises:
        ConfigError: A rule is not valid.
    """
    from everalign.io import ReadOptions, TripleReader

    options, readers = ReadOptions.parse([*rules, *sources.list_language_rules()]), []

    def open_reader(side: str, paths: Sequence[Path | str]) -> TripleReader | None:
        if not paths:
            return None
        opening = sources.build_options(side, state)
        readers.append(
            TripleReader(
                tables.make_table(side, paths, opening),
                lambda size: progress(f"reading {paths[0]}", size, 0),
                options=options,
                skip_errors=skip_errors,
                opening=opening,
            )
        )
        return readers[-1]

    yield open_reader
    for reader in readers:
        for line in _describe_omissions(reader):
            click.echo(line, err=True)


@contextmanager
def open_link_readers(skip_errors: bool, *paths: Path | None) -> Iterator[list[LinkReader | None]]:
    """Make readers of link files; report at the end how they were read and what was left out.

    Args:
        skip_errors: Whether faulty links are left out.
        paths: The files.

    Yields:
        A reader for each, None for None.
    """
    from everalign.io import LinkReader

    readers = [
        None if path is None else LinkReader(path, skip_errors=skip_errors) for path in paths
    ]
    yield readers
    for reader in readers:
        if reader is None:
            continue
        for fault in reader.list_faults() if skip_errors else ():
            click.echo(f"{fault.path}:{fault.line}: skipped: {fault.reason}", err=True)
        for note in reader.notes:
            click.echo(note, err=True)


def _describe_omissions(reader: TripleReader) -> Iterator[str]:
    yield from reader.notes
    if reader.filtered_count:
        yield f"{reader.name}: {format_count(reader.filtered_count, 'statement')} filtered out"
    for fault in reader.skipped:
        place = fault.path if fault.line is None else f"{fault.path}:{fault.line}"
        yield f"{place}: skipped: {fault.reason}"
    if reader.skipped_count:
        # The reader keeps the first hundred only.
        listed = f", first {len(reader.skipped)} listed"
        suffix = listed if reader.skipped_count > len(reader.skipped) else ""
        yield f"{reader.name}: {format_count(reader.skipped_count, 'error')} skipped{suffix}"
