"""The compiled encoder and loss give the values and gradients of the plain formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import yardstick  # noqa: E402
from everalign.graph import Graph, UnionGraph, build_union_graph  # noqa: E402
from everalign.methods.neural.encoder import Encoder  # noqa: E402
from everalign.methods.neural.operators import compute_alignment_loss  # noqa: E402


def twin_graphs(seed: int = 0) -> tuple[Graph, Graph]:
    rng = np.random.default_rng(seed)
    left = np.stack([rng.integers(0, 30, 90), rng.integers(0, 4, 90), rng.integers(0, 30, 90)], 1)
    right = np.stack(
        [rng.integers(0, 40, 120), rng.integers(0, 5, 120), rng.integers(0, 40, 120)], 1
    )
    return (
        Graph.empty().with_triples(left.astype(np.int32)),
        Graph.empty().with_triples(right.astype(np.int32)),
    )


@pytest.fixture
def encoders() -> tuple[UnionGraph, Encoder, yardstick.PlainContEA]:
    """The same parameters in the product's encoder and in the yardstick."""
    left, right = twin_graphs()
    union = build_union_graph(left, right)
    generator = torch.Generator().manual_seed(1)
    encoder = Encoder(
        union.node_count,
        2 * union.relation_count,
        dim=100,
        depth=2,
        proxies=64,
        generator=generator,
    )
    plain = yardstick.PlainContEA(left, right)
    with torch.no_grad():
        plain.entity.copy_(encoder.entity)
        plain.relation.copy_(encoder.relation)
        for branch in range(2):
            for depth in range(2):
                plain.attention[2 * branch + depth][:, 0] = encoder.attention[branch, depth]
            plain.proxy[branch].copy_(encoder.proxy[branch])
            plain.gate[branch].copy_(encoder.gate[branch])
            plain.bias[branch].copy_(encoder.bias[branch])
    return union, encoder, plain


def test_vectors_of_all_nodes_match_the_formulas(
    encoders: tuple[UnionGraph, Encoder, yardstick.PlainContEA],
) -> None:
    union, encoder, plain = encoders
    found = encoder(union, np.arange(union.node_count, dtype=np.int32))
    torch.testing.assert_close(found, plain(), rtol=1e-4, atol=1e-5)


def test_vectors_of_some_nodes_match_those_of_all(
    encoders: tuple[UnionGraph, Encoder, yardstick.PlainContEA],
) -> None:
    union, encoder, plain = encoders
    nodes = np.array([3, 17, 41], dtype=np.int32)
    torch.testing.assert_close(
        encoder(union, nodes), plain()[torch.from_numpy(nodes)], rtol=1e-4, atol=1e-5
    )


def test_gradients_match_autograd(
    encoders: tuple[UnionGraph, Encoder, yardstick.PlainContEA],
) -> None:
    union, encoder, plain = encoders
    nodes = np.array([0, 5, 6, 33, 50], dtype=np.int32)
    direction = torch.randn(len(nodes), encoder.width, generator=torch.Generator().manual_seed(2))
    (encoder(union, nodes) * direction).sum().backward()
    (plain()[torch.from_numpy(nodes)] * direction).sum().backward()
    attention = torch.stack([v.grad[:, 0] for v in plain.attention]).reshape(2, 2, -1)
    for found, expected in [
        (encoder.entity.grad, plain.entity.grad),
        (encoder.relation.grad, plain.relation.grad),
        (encoder.attention.grad, attention),
        (encoder.gate.grad, torch.stack([g.grad for g in plain.gate])),
        (encoder.proxy.grad, torch.stack([p.grad for p in plain.proxy])),
    ]:
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_alignment_loss_and_gradients_match_the_formula() -> None:
    generator = torch.Generator().manual_seed(0)
    anchors, partners, negatives = (
        torch.randn(rows, 8, generator=generator, requires_grad=True) for rows in (5, 5, 20)
    )
    members = torch.tensor([[0, 1], [2, 3], [4, 5], [6, 6], [7, 19]])

    def compute_plain_loss() -> Any:
        positive = (anchors - partners).square().sum(1, keepdim=True)
        mask = torch.ones(5, 20)
        mask[torch.arange(5)[:, None], members] = 0
        excess = (positive - torch.cdist(anchors, negatives).square() + 2) * mask
        deviation, mean = torch.std_mean(excess.detach(), dim=1, keepdim=True, correction=0)
        return torch.logsumexp(30 * (excess - mean) / deviation + 10, 1).mean()

    found = compute_alignment_loss(anchors, partners, negatives, members)
    torch.testing.assert_close(found, compute_plain_loss())
    for found_grad, expected_grad in zip(
        torch.autograd.grad(found, [anchors, partners, negatives]),
        torch.autograd.grad(compute_plain_loss(), [anchors, partners, negatives]),
        strict=True,
    ):
        torch.testing.assert_close(found_grad, expected_grad, rtol=1e-3, atol=1e-4)
