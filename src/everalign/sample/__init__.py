"""Generated twin graphs: two differently built graphs of one invented world that grow.

For the demo, the tests and the scale benchmarks. `schema` says what is in the world, `world`
invents it, `growth` says what comes when, `views` and `render` tell it as either side would,
`names` labels it, `side` gives it strings, `generate` links the sides and `layout` writes files.
"""

from __future__ import annotations

from everalign.sample.config import SampleConfig
from everalign.sample.generate import Link, Sample, generate
from everalign.sample.layout import write_sample
from everalign.sample.side import Triple

__all__ = ["Link", "Sample", "SampleConfig", "Triple", "generate", "write_sample"]
