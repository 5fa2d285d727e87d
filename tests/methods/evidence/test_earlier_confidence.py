"""What a training takes from a confidence, and what it must not leave."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from everalign import Aligner, ChangeSet, Config
from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample
from everalign.methods.evidence.candidate_store import CandidateStore
from everalign.methods.evidence.config import EvidenceParameters

EARLIER = "earlier confidence"


def build_store(support: list[float], confidence: list[float]) -> CandidateStore:
    """Candidates (0, 0), (1, 1), … with their support and confidence."""
    ids = np.arange(len(support), dtype=np.int32)
    zeros = np.zeros(len(ids), dtype=np.float32)
    columns = {
        "support": np.array(support, dtype=np.float32),
        "confidence": np.array(confidence, dtype=np.float32),
        "earlier_confidence": zeros,
    }
    return CandidateStore.from_columns(ids, ids, columns, (len(ids), len(ids)))


def test_only_pairs_that_have_kept_their_evidence_keep_their_confidence() -> None:
    before = build_store([1.0, 1.0, 1.0], [0.8, 0.7, 0.6])
    now = build_store([2.0, 0.91, 0.89, 1.0], [0.1] * 4)
    now.keep_earlier(before, 0.9)
    # The last one is of an entity that has come since.
    kept = now.get_earlier_confidence(now.list_all().row)
    assert kept.tolist() == pytest.approx([0.8, 0.7, 0, 0])


@pytest.fixture(scope="module")
def sample() -> Sample:
    return generate_sample(SampleConfig(triples=6000, snapshots=2, growth=0.3, seed=3))


@pytest.fixture
def aligner(sample: Sample, tmp_path: Path) -> Aligner:
    return Aligner.create(
        tmp_path / "state", sample.left(0), sample.right(0), sample.seeds,
        sample.validation_links, Config(),
    )  # fmt: skip


def list_kept(aligner: Aligner) -> dict[tuple[str, str], float]:
    """The found links of which some confidence is kept, and how much."""
    kept = {}
    for link in aligner.links():
        if link.origin != "found":
            continue
        candidate = next(
            row
            for row in aligner.explain(link.left).sides[0].candidates
            if row.right == link.right
        )
        parts = {part.group: part.value for part in candidate.contributions}
        assert sum(parts.values()) == pytest.approx(candidate.confidence, abs=1e-6)
        if parts[EARLIER] > 1e-6:
            kept[link.left, link.right] = parts[EARLIER]
    return kept


def test_a_training_takes_a_part_and_a_full_pass_no_more(aligner: Aligner, sample: Sample) -> None:
    before = {(link.left, link.right): link.score for link in aligner.links()}
    aligner.update(sample.left(1), sample.right(1))
    assert aligner.status().reports[-1].trained
    kept = list_kept(aligner)
    assert kept
    now = {(link.left, link.right): link.score for link in aligner.links()}
    weight = EvidenceParameters().earlier_weight
    for pair, part in kept.items():
        taken = before[pair] - now[pair]
        assert weight * taken == pytest.approx((1 - weight) * part, abs=0.02)
    # A full pass takes the place of the training: a part of what was before that one is kept.
    aligner.update(full=True)
    assert all(pair in before for pair in list_kept(aligner))
    links = {(link.left, link.right): link.score for link in aligner.links()}
    aligner.update(full=True)
    assert {(link.left, link.right): link.score for link in aligner.links()} == links


def test_without_a_training_since_the_first_a_full_pass_keeps_no_confidence(
    aligner: Aligner,
) -> None:
    links = {(link.left, link.right): link.score for link in aligner.links()}
    aligner.update(full=True)
    assert {(link.left, link.right): link.score for link in aligner.links()} == links
    assert not list_kept(aligner)


def test_a_pair_without_its_evidence_does_not_linger(aligner: Aligner, sample: Sample) -> None:
    aligner.update(sample.left(1), sample.right(1))
    kept = list_kept(aligner)
    triples = [*sample.left(0), *sample.left(1)]
    facts = {left: [fact for fact in triples if left in (fact[0], fact[2])] for left, _ in kept}
    # One of many facts is less than half of the evidence.
    left, right = max(kept, key=lambda pair: (len(facts[pair[0]]), kept[pair]))
    aligner.update(change=ChangeSet(removed_left=facts[left][1:]))
    assert (left, right) not in list_kept(aligner)
