"""Settings as data: frozen dataclasses, read from and written to TOML.

method = "contea"
seed = 0
rule = "auto"
names_from_iris = true

[settings]
dim = 100
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from everalign.errors import ConfigError

T = TypeVar("T")


@dataclass(frozen=True)
class Config:
    """What one alignment is made with; it is kept in its state directory.

    `method` is a registered method and `settings` are those that differ from its defaults;
    `rule` says how found links and links in force become one set ("auto": as suits the method);
    every random choice comes from `seed`. With `names_from_iris`, the readable part of an IRI is a
    literal of its entity, for methods that read literals.

    >>> Config.parse('seed = 7').seed
    7
    """

    method: str = "evidence"
    seed: int = 0
    rule: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    names_from_iris: bool = True

    @staticmethod
    def read(path: str | Path) -> Config:
        """The configuration in a TOML file."""
        try:
            return Config.parse(Path(path).read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read ({error})") from error

    @staticmethod
    def parse(text: str, origin: str = "configuration") -> Config:
        """The configuration in a TOML text."""
        try:
            values = tomllib.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{origin}: not valid TOML: {error}") from error
        return build(Config, values, origin)

    def to_toml(self) -> str:
        """The same as text; `parse` reads it back."""
        values = asdict(self)
        settings = values.pop("settings")
        lines = [f"{name} = {_toml(value)}" for name, value in values.items()]
        lines += ["", "[settings]", *(f"{name} = {_toml(settings[name])}" for name in settings)]
        return "\n".join(lines) + "\n"


def build(kind: type[T], values: Mapping[str, Any], origin: str) -> T:
    """A settings dataclass from a mapping; unknown names and wrong types are errors.

    >>> build(Config, {"sede": 1}, "my.toml")
    Traceback (most recent call last):
    everalign.errors.ConfigError: my.toml: unknown setting 'sede'; there are: method, names...
    """
    defaults = {entry.name: getattr(kind(), entry.name) for entry in fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in defaults:
            known = ", ".join(sorted(defaults))
            raise ConfigError(f"{origin}: unknown setting {name!r}; there are: {known}")
        _check(name, value, defaults[name], origin)
    return kind(**values)


def _check(name: str, value: Any, default: Any, origin: str) -> None:
    wanted = Mapping if isinstance(default, Mapping) else type(default)
    fits = isinstance(value, wanted) and isinstance(value, bool) == isinstance(default, bool)
    if isinstance(default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        word = "a table" if wanted is Mapping else f"of type {wanted.__name__}"
        raise ConfigError(f"{origin}: {name!r} must be {word}, not {value!r}")
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise ConfigError(f"{origin}: {name!r} must be a number from 0 on, not {value!r}")


def _toml(value: Any) -> str:
    # The scalars that settings have are written alike in TOML and JSON, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
