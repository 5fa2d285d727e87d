"""Distances of rows and what learns from them, beside PyTorch's own on the same numbers."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from everalign.methods.baselines.apart import apart  # noqa: E402


@pytest.mark.parametrize("power", [1, 2])
def test_distances_and_gradients_are_those_of_the_formula(power: int) -> None:
    generator = torch.Generator().manual_seed(0)
    asking = torch.randn(5, 120, generator=generator, requires_grad=True)
    answers = torch.randn(7, 120, generator=generator, requires_grad=True)
    place = torch.randint(0, 7, (5, 4), generator=generator)
    weight = torch.randn(5, 4, generator=generator).relu()  # some teach nothing
    wanted = (asking[:, None] - answers[place]).abs().pow(power).sum(2)
    expected = torch.autograd.grad((wanted * weight).sum(), [asking, answers])
    found = apart(asking, answers, place, power)
    assert torch.allclose(found, wanted, rtol=1e-5)
    for mine, theirs in zip(
        torch.autograd.grad((found * weight).sum(), [asking, answers]), expected, strict=True
    ):
        assert torch.allclose(mine, theirs, rtol=1e-4, atol=1e-5)


def test_a_row_may_be_compared_with_itself() -> None:
    rows = torch.tensor([[1.0, 2.0], [4.0, 6.0]], requires_grad=True)
    distances = apart(rows, rows, torch.tensor([[0, 1], [0, 1]]), 1)
    assert distances.tolist() == [[0.0, 7.0], [7.0, 0.0]]
    torch.autograd.backward(distances.sum())
    assert rows.grad.tolist() == [[-2.0, -2.0], [2.0, 2.0]]


@pytest.mark.parametrize("threads", ["1", "3"])
def test_gradients_do_not_depend_on_the_number_of_threads(
    threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = torch.Generator().manual_seed(1)
    rows = torch.randn(50, 130, generator=generator, requires_grad=True)
    place = torch.randint(0, 50, (50, 30), generator=generator)
    first = torch.autograd.grad(apart(rows, rows, place, 2).sum(), rows)[0]
    monkeypatch.setenv("EVERALIGN_THREADS", threads)
    again = torch.autograd.grad(apart(rows, rows, place, 2).sum(), rows)[0]
    assert torch.equal(first, again)
