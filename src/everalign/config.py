"""Settings as data: frozen dataclasses, read from and written to TOML.

method = "contea"
seed = 0
merge_rule = "auto"
names_from_iris = true
cardinality = "one-to-one"
languages = "en,de"

[settings]
dim = 100
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from everalign.cardinality import Cardinality
from everalign.errors import ConfigError

T = TypeVar("T")
# Characters of a file that a message shows.
MAX_QUOTED = 80


@dataclass(frozen=True)
class Config:
    """The configuration of an alignment; it is stored in the state directory.

    Args:
        method: Name of a registered method.
        seed: Random seed.
        merge_rule: How found links and links in force are merged: "best", "published", "latest",
            or "auto" for the rule of the method.
        settings: Settings of the method that differ from its defaults.
        names_from_iris: Whether the readable part of an IRI counts as a literal of its entity,
            for methods that read literals.
        classes: IRIs of classes; if there are any, only their instances are linked. In a graph
            that has none of them, all entities are.
        other_classes: IRIs of classes whose instances are not linked.
        languages: Languages of labels, the best first, such as "en,de"; those of the locale if
            empty.
        cardinality: How many links an entity may have: "one-to-one", "many-to-one" (many left
            entities may be linked to one right entity), "one-to-many" or "many-to-many".

    Raises:
        ConfigError: There is no such cardinality.

    Example:
        >>> Config.parse("seed = 7").seed
        7
    """

    method: str = "evidence"
    seed: int = 0
    merge_rule: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)
    names_from_iris: bool = True
    classes: tuple[str, ...] = ()
    other_classes: tuple[str, ...] = ()
    languages: str = ""
    cardinality: Cardinality = Cardinality.ONE_TO_ONE

    def __post_init__(self) -> None:
        # TOML, JSON and callers give its name.
        object.__setattr__(self, "cardinality", Cardinality.parse(self.cardinality))

    @staticmethod
    def read(path: str | Path) -> Config:
        """Read a configuration from a TOML file.

        Args:
            path: The file.

        Returns:
            The configuration.

        Raises:
            ConfigError: The file cannot be read, or a setting is unknown or has the wrong type.
        """
        try:
            return Config.parse(Path(path).read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path}: cannot be read ({error})") from error

    @staticmethod
    def parse(text: str, origin: str = "configuration") -> Config:
        """Read a configuration from TOML text.

        Args:
            text: TOML.
            origin: What errors call the text.

        Returns:
            The configuration.

        Raises:
            ConfigError: It is not TOML, or a setting is unknown or has the wrong type.
        """
        try:
            values = tomllib.loads(text)
        # `tomllib` recurses into nested arrays, as deep as the text has them.
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{origin}: not valid TOML: {error}") from error
        return build_settings(Config, values, origin)

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> Config:
        """Restore a configuration that was written as JSON.

        Args:
            values: Its fields; those that are missing have their defaults.

        Returns:
            The configuration.

        Raises:
            TypeError: There is no such field.
        """
        return Config(**_freeze_lists(values))

    def to_toml(self) -> str:
        """Write the configuration as TOML.

        Returns:
            Text that `parse` reads back.
        """
        values = asdict(self)
        settings = values.pop("settings")
        lines = [f"{name} = {_format_toml(value)}" for name, value in values.items()]
        # TOML reads what follows a table as part of it, so the table comes last.
        lines += [
            "",
            "[settings]",
            *(f"{name} = {_format_toml(settings[name])}" for name in settings),
        ]
        return "\n".join(lines) + "\n"


def build_settings(kind: type[T], values: Mapping[str, Any], origin: str) -> T:
    """Build a settings dataclass from a mapping.

    Args:
        kind: A dataclass whose fields all have defaults.
        values: Settings by name.
        origin: What errors call the mapping.

    Returns:
        The dataclass.

    Raises:
        ConfigError: A setting is unknown, has the wrong type, or is negative.

    Example:
        >>> build_settings(Config, {"sede": 1}, "my.toml")
        Traceback (most recent call last):
        everalign.errors.ConfigError: my.toml: unknown setting 'sede'; choose from cardinality...
    """
    defaults = {entry.name: getattr(kind(), entry.name) for entry in fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in defaults:
            known = ", ".join(sorted(defaults))
            raise ConfigError(f"{origin}: unknown setting {_quote(name)}; choose from {known}")
        _check_value(name, value, defaults[name], origin)
    return kind(**_freeze_lists(values))


def _freeze_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    # TOML and JSON have lists; settings are immutable.
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def _check_value(name: str, value: Any, default: Any, origin: str) -> None:
    if isinstance(default, tuple):
        if not isinstance(value, list | tuple) or not all(isinstance(v, str) for v in value):
            raise ConfigError(f"{origin}: {name!r} must be a list of strings, not {_quote(value)}")
        return
    wanted = Mapping if isinstance(default, Mapping) else type(default)
    # Written as its name; the dataclass knows the names.
    wanted = str if isinstance(default, StrEnum) else wanted
    # For Python a truth value is an integer; for a setting it is not.
    fits = isinstance(value, wanted) and isinstance(value, bool) == isinstance(default, bool)
    if isinstance(default, float):
        # People write 1 where 1.0 is meant.
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    if not fits:
        word = "a table" if wanted is Mapping else f"of type {wanted.__name__}"
        raise ConfigError(f"{origin}: {name!r} must be {word}, not {_quote(value)}")
    if isinstance(value, int | float) and not 0 <= value < math.inf:
        raise ConfigError(f"{origin}: {name!r} must be a number from 0 on, not {_quote(value)}")


def _quote(value: Any) -> str:
    """What a file says, for a message of one line."""
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 1]}…"


def _format_toml(value: Any) -> str:
    # The scalars that settings have are written alike in TOML and JSON, but for one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
