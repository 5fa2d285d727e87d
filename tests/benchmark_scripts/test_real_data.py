"""The measurement of real data: on small tables in the form of real ones, and on these."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

import real_data
from everalign.config import Config
from everalign.io import Triple

SCRIPT = Path(real_data.__file__)
REAL_DATA = SCRIPT.parents[2] / "shared" / "data" / "real"
COUNT = 60


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two lists of products with the files of Abt-Buy, and which of them are the same."""
    directory = tmp_path_factory.mktemp("real")
    (directory / "abt-buy").mkdir()
    rng = random.Random(0)
    makers, kinds = ["Sony", "Bose", "Canon", "Linksys"], ["camera", "speaker", "switch", "lens"]
    products = [
        (rng.choice(makers), rng.choice(kinds), f"{rng.choice('ABCX')}{number * 37 + 100}")
        for number in range(COUNT)
    ]
    left = [f"{100 + n},{m} {k} {code}" for n, (m, k, code) in enumerate(products)]
    right = [f"{900 + n},{k} {code} by {m}" for n, (m, k, code) in enumerate(products)]
    rng.shuffle(right)
    gold = [f"{100 + n},{900 + n}" for n in range(COUNT)]
    pair = real_data.PAIRS["abt-buy"]
    for path, header, lines in (
        (pair.left, "id,name", left),
        (pair.right, "id,name", right),
        (pair.gold, "idAbt,idBuy", gold),
    ):
        (directory / path).write_text("\n".join([header, *lines, ""]), encoding="utf-8")
    return directory


def test_the_shuffle_changes_the_order_alone(tables: Path) -> None:
    pair = real_data.PAIRS["abt-buy"]
    first, again, other = (
        real_data.read_pair(tables, pair, random.Random(seed)) for seed in (0, 0, 1)
    )
    assert first == again
    assert first[0] != other[0]
    assert sorted(first[0]) == sorted(other[0])
    assert first[2] == other[2]
    assert len(first[2]) == COUNT


INSTANCES: list[Triple] = [
    (f"http://x.org/restaurant1-Address{n}", relation, value)
    for n in range(20)
    for relation, value in ((real_data.TYPE, "http://x.org/Address"), ("street", f'"Street {n}"'))
]


@pytest.mark.parametrize(
    "rename", [real_data.hash_names, real_data.renumber_names, real_data.misname]
)
def test_every_instance_gets_another_name_of_its_own(rename: real_data.Renaming) -> None:
    new_names = rename(INSTANCES, random.Random(0))
    assert new_names.keys() == {head for head, _, _ in INSTANCES}
    assert len(set(new_names.values())) == len(new_names)
    assert not new_names.keys() & set(new_names.values())


def test_trusted_links_are_a_fifth_of_the_gold_links() -> None:
    cases = real_data.list_cases(repeats=2, held_back=True)
    assert {case["seeds"] for case in cases} == {0, real_data.SEED_SHARE}
    assert len({tuple(case.items()) for case in cases}) == len(cases)


@pytest.mark.slow
def test_an_update_is_measured_beside_a_fresh_start(tables: Path) -> None:
    row = real_data.measure_pair(
        tables, Config(), pair="abt-buy", seeds=0.2, draw=0, shuffle=0, held_back=True
    )
    # Gold links of entities that are held back count as missed at first.
    assert row["before"]["gold"] == row["updated"]["gold"] == row["full"]["gold"]
    assert row["before"]["correct"] < row["full"]["correct"]
    assert row["full"]["f1"] > 0.9


@pytest.mark.slow
def test_the_result_file_has_a_row_for_each_case(tables: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    options = ["--pairs", "abt-buy", "--repeats", "1", "--json", str(out)]
    subprocess.run([sys.executable, str(SCRIPT), str(tables), *options], check=True, timeout=240)
    rows = json.loads(out.read_text())["rows"]
    assert [(row["pair"], row["seeds"]) for row in rows] == [("abt-buy", 0), ("abt-buy", 0.2)]
    assert all(row["f1"] > 0.9 for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("pair", real_data.PAIRS)
def test_the_real_files_are_read_as_the_measurement_expects(pair: str) -> None:
    if not REAL_DATA.is_dir():
        pytest.skip("needs the real data in ../shared/data/real")
    left, right, gold = real_data.read_pair(REAL_DATA, real_data.PAIRS[pair], random.Random(0))
    for statements, entities in zip((left, right), zip(*gold, strict=True), strict=True):
        known = {head for head, _, _ in statements}
        assert len(known & set(entities)) > 0.9 * len(set(entities))
