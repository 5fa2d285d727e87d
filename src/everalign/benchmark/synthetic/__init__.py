"""Synthetic pairs of growing graphs with gold links, for the demo, tests and scale benchmarks.

`world` generates entities and facts, `views` renders them as two graphs with different schemas,
`labels` generates entity labels, and `sample` assigns IRIs, splits the gold links and writes the
files of a dataset.
"""

from __future__ import annotations

from everalign.benchmark.synthetic.config import SampleConfig
from everalign.benchmark.synthetic.sample import (
    Link,
    Sample,
    Triple,
    generate_sample,
    write_sample,
)

__all__ = ["Link", "Sample", "SampleConfig", "Triple", "generate_sample", "write_sample"]
