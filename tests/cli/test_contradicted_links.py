"""Given links that contradict their neighbourhood, as commands show them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from everalign import Aligner, Config
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.cli.main import everalign
from everalign.methods.evidence.config import EvidenceParameters

SAMPLE = generate_sample(SampleConfig(triples=40_000, snapshots=1, seed=6))
RIGHT = dict(SAMPLE.seeds)
WRONG = [left for left, _ in SAMPLE.seeds][::5]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated alignment; each fifth given link has the right entity of another one."""
    partners = dict(zip(WRONG, [RIGHT[left] for left in [*WRONG[1:], WRONG[0]]], strict=True))
    seeds = [(left, partners.get(left, right)) for left, right in SAMPLE.seeds]
    path = tmp_path_factory.mktemp("contradicted") / "my.state"
    Aligner.create(
        path, SAMPLE.left(0), SAMPLE.right(0), seeds, config=Config(names_from_iris=False)
    )
    return path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(everalign, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_status_counts_them_and_lists_the_worst(state: Path) -> None:
    status = Aligner.open(state).status()
    assert status.contradicted_count >= 0.4 * len(WRONG)
    assert len(status.contradicted_links) == 10
    limit = EvidenceParameters().max_wrong_probability
    assert all(link.probability <= limit for link in status.contradicted_links)
    assert f"{status.contradicted_count} given links" in run("status", str(state))
    shown = json.loads(run("status", str(state), "--json"))
    assert shown["contradicted_count"] == status.contradicted_count


def test_all_are_listed_with_their_rivals(state: Path) -> None:
    links = json.loads(run("status", str(state), "--contradicted-links", "--json"))
    found = {link["left"]: link for link in links}
    known = set(WRONG) & found.keys()
    assert len(known) >= 0.4 * len(WRONG)
    assert len(found) <= 1.1 * len(known)
    for left in known:
        link = found[left]
        assert link["rival_left"] == left or link["rival_right"] == link["right"]
        assert link["support"] < link["rival_support"]
    some = Aligner.open(state).contradicted_links()[0]
    assert some.right in run("status", str(state), "--contradicted-links")


def test_explain_says_it_and_they_stay_links(state: Path) -> None:
    link = Aligner.open(state).contradicted_links()[0]
    doubted = {other.left for other in Aligner.open(state).contradicted_links()}
    sure = next(left for left in RIGHT if left not in WRONG and left not in doubted)
    output = run("explain", str(state), link.left)
    assert f"link {link.left} – {link.right}, given" in output
    assert "contradicted: right with a probability of 0." in output
    assert "contradicted" not in run("explain", str(state), sure)


def test_a_withdrawn_link_is_no_longer_contradicted(state: Path) -> None:
    aligner = Aligner.open(state)
    count, link = aligner.status().contradicted_count, aligner.contradicted_links()[0]
    aligner.withdraw([(link.left, link.right)])
    aligner.update()
    status = aligner.status()
    assert status.contradicted_count < count
    assert link.left not in {other.left for other in aligner.contradicted_links()}
