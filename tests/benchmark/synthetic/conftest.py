from __future__ import annotations

import pytest

from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample


@pytest.fixture(scope="session")
def sample() -> Sample:
    """The sample of the default config."""
    return generate_sample(SampleConfig())


@pytest.fixture(scope="session")
def small_sample() -> Sample:
    return generate_sample(SampleConfig(triples=2_000, snapshots=3))
