"""Compiled code indexes no array out of its bounds: all kernels, compiled with numba's check."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Kernels of the archive are compiled without the check.
CHECKED = """
import sys
from pathlib import Path
from everalign import Aligner, _numba
from everalign.benchmark.synthetic import SampleConfig, generate_sample

_numba.open_archive = lambda: None
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
sample = generate_sample(SampleConfig(triples=3000, snapshots=2))
labels = [
    [(entity, LABEL, f'"{name}"') for entity, name in names]
    for names in (sample.left_labels(), sample.right_labels())
]
for number, (left, right) in enumerate((([], []), labels)):
    path = Path(sys.argv[1]) / f"{number}.state"
    Aligner.create(path, [*sample.left(0), *left], [*sample.right(0), *right], sample.seeds)
    aligner = Aligner.open(path)
    aligner.update(left=sample.left(1)[:20], right=sample.right(1)[:20])
    aligner.update(left=sample.left(1), right=sample.right(1))
    assert list(aligner.links())
"""


@pytest.mark.slow
@pytest.mark.long
def test_no_index_is_out_of_bounds(tmp_path: Path) -> None:
    environment = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
    command = [sys.executable, "-c", CHECKED, str(tmp_path)]
    done = subprocess.run(command, env=os.environ | environment, check=False, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
