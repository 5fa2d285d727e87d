"""Figures about how a source tree reads: sizes, names, types, docstrings, comments, settings.

    python benchmarks/readability.py TREE [--name NAME] [--json FILE]

TREE is any directory of Python sources: this package's, or that of an installed one to compare
with. The result file holds one entry per NAME, so trees can be measured one after another.

How things are counted:

- Files: all but `__init__.py`, which mostly list names; what these define is counted as well.
- Lines of a file: all of them. Lines of code: those that hold a token of code, so neither blank
  lines nor comments nor docstrings.
- A function's length: from `def` to its end, decorators left out.
- A function is typed if its result and all its parameters but `self` and `cls` are annotated;
  `__init__` needs no result.
- A one-word name: no underscore (leading and trailing ones left out) and no capital after the
  first letter. Special methods such as `__init__` are not counted.
- Locals and parameters per line: the distinct names of each function, without `self` and `cls`,
  over the lines of all functions (with their docstrings).
- Public: the name does not begin with an underscore, nor does that of the class around it, and
  no function is around it. Modules that begin with an underscore are no exception.
- A docstring names arguments and results if it has a section for them: `Args:` or `Returns:`
  (Google), `Parameters` or `Returns` underlined (NumPy), or fields such as `:param x:` (Sphinx).
  Counted over public functions with a docstring, and over public functions with arguments.
- Comments per 100 lines: lines with a comment over lines that are not blank.
- Settings: fields of classes whose names end in `Settings` or `Config`.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import platform
import re
import statistics
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Row: TypeAlias = dict[str, Any]

RESULT_FILE = Path(__file__).parent / "results" / "readability.json"
LONGEST = 8

_DOCUMENTED_ARGUMENTS = re.compile(
    r"^\s*(?:Args|Arguments|Parameters|Returns|Yields):\s*$"
    r"|^\s*(?:Parameters|Returns|Yields)\s*\n\s*-{3,}\s*$"
    r"|^\s*\*\*(?:Parameters|Arguments|Returns):?\*\*"
    r"|^\s*:(?:param|parameter|arg|returns?|rtype)\b",
    re.MULTILINE,
)
_NOT_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
    tokenize.ENCODING,
}


@dataclass
class SourceFile:
    """What one file contributes to the figures."""

    path: str
    lines: int
    nonblank_lines: int
    code_lines: int
    comment_lines: int
    functions: list[FunctionFigures] = field(default_factory=list)
    classes: list[ClassFigures] = field(default_factory=list)


@dataclass(frozen=True)
class FunctionFigures:
    """One function or method."""

    name: str
    line: int
    length: int
    is_typed: bool
    is_public: bool
    docstring: str | None
    parameters: frozenset[str]
    local_names: frozenset[str]

    @property
    def names_arguments(self) -> bool:
        """Whether the docstring has a section on arguments or results."""
        return bool(_DOCUMENTED_ARGUMENTS.search(self.docstring or ""))


@dataclass(frozen=True)
class ClassFigures:
    """One class."""

    name: str
    is_public: bool
    docstring: str | None
    settings: tuple[str, ...]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path, help="directory of Python sources")
    parser.add_argument("--name", help="key in the result file (default: the directory's name)")
    parser.add_argument("--version", help="version to record (default: the installed package's)")
    parser.add_argument("--json", type=Path, default=RESULT_FILE, help="result file")
    arguments = parser.parse_args()
    name = arguments.name or arguments.tree.resolve().name
    row = measure_tree(arguments.tree) | {
        "version": arguments.version or installed_version(arguments.tree.resolve().name),
        "python": platform.python_version(),
        "measured_on": datetime.now(UTC).date().isoformat(),
    }
    results = read_results(arguments.json) | {name: row}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(format_table(results))
    print()
    print(format_details(name, row))


def measure_tree(tree: Path) -> Row:
    """All figures of the Python files below a directory.

    Args:
        tree: The directory; hidden directories and caches are left out.

    Returns:
        The figures by name, ready for JSON.

    Raises:
        FileNotFoundError: If there is no Python file.
    """
    files = [measure_file(path, tree) for path in find_sources(tree)]
    if not files:
        raise FileNotFoundError(f"no Python files in {tree}")
    lengths = [file.lines for file in files if not file.path.endswith("__init__.py")]
    functions = [function for file in files for function in file.functions]
    classes = [each for file in files for each in file.classes]
    return {
        "files": len(lengths),
        "init_files": len(files) - len(lengths),
        **size_figures("lines_per_file", lengths),
        "code_lines": sum(file.code_lines for file in files),
        "functions": len(functions),
        "classes": len(classes),
        **size_figures("function_length", [function.length for function in functions]),
        "typed_functions": share(function.is_typed for function in functions),
        "one_word_function_names": share_of_one_word(function.name for function in functions),
        "one_word_class_names": share_of_one_word(each.name for each in classes),
        "names_per_line": names_per_line(functions),
        **docstring_figures(functions, classes),
        "comments_per_100_lines": comments_per_100_lines(files),
        "settings": sum(len(each.settings) for each in classes),
        "settings_by_class": {each.name: list(each.settings) for each in classes if each.settings},
        "longest_files": longest((file.lines, file.path) for file in files),
        "longest_functions": longest(
            (function.length, f"{file.path}:{function.line} {function.name}")
            for file in files
            for function in file.functions
        ),
    }


def find_sources(tree: Path) -> Iterator[Path]:
    """The Python files below a directory, in order."""
    for path in sorted(tree.rglob("*.py")):
        parts = path.relative_to(tree).parts
        if not any(part.startswith(".") or part == "__pycache__" for part in parts):
            yield path


def measure_file(path: Path, tree: Path) -> SourceFile:
    """Count what is in one file."""
    text = path.read_text(encoding="utf-8")
    with warnings.catch_warnings():
        # A foreign tree may hold escapes that a newer Python warns of.
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        module = ast.parse(text)
    rows = [row.strip() for row in text.splitlines()]
    tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    file = SourceFile(
        path=path.relative_to(tree).as_posix(),
        lines=len(rows),
        nonblank_lines=sum(bool(row) for row in rows),
        code_lines=len(_token_lines(tokens) - _docstring_lines(module)),
        comment_lines=len({t.start[0] for t in tokens if t.type == tokenize.COMMENT}),
    )
    _collect(module, file, is_public=True)
    return file


def _token_lines(tokens: list[tokenize.TokenInfo]) -> set[int]:
    return {
        line
        for token in tokens
        if token.type not in _NOT_CODE
        for line in range(token.start[0], token.end[0] + 1)
    }


def _docstring_lines(module: ast.Module) -> set[int]:
    lines: set[int] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Module | ast.ClassDef | Function) and _has_docstring(node):
            first = node.body[0]
            lines |= set(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return lines


def _has_docstring(node: ast.Module | ast.ClassDef | Function) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def _collect(node: ast.AST, file: SourceFile, *, is_public: bool) -> None:
    """Take in the functions and classes below a node; those inside a function are private."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function):
            public = is_public and not child.name.startswith("_")
            file.functions.append(_function_figures(child, is_public=public))
            _collect(child, file, is_public=False)
        elif isinstance(child, ast.ClassDef):
            public = is_public and not child.name.startswith("_")
            settings = _settings_of(child)
            file.classes.append(
                ClassFigures(child.name, public, ast.get_docstring(child), settings)
            )
            _collect(child, file, is_public=public)
        else:
            _collect(child, file, is_public=is_public)


