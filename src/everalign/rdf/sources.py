"""Paths and patterns → the files to read, in a fixed order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from everalign.errors import InputError

FileSource: TypeAlias = str | Path | Sequence[str | Path]

_MAGIC = frozenset("*?[")


def files_of(source: FileSource) -> list[Path]:
    """The files that are named, or that match a pattern such as ``left/**/*.nt``.

    The matches of a pattern come in the order of their names, and a file comes once.
    """
    entries = [source] if isinstance(source, str | Path) else list(source)
    if not entries:
        raise InputError("no file is named")
    found: dict[Path, Path] = {}
    for path in (path for entry in entries for path in _paths(Path(entry))):
        found.setdefault(path.resolve(), path)
    return list(found.values())


def _paths(entry: Path) -> list[Path]:
    # A name that exists is a name, whatever is in it.
    if not _MAGIC.intersection(str(entry)) or entry.exists():
        return [entry]
    paths = sorted(_matches(entry))
    if not paths:
        raise InputError("no file matches this pattern", path=entry)
    return paths


def _matches(pattern: Path) -> Iterator[Path]:
    """The files; a file that starts with a dot only matches a pattern that says so."""
    fixed = 0
    while not _MAGIC.intersection(pattern.parts[fixed]):
        fixed += 1
    root, rest = Path(*pattern.parts[:fixed]), Path(*pattern.parts[fixed:])
    hidden = any(part.startswith(".") for part in rest.parts)
    try:
        for path in root.glob(str(rest)):
            if hidden or not any(part.startswith(".") for part in path.relative_to(root).parts):
                _refuse_tricks(path, root)
                yield path
    except (ValueError, OSError) as error:
        raise InputError(f"is no pattern of files ({error})", path=pattern) from None


def _refuse_tricks(path: Path, root: Path) -> None:
    if not path.resolve().is_relative_to(root.resolve()):
        raise InputError(f"leads out of {root}, where the pattern looks: name it", path=path)
    if not path.is_file():
        kind = "a directory" if path.is_dir() else "no regular file"
        raise InputError(f"matches the pattern and is {kind}", path=path)
