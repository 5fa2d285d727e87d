"""Compiled loops over the edges of the union graph, forward and backward.

One layer of the encoder computes, for each wanted node i with edges e = (i → j) that carry
relation set k,

    out_i = Σ_e a_e (x_j − 2 (x_j·ρ_k) ρ_k),  a_e = w_e / Σ_e' w_e',  w_e = s_e exp(l_k)

with l_k = ρ_k·v and a given share s_e of each edge, without a tensor of the size edges ×
dimensions: a dot product and an accumulation per edge.
`place[j]` is the row of node j in a tensor that holds only some nodes, −1 where it has none.
Each output row is summed by one thread in a fixed order, so results do not depend on the
number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from everalign.compiled import compiled

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

_parallel = compiled(parallel=True, fastmath=True)


@_parallel
def reflect_forward(
    rows: Ints,
    start: Ints,
    target: Ints,
    sets: Ints,
    place: Ints,
    x: Floats,
    rho: Floats,
    weight: Floats,
) -> tuple[Floats, Floats]:
    """The layer's sums for the nodes `rows`, and Σ w of each; `weight` is w per edge."""
    width = x.shape[1]
    out = np.zeros((len(rows), width), dtype=np.float32)
    total = np.zeros(len(rows), dtype=np.float32)
    for row in prange(len(rows)):
        node = rows[row]
        for edge in range(start[node], start[node + 1]):
            k = sets[edge]
            j = place[target[edge]]
            w = weight[edge]
            total[row] += w
            dot = np.float32(0.0)
            for d in range(width):
                dot += x[j, d] * rho[k, d]
            fold = np.float32(2.0) * dot * w
            for d in range(width):
                out[row, d] += w * x[j, d] - fold * rho[k, d]
        if total[row] > 0:
            scale = np.float32(1.0) / total[row]
            for d in range(width):
                out[row, d] *= scale
    return out, total


@_parallel
def reflect_backward_input(
    columns: Ints,
    start: Ints,
    target: Ints,
    sets: Ints,
    reverse: Ints,
    place: Ints,
    grad: Floats,
    total: Floats,
    rho: Floats,
    weight: Floats,
) -> Floats:
    """The gradient of the input rows of the nodes `columns`; `place` is that of the outputs."""
    width = grad.shape[1]
    out = np.zeros((len(columns), width), dtype=np.float32)
    for column in prange(len(columns)):
        node = columns[column]
        for edge in range(start[node], start[node + 1]):
            i = place[target[edge]]
            if i < 0:
                continue
            back = reverse[edge]
            k = sets[back]
            a = weight[back] / total[i]
            dot = np.float32(0.0)
            for d in range(width):
                dot += grad[i, d] * rho[k, d]
            fold = np.float32(2.0) * dot * a
            for d in range(width):
                out[column, d] += a * grad[i, d] - fold * rho[k, d]
    return out


@_parallel
def reflect_backward_sets(
    by_set_start: Ints,
    by_set: Ints,
    source: Ints,
    target: Ints,
    place_out: Ints,
    place_in: Ints,
    x: Floats,
    grad: Floats,
    grad_dot_out: Floats,
    total: Floats,
    rho: Floats,
    weight: Floats,
) -> tuple[Floats, Floats]:
    """The gradient of ρ through the reflection, and of the logits l, per relation set.

    For an edge, ∂L/∂a = g·x − 2 (x·ρ)(g·ρ), and through the softmax
    ∂L/∂l = a (∂L/∂a − g·out), with g the gradient of the node's output `out`.
    """
    width = x.shape[1]
    sets = len(by_set_start) - 1
    grad_rho = np.zeros((sets, width), dtype=np.float32)
    grad_logit = np.zeros(sets, dtype=np.float32)
    for k in prange(sets):
        for position in range(by_set_start[k], by_set_start[k + 1]):
            edge = by_set[position]
            i = place_out[source[edge]]
            if i < 0:
                continue
            j = place_in[target[edge]]
            a = weight[edge] / total[i]
            gx = np.float32(0.0)
            gr = np.float32(0.0)
            xr = np.float32(0.0)
            for d in range(width):
                gx += grad[i, d] * x[j, d]
                gr += grad[i, d] * rho[k, d]
                xr += x[j, d] * rho[k, d]
            grad_logit[k] += a * (gx - np.float32(2.0) * xr * gr - grad_dot_out[i])
            for d in range(width):
                grad_rho[k, d] -= np.float32(2.0) * a * (gr * x[j, d] + xr * grad[i, d])
    return grad_rho, grad_logit


