"""The compiled encoder is the plain formulas, values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import yardstick  # noqa: E402
from everalign.graph import Graph, UnionGraph, unite  # noqa: E402
from everalign.methods.neural.encoder import Encoder  # noqa: E402
from everalign.methods.neural.losses import alignment_loss  # noqa: E402


def twin_graphs(seed: int = 0) -> tuple[Graph, Graph]:
    rng = np.random.default_rng(seed)
    left = np.stack([rng.integers(0, 30, 90), rng.integers(0, 4, 90), rng.integers(0, 30, 90)], 1)
    right = np.stack(
        [rng.integers(0, 40, 120), rng.integers(0, 5, 120), rng.integers(0, 40, 120)], 1
    )
    return (
        Graph.empty().grown(left.astype(np.int32)),
        Graph.empty().grown(right.astype(np.int32)),
    )


@pytest.fixture
def both() -> tuple[UnionGraph, Encoder, yardstick.PlainContEA]:
    """The same parameters in the product's encoder and in the yardstick."""
    left, right = twin_graphs()
    union = unite(left, right)
    generator = torch.Generator().manual_seed(1)
    encoder = Encoder(
        union.nodes, 2 * union.relations, dim=100, depth=2, proxies=64, generator=generator
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


def test_all_nodes_get_the_vectors_of_the_formulas(
    both: tuple[UnionGraph, Encoder, yardstick.PlainContEA],
) -> None:
    union, encoder, plain = both
    found = encoder(union, np.arange(union.nodes, dtype=np.int32))
    torch.testing.assert_close(found, plain(), rtol=1e-4, atol=1e-5)


def test_some_nodes_get_the_same_vectors_as_all(
    both: tuple[UnionGraph, Encoder, yardstick.PlainContEA],
) -> None:
    union, encoder, plain = both
    some = np.array([3, 17, 41], dtype=np.int32)
    torch.testing.assert_close(
        encoder(union, some), plain()[torch.from_numpy(some)], rtol=1e-4, atol=1e-5
    )


def test_gradients_are_those_of_autograd(
    both: tuple[UnionGraph, Encoder, yardstick.PlainContEA],
) -> None:
    union, encoder, plain = both
    some = np.array([0, 5, 6, 33, 50], dtype=np.int32)
    direction = torch.randn(len(some), encoder.width, generator=torch.Generator().manual_seed(2))
    (encoder(union, some) * direction).sum().backward()
    (plain()[torch.from_numpy(some)] * direction).sum().backward()
    attention = torch.stack([v.grad[:, 0] for v in plain.attention]).reshape(2, 2, -1)
    for found, expected in [
        (encoder.entity.grad, plain.entity.grad),
        (encoder.relation.grad, plain.relation.grad),
        (encoder.attention.grad, attention),
        (encoder.gate.grad, torch.stack([g.grad for g in plain.gate])),
        (encoder.proxy.grad, torch.stack([p.grad for p in plain.proxy])),
    ]:
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-5)


def test_the_loss_and_its_gradients_are_those_of_the_formula() -> None:
    generator = torch.Generator().manual_seed(0)
    side, other, negatives = (
        torch.randn(rows, 8, generator=generator, requires_grad=True) for rows in (5, 5, 20)
    )
    own = torch.tensor([[0, 1], [2, 3], [4, 5], [6, 6], [7, 19]])

    def plain() -> Any:
        positive = (side - other).square().sum(1, keepdim=True)
        mask = torch.ones(5, 20)
        mask[torch.arange(5)[:, None], own] = 0
        excess = (positive - torch.cdist(side, negatives).square() + 2) * mask
        spread, mean = torch.std_mean(excess.detach(), dim=1, keepdim=True, correction=0)
        return torch.logsumexp(30 * (excess - mean) / spread + 10, 1).mean()

    found = alignment_loss(side, other, negatives, own)
    torch.testing.assert_close(found, plain())
    for mine, theirs in zip(
        torch.autograd.grad(found, [side, other, negatives]),
        torch.autograd.grad(plain(), [side, other, negatives]),
        strict=True,
    ):
        torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-4)
