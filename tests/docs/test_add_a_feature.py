"""The page "Add a feature": its entry, put into the list, is one more column of the classifier."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import DOCS, ROOT, blocks

PAGE = DOCS / "concepts" / "add-a-feature.md"
LAST_PAIR_FEATURE = "np.minimum(p.left.support_margin, p.right.support_margin)),\n"
CHECK = """
import numpy as np
from everalign.methods.evidence.features import (
    COMPARABLE, FEATURES, GROUP_COLUMNS, PAIR, SHARED, PairInputs, SideInputs
)

def make_side(shared):
    row = np.zeros((1, 8), dtype=np.float32)
    row[0, SHARED], row[0, COMPARABLE] = shared, 4
    nothing = np.zeros(1, dtype=np.float32)
    return SideInputs(row, np.array([4]), np.zeros((1, 4)), nothing, nothing)

assert GROUP_COLUMNS[PAIR][-1] == "max_shared_ratio"
(feature,) = [feature for feature in FEATURES if feature.name == "max_shared_ratio"]
print(feature.compute(PairInputs(make_side(1), make_side(3))))
"""


def test_the_entry_of_the_page_is_a_feature(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "everalign", tmp_path / "everalign", ignore=ignored)
    file = tmp_path / "everalign" / "methods" / "evidence" / "features.py"
    text = file.read_text(encoding="utf-8")
    assert text.count(LAST_PAIR_FEATURE) == 1
    (entry,) = blocks(PAGE, "python")
    added = f"{LAST_PAIR_FEATURE}{entry.rstrip()},\n"
    file.write_text(text.replace(LAST_PAIR_FEATURE, added), encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", CHECK],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout == "[0.75]\n"
