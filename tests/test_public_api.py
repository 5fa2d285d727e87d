"""The public names of the package, and the documentation of what methods receive."""

from __future__ import annotations

import dataclasses
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import everalign
from everalign import types
from everalign.methods import AlignmentTask, MethodEntry

METHODS_PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "methods.md"


@pytest.mark.parametrize("name", everalign.__all__)
def test_every_public_name_can_be_imported_and_is_documented(name: str) -> None:
    value = getattr(everalign, name)
    assert name == "__version__" or inspect.getdoc(value)
    assert name in dir(everalign)


def test_every_type_that_callers_receive_is_public() -> None:
    received = {name for name, value in vars(types).items() if dataclasses.is_dataclass(value)}
    assert received <= set(everalign.__all__)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Alinger'"):
        _ = everalign.Alinger


@pytest.mark.parametrize(
    ("kind", "heading"),
    [(AlignmentTask, "## What an `AlignmentTask` holds"), (MethodEntry, "## The registry")],
)
def test_the_page_about_methods_has_every_field(kind: type, heading: str) -> None:
    section = METHODS_PAGE.read_text(encoding="utf-8").split(heading)[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    documented = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    fields = [field.name for field in dataclasses.fields(kind)]
    assert documented == sorted(fields, key=documented.index)


@pytest.mark.parametrize(
    "kind",
    [value for value in vars(types).values() if dataclasses.is_dataclass(value)]
    + [AlignmentTask, MethodEntry, everalign.ChangeSet, everalign.Config],
)
def test_every_field_of_a_public_dataclass_is_documented(kind: type) -> None:
    described = set(re.findall(r"^    (\w+): ", inspect.getdoc(kind) or "", re.MULTILINE))
    assert {field.name for field in dataclasses.fields(kind)} <= described


def test_what_reads_links_or_decides_loads_no_compiler() -> None:
    """Numba alone takes longer to load than most commands run."""
    code = "import sys, everalign.aligner, everalign.cli.main; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"
