"""The methods there are, by name. Their code is imported when one is made.

Another package can bring methods of its own: entry points of the group `everalign.methods`, each
the name of a method and where its `Entry` is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeAlias

from everalign.config import Config
from everalign.errors import ConfigError
from everalign.methods.protocol import Method

Maker: TypeAlias = Callable[[Mapping[str, Any], int], Method]

ABOUT_NAMES = ("translations", "left_vectors", "right_vectors")


@dataclass(frozen=True)
class Entry:
    """A registered method: `make` is `module:function`, called with settings and a seed.

    `rule` says how its links and those in force become one set, unless the configuration does;
    `calibrated`, that its scores are probabilities of being right; `needs_seeds`, that it cannot
    start without trusted links; `reads_literals`, that it looks at more than triples; `files`,
    which of its settings name files.
    """

    name: str
    summary: str
    make: str | Maker
    extra: str | None = None
    rule: str = "strict"
    calibrated: bool = False
    needs_seeds: bool = True
    reads_literals: bool = False
    files: tuple[str, ...] = ()

    def maker(self) -> Maker:
        if callable(self.make):
            return self.make
        module, function = self.make.split(":")
        maker: Maker = getattr(import_module(module), function)
        return maker


def _baseline(name: str, summary: str) -> Entry:
    """A system that the ContEA paper compares itself with; each version's links stand alone."""
    module = name.replace("-", "_").replace("+", "_plus")
    make = f"everalign.methods.baselines.{module}:make"
    return Entry(name, summary, make, extra="neural", rule="latest")


METHODS: dict[str, Entry] = {
    entry.name: entry
    for entry in [
        Entry(
            "evidence",
            "matched neighbours as evidence, weighed by a learned judge; says why",
            "everalign.methods.evidence:make",
            rule="latest",
            calibrated=True,
            needs_seeds=False,
            reads_literals=True,
            files=ABOUT_NAMES,
        ),
        Entry(
            "contea",
            "graph neural network, fine-tuned at each update (ContEA, ISWC 2022)",
            "everalign.methods.contea:make",
            extra="neural",
        ),
        Entry(
            "combined",
            "evidence whose judge also weighs the vectors of ContEA",
            "everalign.methods.combined:make",
            extra="neural",
            rule="latest",
            calibrated=True,
            reads_literals=True,
            files=ABOUT_NAMES,
        ),
        Entry(
            "names",
            "translated or transliterated names compared by Levenshtein distance; learns nothing",
            "everalign.methods.naming:make_names",
            rule="latest",
            needs_seeds=False,
            reads_literals=True,
            files=ABOUT_NAMES,
        ),
        Entry(
            "contea-names",
            "ContEA that starts from the vectors of names",
            "everalign.methods.naming:make_contea_names",
            extra="neural",
            reads_literals=True,
            files=ABOUT_NAMES,
        ),
        Entry(
            "contea-names-union",
            "ContEA and names side by side",
            "everalign.methods.naming:make_union",
            extra="neural",
            reads_literals=True,
            files=ABOUT_NAMES,
        ),
        _baseline(
            "mtranse", "translations and a linear map between the graphs (IJCAI 2017); retrained"
        ),
        _baseline("gcn-align", "two graph convolutions (EMNLP 2018); retrained"),
        _baseline("aligne", "translations, swapped seeds, near negatives (IJCAI 2018); retrained"),
        _baseline("alinet", "neighbours and theirs, joined by a gate (AAAI 2020); retrained"),
        _baseline("ke-gcn", "convolution along the gradient of TransE (WWW 2021); retrained"),
        _baseline("dual-amn", "dual attention, normalised hard negatives (WWW 2021); retrained"),
        _baseline(
            "mean+", "mean of projected neighbours before Dual-AMN (IJCAI 2017); learned once"
        ),
        _baseline("lan+", "as mean+, weighted by rules and attention (AAAI 2019); learned once"),
        _baseline("dingal-o", "convolution with gates (AAAI 2021); learned once"),
    ]
}
GROUP = "everalign.methods"


def register(entry: Entry) -> None:
    """Add a method of your own, so that `make_method` knows it in this process."""
    METHODS[entry.name] = entry


def all_methods() -> dict[str, Entry]:
    """The registered methods, and those that installed packages bring."""
    return METHODS | {
        name: _load(point) for name, point in _installed().items() if name not in METHODS
    }


def entry_of(name: str) -> Entry:
    """The method of this name."""
    if name in METHODS:
        return METHODS[name]
    installed = _installed()
    if name not in installed:
        known = ", ".join(dict.fromkeys([*METHODS, *installed]))
        raise ConfigError(f"unknown method {name!r}; there are: {known}")
    return _load(installed[name])


def _installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def _load(point: EntryPoint) -> Entry:
    try:
        entry = point.load()
    except Exception as error:
        # The code is not ours: whatever it raises, its name helps the user most.
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"method {point.name!r} ({point.value}): {problem}") from error
    if not isinstance(entry, Entry) or entry.name != point.name:
        raise ConfigError(f"method {point.name!r}: {point.value} is no Entry of this name")
    return entry


def with_files_found(config: Config) -> Config:
    """The configuration with whole paths of the files that it names, from wherever it is used.

    A file that is not there is told.
    """
    found = {}
    for name in entry_of(config.method).files:
        path = config.settings.get(name)
        if path:
            found[name] = str(Path(path).absolute())
            if not Path(path).is_file():
                problem = f"{name!r} names a file that is not there: {path}"
                raise ConfigError(f"{config.method}: {problem}")
    return replace(config, settings={**config.settings, **found})


def make_method(config: Config) -> Method:
    """The method that a configuration names, with its settings."""
    entry = entry_of(config.method)
    try:
        return entry.maker()(config.settings, config.seed)
    except ModuleNotFoundError as error:
        if entry.extra is None:
            raise
        raise ConfigError(
            f"method {entry.name!r} needs {error.name}: pip install 'everalign[{entry.extra}]'"
        ) from error