def _function_figures(node: Function, *, is_public: bool) -> FunctionFigures:
    return FunctionFigures(
        name=node.name,
        line=node.lineno,
        length=(node.end_lineno or node.lineno) - node.lineno + 1,
        is_typed=_is_typed(node),
        is_public=is_public,
        docstring=ast.get_docstring(node),
        parameters=frozenset(name for name, _ in _parameters(node)),
        local_names=frozenset(_assigned_names(node)),
    )


def _parameters(node: Function) -> list[tuple[str, ast.expr | None]]:
    """Names and annotations of all parameters but `self` and `cls`."""
    listed = node.args
    together = [*listed.posonlyargs, *listed.args, *listed.kwonlyargs, listed.vararg, listed.kwarg]
    return [
        (each.arg, each.annotation)
        for each in together
        if each is not None and each.arg not in ("self", "cls")
    ]


def _is_typed(node: Function) -> bool:
    annotated = [annotation is not None for _, annotation in _parameters(node)]
    return all(annotated) and (node.returns is not None or node.name == "__init__")


def _assigned_names(node: ast.AST) -> Iterator[str]:
    """The names that a function assigns to, also in comprehensions, not in inner functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            continue
        if isinstance(child, ast.Lambda):
            yield from (each.arg for each in ast.walk(child.args) if isinstance(each, ast.arg))
        if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
            yield child.id
        if isinstance(child, ast.ExceptHandler) and child.name:
            yield child.name
        yield from _assigned_names(child)


def _settings_of(node: ast.ClassDef) -> tuple[str, ...]:
    if not node.name.endswith(("Settings", "Config")):
        return ()
    return tuple(
        statement.target.id
        for statement in node.body
        if isinstance(statement, ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and not ast.unparse(statement.annotation).startswith(("ClassVar", "typing.ClassVar"))
    )


def is_one_word(name: str) -> bool:
    """Whether a name is a single word.

    >>> [is_one_word(name) for name in ("read", "_read", "Graph", "read_names", "LinkTable")]
    [True, True, True, False, False]
    """
    bare = name.strip("_")
    return "_" not in bare and not any(letter.isupper() for letter in bare[1:])


def share_of_one_word(names: Iterable[str]) -> float:
    """The share of one-word names, special methods left out."""
    return share(is_one_word(name) for name in names if not name.startswith("__"))


def share(cases: Iterable[bool]) -> float:
    """The share of cases that are true; 0 where there are none.

    >>> share([True, False, False, False])
    0.25
    """
    values = list(cases)
    return round(sum(values) / len(values), 4) if values else 0.0


def size_figures(name: str, sizes: list[int]) -> Row:
    """The median and the 95th percentile (nearest rank) of some sizes."""
    ranked = sorted(sizes) or [0]
    at_95 = ranked[max(0, -(-len(ranked) * 95 // 100) - 1)]
    return {f"{name}_median": statistics.median(ranked), f"{name}_p95": at_95}


def names_per_line(functions: list[FunctionFigures]) -> float:
    names = sum(len(function.parameters | function.local_names) for function in functions)
    return round(names / max(1, sum(function.length for function in functions)), 3)


def docstring_figures(functions: list[FunctionFigures], classes: list[ClassFigures]) -> Row:
    """How much of what is public has a docstring, and one that names arguments and results."""
    public = [function for function in functions if function.is_public]
    public_classes = [each for each in classes if each.is_public]
    return {
        "public_functions": len(public),
        "public_functions_with_docstring": share(f.docstring is not None for f in public),
        "public_classes_with_docstring": share(c.docstring is not None for c in public_classes),
        "docstrings_naming_arguments": share(f.names_arguments for f in public if f.docstring),
        "functions_naming_arguments": share(f.names_arguments for f in public if f.parameters),
    }


def comments_per_100_lines(files: list[SourceFile]) -> float:
    lines = sum(file.nonblank_lines for file in files)
    return round(100 * sum(file.comment_lines for file in files) / max(1, lines), 2)


def longest(sizes: Iterable[tuple[int, str]]) -> list[str]:
    ranked = sorted(sizes, key=lambda each: (-each[0], each[1]))[:LONGEST]
    return [f"{size} {where}" for size, where in ranked]


def installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def read_results(path: Path) -> Row:
    if not path.exists():
        return {}
    results: Row = json.loads(path.read_text(encoding="utf-8"))
    return results


def format_table(results: Row) -> str:
    """The figures of all trees side by side, as a Markdown table."""
    lines = [("", *results), ("---",) * (len(results) + 1)]
    for title, text in _TABLE_ROWS.items():
        lines.append((title, *(text.format(**row) for row in results.values())))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_TABLE_ROWS = {
    "files": "{files}",
    "lines per file, median / p95": "{lines_per_file_median:.0f} / {lines_per_file_p95}",
    "function length, median / p95": "{function_length_median:.0f} / {function_length_p95}",
    "typed functions": "{typed_functions:.0%}",
    "one-word function names": "{one_word_function_names:.0%}",
    "one-word class names": "{one_word_class_names:.0%}",
    "locals and parameters per line": "{names_per_line:.2f}",
    "public functions with docstring": "{public_functions_with_docstring:.0%}",
    "public classes with docstring": "{public_classes_with_docstring:.0%}",
    "docstrings that name arguments and results": "{docstrings_naming_arguments:.0%}",
    "functions with arguments that are named in a docstring": "{functions_naming_arguments:.0%}",
    "comments per 100 lines": "{comments_per_100_lines:.1f}",
    "settings": "{settings}",
}


def format_details(name: str, row: Row) -> str:
    """What a table has no room for: settings by class, longest files and functions."""
    lines = [f"{name}: settings by class"]
    lines += [f"  {len(each):3} {owner}" for owner, each in row["settings_by_class"].items()]
    for title in ("longest_files", "longest_functions"):
        lines += [title.replace("_", " "), *(f"  {each}" for each in row[title])]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
