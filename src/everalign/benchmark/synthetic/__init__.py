"""Synthetic pairs of growing graphs with gold links, for the demo, tests and scale benchmarks.

`world` generates entities and facts, `views` renders them as two graphs with different schemas,
`labels` generates entity labels, `sample` assigns IRIs and splits the gold links, and `files`
writes them as a dataset, whose lines `lines` formats.
"""

from __future__ import annotations

from everalign.benchmark.synthetic.config import SampleConfig
from everalign.benchmark.synthetic.files import write_sample
from everalign.benchmark.synthetic.lines import TripleFormat
from everalign.benchmark.synthetic.sample import Link, Sample, Triple, generate_sample

__all__ = [
    "Link",
    "Sample",
    "SampleConfig",
    "Triple",
    "TripleFormat",
    "generate_sample",
    "write_sample",
]
