"""The kinds of arrays that the sample is computed with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Numbers of entities, relations or snapshots: one per row, or a table of them."""
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
