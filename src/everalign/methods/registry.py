"""The methods there are, by name. Their code is imported when one is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from everalign.config import Config
from everalign.errors import ConfigError
from everalign.methods.protocol import Method

Maker: TypeAlias = Callable[[Mapping[str, Any], int], Method]


@dataclass(frozen=True)
class Entry:
    """A registered method: `make` is `module:function`, called with settings and a seed."""

    name: str
    summary: str
    make: str | Maker
    extra: str | None = None

    def maker(self) -> Maker:
        if callable(self.make):
            return self.make
        module, function = self.make.split(":")
        maker: Maker = getattr(import_module(module), function)
        return maker


METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in [
        Entry(
            "contea",
            "graph neural network, fine-tuned at each update (ContEA, ISWC 2022)",
            "everalign.methods.contea:make",
            extra="neural",
        ),
    ]
}


def register(entry: Entry) -> None:
    """Add a method of your own, so that `make_method` knows it in this process."""
    METHODS[entry.name] = entry


def make_method(config: Config) -> Method:
    """The method that a configuration names, with its settings."""
    entry = METHODS.get(config.method)
    if entry is None:
        known = ", ".join(METHODS)
        raise ConfigError(f"unknown method {config.method!r}; there are: {known}")
    try:
        return entry.maker()(config.settings, config.seed)
    except ModuleNotFoundError as error:
        if entry.extra is None:
            raise
        raise ConfigError(
            f"method {entry.name!r} needs {error.name}: pip install 'everalign[{entry.extra}]'"
        ) from error
