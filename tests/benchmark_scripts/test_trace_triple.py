"""One triple is followed through the package."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import everalign
import trace_triple


def test_the_examples_are_true() -> None:
    failed, tried = doctest.testmod(trace_triple)
    assert (tried > 0, failed) == (True, 0)


@pytest.mark.slow
@pytest.mark.long
def test_an_update_is_traced() -> None:
    trace = trace_triple.trace_update(Path(everalign.__file__).parents[1], triples=1000)
    row = trace_triple.summarise(trace)
    names = {name for _, _, name in trace["functions"]}
    assert "update" in names
    assert not any(name.startswith("<") and name != "<lambda>" for name in names)
    assert row["functions"] > row["switches_of_file"] >= row["files"] - 1
    assert row["switches_of_file"] >= row["switches_of_package"] > 0
    assert row["calls"] >= row["functions"]
    assert row["selects_from_names"] >= row["name_lists_read"] > 0
    assert row["array_reads"] > 0
    assert row["digests"] > 0
