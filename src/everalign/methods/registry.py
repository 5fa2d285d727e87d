"""The registered methods by name. The code of a method is imported when one is created.

Other packages add methods by entry points of the group `everalign.methods`: the name of a method,
and where its `MethodEntry` is.
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
from everalign.methods.base import Method

MethodFactory: TypeAlias = Callable[[Mapping[str, Any], int], Method]

NAME_FILE_SETTINGS = ("translations", "left_vectors", "right_vectors")


@dataclass(frozen=True)
class MethodEntry:
    """A registered method.

    Args:
        name: What the configuration calls it.
        summary: One line for `everalign methods`.
        factory: Called with settings and a random seed; `module:function`, or a function.
        extra: The optional dependencies it needs, as in `pip install everalign[extra]`.
        merge_rule: How found links and links in force are merged, unless the configuration says.
        calibrated: Whether scores are probabilities.
        needs_seeds: Whether it cannot start without trusted links.
        reads_literals: Whether it looks at literals as well as triples.
        file_settings: Which of its settings name files.
        any_cardinality: Whether it follows the cardinality of the task; others find one-to-one
            links only.
    """

    name: str
    summary: str
    factory: str | MethodFactory
    extra: str | None = None
    merge_rule: str = "best"
    calibrated: bool = False
    needs_seeds: bool = True
    reads_literals: bool = False
    file_settings: tuple[str, ...] = ()
    any_cardinality: bool = False

    def load_factory(self) -> MethodFactory:
        """Import the factory.

        Returns:
            A function of settings and a random seed that creates the method.
        """
        if callable(self.factory):
            return self.factory
        module, function = self.factory.split(":")
        factory: MethodFactory = getattr(import_module(module), function)
        return factory


def _describe_baseline(name: str, summary: str) -> MethodEntry:
    """Describe a baseline of the ContEA paper; it finds the links of each version anew."""
    module = name.replace("-", "_").replace("+", "_plus")
    make = f"everalign.methods.baselines.{module}:make"
    return MethodEntry(name, summary, make, extra="neural", merge_rule="latest")


# Factories are texts, so that listing the methods imports neither PyTorch nor LightGBM.
METHODS: dict[str, MethodEntry] = {
    entry.name: entry
    for entry in [
        MethodEntry(
            "evidence",
            "relational and literal evidence, scored by a trained classifier; explains its links",
            "everalign.methods.evidence:make",
            merge_rule="latest",
            calibrated=True,
            needs_seeds=False,
            reads_literals=True,
            file_settings=NAME_FILE_SETTINGS,
            any_cardinality=True,
        ),
        MethodEntry(
            "contea",
            "graph neural network, fine-tuned at each update (ContEA, ISWC 2022)",
            "everalign.methods.contea:make",
            extra="neural",
        ),
        MethodEntry(
            "combined",
            "evidence whose classifier also uses the embeddings of ContEA",
            "everalign.methods.combined:make",
            extra="neural",
            merge_rule="latest",
            calibrated=True,
            reads_literals=True,
            file_settings=NAME_FILE_SETTINGS,
            any_cardinality=True,
        ),
        MethodEntry(
            "names",
            "translated or transliterated names compared by Levenshtein distance; no training",
            "everalign.methods.names:make_names",
            merge_rule="latest",
            needs_seeds=False,
            reads_literals=True,
            file_settings=NAME_FILE_SETTINGS,
        ),
        MethodEntry(
            "contea-names",
            "ContEA initialised with embeddings of names",
            "everalign.methods.names:make_contea_names",
            extra="neural",
            reads_literals=True,
            file_settings=NAME_FILE_SETTINGS,
        ),
        MethodEntry(
            "contea-names-union",
            "union of the links of ContEA and of names",
            "everalign.methods.names:make_union",
            extra="neural",
            reads_literals=True,
            file_settings=NAME_FILE_SETTINGS,
        ),
        _describe_baseline(
            "mtranse",
            "translation-based embeddings and a linear map between them (IJCAI 2017); retrained",
        ),
        _describe_baseline("gcn-align", "two graph convolutional layers (EMNLP 2018); retrained"),
        _describe_baseline(
            "aligne",
            "TransE-like embeddings, seed swapping, truncated negatives (IJCAI 2018); retrained",
        ),
        _describe_baseline(
            "alinet", "gated aggregation of one- and two-hop neighbours (AAAI 2020); retrained"
        ),
        _describe_baseline(
            "ke-gcn",
            "graph convolution with relation embeddings, TransE score (WWW 2021); retrained",
        ),
        _describe_baseline(
            "dual-amn", "dual attention matching, hard negatives (WWW 2021); retrained"
        ),
        _describe_baseline(
            "mean+",
            "mean aggregation for unseen entities before Dual-AMN (IJCAI 2017); trained once",
        ),
        _describe_baseline(
            "lan+", "as mean+, with rule and attention weights (AAAI 2019); trained once"
        ),
        _describe_baseline("dingal-o", "gated graph convolution (AAAI 2021); trained once"),
    ]
}
ENTRY_POINT_GROUP = "everalign.methods"


def register_method(entry: MethodEntry) -> None:
    """Register a method in this process.

    Args:
        entry: The method; replaces one of the same name.

    Example:
        >>> register_method(MethodEntry("mine", "an example", "my_package:create"))
        >>> METHODS.pop("mine").summary
        'an example'
    """
    METHODS[entry.name] = entry


def list_methods() -> dict[str, MethodEntry]:
    """List the registered methods and those of installed packages.

    Returns:
        Methods by name.

    Raises:
        ConfigError: A method of an installed package cannot be loaded.
    """
    return METHODS | {
        name: _load_entry(point)
        for name, point in _find_entry_points().items()
        # Methods of this package come first: an installed one cannot replace them unnoticed.
        if name not in METHODS
    }


def get_method_entry(name: str) -> MethodEntry:
    """Find a method.

    Args:
        name: The name of a method.

    Returns:
        Its entry.

    Raises:
        ConfigError: There is no such method, or it cannot be loaded.
    """
    # Entry points are read only for other names: it takes a look at every installed package.
    if name in METHODS:
        return METHODS[name]
    installed = _find_entry_points()
    if name not in installed:
        known = ", ".join(dict.fromkeys([*METHODS, *installed]))
        raise ConfigError(f"unknown method {name!r}; choose from {known}")
    return _load_entry(installed[name])


def _find_entry_points() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=ENTRY_POINT_GROUP)}


def _load_entry(point: EntryPoint) -> MethodEntry:
    try:
        entry = point.load()
    except Exception as error:
        # The code is not ours: whatever it raises, its name helps the user most.
        problem = f"{type(error).__name__}: {error}"
        raise ConfigError(f"method {point.name!r} ({point.value}): {problem}") from error
    if not isinstance(entry, MethodEntry) or entry.name != point.name:
        raise ConfigError(
            f"method {point.name!r}: {point.value} is not a MethodEntry of this name"
        )
    return entry


def resolve_file_settings(config: Config) -> Config:
    """Make the paths of files in the settings absolute, so that later commands find them.

    Args:
        config: Settings as a user gives them.

    Returns:
        The configuration with absolute paths.

    Raises:
        ConfigError: A file does not exist.
    """
    absolute = {}
    for name in get_method_entry(config.method).file_settings:
        path = config.settings.get(name)
        if path:
            # Kept in the state, which may be used from another directory.
            absolute[name] = str(Path(path).absolute())
            if not Path(path).is_file():
                raise ConfigError(f"{config.method}: file of {name!r} does not exist: {path}")
    return replace(config, settings={**config.settings, **absolute})


def create_method(config: Config) -> Method:
    """Create the method that a configuration names.

    Args:
        config: Method, random seed and settings.

    Returns:
        A method that has learned nothing yet.

    Raises:
        ConfigError: The method or a setting does not exist, or an optional dependency is missing.
    """
    entry = get_method_entry(config.method)
    try:
        return entry.load_factory()(config.settings, config.seed)
    except ModuleNotFoundError as error:
        # Without an extra there is nothing to advise: the error itself names what is missing.
        if entry.extra is None:
            raise
        raise ConfigError(
            f"method {entry.name!r} needs {error.name}: pip install 'everalign[{entry.extra}]'"
        ) from error
