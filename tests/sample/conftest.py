from __future__ import annotations

import pytest

from everalign.sample import Sample, SampleConfig, generate


@pytest.fixture(scope="session")
def sample() -> Sample:
    """The sample of the default config."""
    return generate(SampleConfig())


@pytest.fixture(scope="session")
def small_sample() -> Sample:
    return generate(SampleConfig(triples=2_000, snapshots=3))
