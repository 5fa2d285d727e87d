"""The name experiments of the ContEA paper (its Table 6): names alone, in ContEA, and both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from everalign.config import build
from everalign.methods.contea import ContEASettings
from everalign.methods.naming.settings import NameSettings
from everalign.methods.protocol import Method

__all__ = ["NameSettings", "make_contea_names", "make_names", "make_union"]


def make_names(settings: Mapping[str, Any], seed: int) -> Method:
    """Names alone."""
    from everalign.methods.naming.names import ByNames

    del seed  # nothing is left to chance
    return ByNames(build(NameSettings, settings, "names"))


def make_contea_names(settings: Mapping[str, Any], seed: int) -> Method:
    """ContEA that starts from name vectors."""
    from everalign.methods.naming.contea import NamedContEA

    return NamedContEA(*_both(settings, "contea-names"), seed)


def make_union(settings: Mapping[str, Any], seed: int) -> Method:
    """ContEA and names side by side."""
    from everalign.methods.naming.union import Union

    return Union(*_both(settings, "contea-names-union"), seed)


def _both(settings: Mapping[str, Any], origin: str) -> tuple[NameSettings, ContEASettings]:
    of_names = {entry.name for entry in fields(NameSettings)}
    one = {name: value for name, value in settings.items() if name in of_names}
    two = {name: value for name, value in settings.items() if name not in of_names}
    return build(NameSettings, one, origin), build(ContEASettings, two, origin)
