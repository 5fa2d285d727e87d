"""Every method there is, also those of installed packages, with settings that make it quick."""

from __future__ import annotations

import pytest

from everalign.config import Config
from everalign.methods import get_method_entry, list_methods

QUICK_CONTEA = {"dim": 8, "proxies": 4, "negatives": 64, "max_epochs": 4, "update_max_epochs": 2}
QUICK_BASELINE = {"dim": 8, "max_epochs": 4, "validate_every": 2}
QUICK_ENCODER = {**QUICK_BASELINE, "proxies": 4, "negatives": 64}
QUICK = {
    "contea": QUICK_CONTEA,
    "combined": QUICK_CONTEA,
    "contea-names": QUICK_CONTEA,
    "contea-names-union": QUICK_CONTEA,
    "mtranse": QUICK_BASELINE,
    "aligne": {**QUICK_BASELINE, "refresh_every": 2},
    "dual-amn": QUICK_ENCODER,
    "mean+": QUICK_ENCODER,
    "lan+": QUICK_ENCODER,
    "dingal-o": QUICK_BASELINE,
    "gcn-align": QUICK_BASELINE,
    "alinet": QUICK_BASELINE,
    "ke-gcn": QUICK_BASELINE,
}


@pytest.fixture(scope="module", params=list_methods())
def config(request: pytest.FixtureRequest) -> Config:
    if get_method_entry(request.param).extra == "neural":
        pytest.importorskip("torch")
    return Config(method=request.param, settings=QUICK.get(request.param, {}))