@_parallel
def mean_forward(rows: Ints, start: Ints, member: Ints, table: Floats, own: bool) -> Floats:
    """The mean of the table's rows over each node's members (and itself, if `own`)."""
    width = table.shape[1]
    out = np.zeros((len(rows), width), dtype=np.float32)
    for row in prange(len(rows)):
        node = rows[row]
        count = start[node + 1] - start[node]
        if own:
            count += 1
            for d in range(width):
                out[row, d] = table[node, d]
        for position in range(start[node], start[node + 1]):
            for d in range(width):
                out[row, d] += table[member[position], d]
        if count > 0:
            scale = np.float32(1.0) / np.float32(count)
            for d in range(width):
                out[row, d] *= scale
    return out


@_parallel
def neighbour_mean_backward(
    start: Ints, target: Ints, place: Ints, grad: Floats, own: bool
) -> Floats:
    """The gradient of a node table through the mean over neighbours.

    The union graph has every edge in both directions, so the nodes that a row was used by are
    that row's own neighbours.
    """
    width = grad.shape[1]
    nodes = len(start) - 1
    out = np.zeros((nodes, width), dtype=np.float32)
    extra = 1 if own else 0
    for node in prange(nodes):
        i = place[node]
        if own and i >= 0:
            scale = np.float32(1.0) / np.float32(start[node + 1] - start[node] + extra)
            for d in range(width):
                out[node, d] += scale * grad[i, d]
        for edge in range(start[node], start[node + 1]):
            other = target[edge]
            i = place[other]
            if i >= 0:
                scale = np.float32(1.0) / np.float32(start[other + 1] - start[other] + extra)
                for d in range(width):
                    out[node, d] += scale * grad[i, d]
    return out


@compiled()
def mean_backward(rows: Ints, start: Ints, member: Ints, grad: Floats, table_rows: int) -> Floats:
    """The gradient of a small table through the mean over each node's members."""
    width = grad.shape[1]
    out = np.zeros((table_rows, width), dtype=np.float32)
    for row in range(len(rows)):
        node = rows[row]
        count = start[node + 1] - start[node]
        if count == 0:
            continue
        scale = np.float32(1.0) / np.float32(count)
        for position in range(start[node], start[node + 1]):
            for d in range(width):
                out[member[position], d] += scale * grad[row, d]
    return out


@compiled()
def mark_neighbours(nodes: Ints, start: Ints, target: Ints, mark: NDArray[np.bool_]) -> None:
    """Mark the nodes themselves and their neighbours."""
    for node in nodes:
        mark[node] = True
        for edge in range(start[node], start[node + 1]):
            mark[target[edge]] = True


@_parallel
def soft_worst(
    product: Floats,
    side_norm: Floats,
    negative_norm: Floats,
    positive: Floats,
    masked: NDArray[np.int64],
    margin: float,
    scale: float,
    shift: float,
) -> Floats:
    """The alignment loss of each row, see `losses.alignment_loss`.

    `product` comes in as side · negative and goes out as ∂loss/∂l, 0 for masked negatives.
    """
    rows, columns = product.shape
    loss = np.zeros(rows, dtype=np.float32)
    for i in prange(rows):
        base = positive[i] - side_norm[i] + np.float32(margin)
        for j in range(columns):
            product[i, j] = base + np.float32(2.0) * product[i, j] - negative_norm[j]
        for m in range(masked.shape[1]):
            product[i, masked[i, m]] = np.float32(0.0)
        mean = np.float32(0.0)
        for j in range(columns):
            mean += product[i, j]
        mean /= np.float32(columns)
        square = np.float32(0.0)
        top = product[i, 0]
        for j in range(columns):
            square += (product[i, j] - mean) * (product[i, j] - mean)
            top = max(top, product[i, j])
        spread = np.sqrt(square / np.float32(columns))
        factor = np.float32(scale) / spread if spread > 0 else np.float32(0.0)
        total = np.float32(0.0)
        for j in range(columns):
            value = np.exp(factor * (product[i, j] - top))
            product[i, j] = value
            total += value
        loss[i] = np.log(total) + factor * (top - mean) + np.float32(shift)
        share = factor / total
        for j in range(columns):
            product[i, j] *= share
        for m in range(masked.shape[1]):
            product[i, masked[i, m]] = np.float32(0.0)
    return loss
