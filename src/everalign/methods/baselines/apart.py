"""How far rows are from others, without a tensor of the size rows × others × numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from everalign.compiled import compiled
from everalign.parallel import in_parts

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
ROWS = 2048  # whose distances are computed at a time
NUMBERS = 50  # of each row whose gradients are summed at a time: a thread has these for itself


def apart(asking: Tensor, answers: Tensor, place: Tensor, power: int) -> Tensor:
    """Σ |asking_i − answers_j|^power for each j that row i of `place` names; power is 1 or 2.

    >>> rows = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    >>> apart(rows[:1], rows, torch.tensor([[1, 0]]), 2).tolist()
    [[25.0, 0.0]]
    """
    result: Tensor = _Apart.apply(asking, answers, place, power)  # type: ignore[no-untyped-call]
    return result


class _Apart(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, asking: Tensor, answers: Tensor, place: Tensor, power: int) -> Tensor:
        ctx.power = power
        ctx.save_for_backward(asking, answers, place)
        rows, others, wanted = asking.numpy(), answers.numpy(), place.numpy()
        out = np.empty(wanted.shape, dtype=np.float32)
        in_parts(
            lambda first, end: _forward(rows, others, wanted, power, first, end, out),
            len(rows),
            ROWS,
        )
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        asking, answers, place = (saved.detach() for saved in ctx.saved_tensors)
        rows, others, wanted = asking.numpy(), answers.numpy(), place.numpy()
        to_rows, to_others = np.zeros_like(rows), np.zeros_like(others)
        grad = grads[0].contiguous().numpy()
        in_parts(
            lambda first, end: _backward(
                rows, others, wanted, ctx.power, grad, first, end, to_rows, to_others
            ),
            rows.shape[1],
            NUMBERS,
        )
        return torch.from_numpy(to_rows), torch.from_numpy(to_others), None, None


@compiled(fastmath=True)
def _forward(
    rows: Floats, others: Floats, place: Ints, power: int, first: int, end: int, out: Floats
) -> None:
    for i in range(first, end):
        for k in range(place.shape[1]):
            j = place[i, k]
            total = np.float32(0.0)
            if power == 1:
                for d in range(rows.shape[1]):
                    total += abs(rows[i, d] - others[j, d])
            else:
                for d in range(rows.shape[1]):
                    total += (rows[i, d] - others[j, d]) ** 2
            out[i, k] = total


@compiled(fastmath=True)
def _backward(
    rows: Floats,
    others: Floats,
    place: Ints,
    power: int,
    grad: Floats,
    first: int,
    end: int,
    to_rows: Floats,
    to_others: Floats,
) -> None:
    """What comes back to the numbers `first` to `end` of all rows, in the order of the places.

    Most distances are beyond a margin and teach nothing: these cost nothing.
    """
    for i in range(len(rows)):
        for k in range(place.shape[1]):
            g = grad[i, k]
            if g == 0:
                continue
            j = place[i, k]
            if power == 1:
                for d in range(first, end):
                    step = g * ((rows[i, d] > others[j, d]) - (rows[i, d] < others[j, d]))
                    to_rows[i, d] += step
                    to_others[j, d] -= step
            else:
                for d in range(first, end):
                    step = 2 * g * (rows[i, d] - others[j, d])
                    to_rows[i, d] += step
                    to_others[j, d] -= step
