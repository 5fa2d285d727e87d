"""Compiled distances and their gradients, compared with PyTorch's own."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from everalign.methods.baselines.losses import compute_distances  # noqa: E402


@pytest.mark.parametrize("power", [1, 2])
def test_distances_and_gradients_match_the_formula(power: int) -> None:
    generator = torch.Generator().manual_seed(0)
    queries = torch.randn(5, 120, generator=generator, requires_grad=True)
    table = torch.randn(7, 120, generator=generator, requires_grad=True)
    index = torch.randint(0, 7, (5, 4), generator=generator)
    weight = torch.randn(5, 4, generator=generator).relu()  # some have no gradient
    expected_distances = (queries[:, None] - table[index]).abs().pow(power).sum(2)
    expected = torch.autograd.grad((expected_distances * weight).sum(), [queries, table])
    found = compute_distances(queries, table, index, power)
    assert torch.allclose(found, expected_distances, rtol=1e-5)
    for found_grad, expected_grad in zip(
        torch.autograd.grad((found * weight).sum(), [queries, table]), expected, strict=True
    ):
        assert torch.allclose(found_grad, expected_grad, rtol=1e-4, atol=1e-5)


def test_a_row_may_be_compared_with_itself() -> None:
    rows = torch.tensor([[1.0, 2.0], [4.0, 6.0]], requires_grad=True)
    distances = compute_distances(rows, rows, torch.tensor([[0, 1], [0, 1]]), 1)
    assert distances.tolist() == [[0.0, 7.0], [7.0, 0.0]]
    torch.autograd.backward(distances.sum())
    assert rows.grad.tolist() == [[-2.0, -2.0], [2.0, 2.0]]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_gradients_do_not_depend_on_the_number_of_threads(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(50, 130, generator=generator, requires_grad=True)
    index = torch.randint(0, 50, (50, 30), generator=generator)
    first = torch.autograd.grad(compute_distances(rows, rows, index, 2).sum(), rows)[0]
    monkeypatch.setenv("EVERALIGN_THREADS", threads)
    again = torch.autograd.grad(compute_distances(rows, rows, index, 2).sum(), rows)[0]
    assert torch.equal(first, again)
