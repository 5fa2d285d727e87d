"""Compiled loops over the edges of the union graph, forward and backward.

A layer of relational reflection computes, for each wanted node i with edges e = (i → j) that
carry relation set k,

    out_i = Σ_e a_e (x_j − 2 (x_j·ρ_k) ρ_k),  a_e = w_e / Σ_e' w_e',  w_e = s_e exp(l_k)

with l_k = ρ_k·v and a given factor s_e per edge. A plain implementation holds a tensor of
edges × dimensions; these loops need one dot product and one accumulation per edge.

`row_of_node[j]` is the row of node j in a tensor that holds only some nodes, −1 if it has none.
Each output row is summed by one thread in a fixed order, so results do not depend on the
number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange
from numpy.typing import NDArray

from everalign._numba import jit_cached

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

# fastmath lets the compiler use vector instructions for sums. A compiled loop always sums in the
# same order; a process that loads it from the cache may differ in the last digits from the one
# that compiled it.
_jit_parallel = jit_cached(parallel=True, fastmath=True)


@_jit_parallel
def reflect_forward(
    output_nodes: Ints,
    start: Ints,
    target: Ints,
    relation_set: Ints,
    row_of_node: Ints,
    inputs: Floats,
    rho: Floats,
    edge_weight: Floats,
) -> tuple[Floats, Floats]:
    """Sum the reflected neighbours of some nodes.

    Args:
        output_nodes: Nodes whose sums are wanted.
        start: First edge of each node (with `target`, `relation_set`: edges of the union graph).
        target: Node that each edge leads to.
        relation_set: Relation set that each edge carries.
        row_of_node: Row of each node in `inputs`.
        inputs: Vectors x of the neighbours.
        rho: Direction ρ of each relation set.
        edge_weight: Weight w of each edge.

    Returns:
        The vectors out_i and Σ w of each node.
    """
    width = inputs.shape[1]
    out = np.zeros((len(output_nodes), width), dtype=np.float32)
    weight_sum = np.zeros(len(output_nodes), dtype=np.float32)
    for row in prange(len(output_nodes)):
        node = output_nodes[row]
        for edge in range(start[node], start[node + 1]):
            k = relation_set[edge]
            j = row_of_node[target[edge]]
            weight = edge_weight[edge]
            weight_sum[row] += weight
            # Constants are float32 in all loops: with a Python number, numba would compute in
            # float64.
            dot = np.float32(0.0)
            for d in range(width):
                dot += inputs[j, d] * rho[k, d]
            # Reflection and weight go into one factor of ρ: no reflected copy of the neighbour is
            # made.
            reflected = np.float32(2.0) * dot * weight
            for d in range(width):
                out[row, d] += weight * inputs[j, d] - reflected * rho[k, d]
        # Divided once per row, not once per edge. The row of a node without weights stays 0.
        if weight_sum[row] > 0:
            inverse_sum = np.float32(1.0) / weight_sum[row]
            for d in range(width):
                out[row, d] *= inverse_sum
    return out, weight_sum


@_jit_parallel
def reflect_backward_input(
    input_nodes: Ints,
    start: Ints,
    target: Ints,
    relation_set: Ints,
    reverse: Ints,
    row_of_node: Ints,
    grad: Floats,
    weight_sum: Floats,
    rho: Floats,
    edge_weight: Floats,
) -> Floats:
    """Compute the gradient of the inputs of `reflect_forward`.

    Args:
        input_nodes: Nodes of the input rows.
        start: First edge of each node.
        target: Node that each edge leads to.
        relation_set: Relation set that each edge carries.
        reverse: The edge that leads back, for each edge.
        row_of_node: Row of each node in `grad`.
        grad: Gradient of the output rows.
        weight_sum: Σ w of each output row.
        rho: Direction ρ of each relation set.
        edge_weight: Weight w of each edge.

    Returns:
        The gradient of the input rows.
    """
    width = grad.shape[1]
    out = np.zeros((len(input_nodes), width), dtype=np.float32)
    # Each input row collects from the outputs that read it. If outputs added to their inputs,
    # threads would write to the same rows.
    for row in prange(len(input_nodes)):
        node = input_nodes[row]
        for edge in range(start[node], start[node + 1]):
            i = row_of_node[target[edge]]
            # A neighbour that is no output of this layer has read nothing.
            if i < 0:
                continue
            # The weight belongs to the edge by which the output node reads this one.
            incoming = reverse[edge]
            k = relation_set[incoming]
            share = edge_weight[incoming] / weight_sum[i]
            dot = np.float32(0.0)
            for d in range(width):
                dot += grad[i, d] * rho[k, d]
            reflected = np.float32(2.0) * dot * share
            for d in range(width):
                out[row, d] += share * grad[i, d] - reflected * rho[k, d]
    return out


@_jit_parallel
def reflect_backward_sets(
    set_edge_start: Ints,
    set_edges: Ints,
    source: Ints,
    target: Ints,
    output_row: Ints,
    input_row: Ints,
    inputs: Floats,
    grad: Floats,
    grad_dot_out: Floats,
    weight_sum: Floats,
    rho: Floats,
    edge_weight: Floats,
) -> tuple[Floats, Floats]:
    """Compute the gradients of ρ (through the reflection) and of the logits l.

    For an edge, ∂L/∂a = g·x − 2 (x·ρ)(g·ρ), and through the softmax
    ∂L/∂l = a (∂L/∂a − g·out), with g the gradient of the node's output `out`.

    Args:
        set_edge_start: First position of each relation set in `set_edges`.
        set_edges: Edges that carry each relation set.
        source: Node that each edge leaves.
        target: Node that each edge leads to.
        output_row: Row of each node in `grad`.
        input_row: Row of each node in `inputs`.
        inputs: Vectors x of the neighbours.
        grad: Gradient g of the output rows.
        grad_dot_out: g·out of each output row.
        weight_sum: Σ w of each output row.
        rho: Direction ρ of each relation set.
        edge_weight: Weight w of each edge.

    Returns:
        The gradients of ρ and of l, a row per relation set.
    """
    width = inputs.shape[1]
    set_count = len(set_edge_start) - 1
    grad_rho = np.zeros((set_count, width), dtype=np.float32)
    grad_logit = np.zeros(set_count, dtype=np.float32)
    # Edges are visited by relation set, so that each row of ρ is summed by one thread.
    for k in prange(set_count):
        for position in range(set_edge_start[k], set_edge_start[k + 1]):
            edge = set_edges[position]
            i = output_row[source[edge]]
            if i < 0:
                continue
            j = input_row[target[edge]]
            share = edge_weight[edge] / weight_sum[i]
            gx = np.float32(0.0)
            gr = np.float32(0.0)
            xr = np.float32(0.0)
            # Three dot products in one pass: each row is read from memory once.
            for d in range(width):
                gx += grad[i, d] * inputs[j, d]
                gr += grad[i, d] * rho[k, d]
                xr += inputs[j, d] * rho[k, d]
            grad_logit[k] += share * (gx - np.float32(2.0) * xr * gr - grad_dot_out[i])
            for d in range(width):
                grad_rho[k, d] -= np.float32(2.0) * share * (gr * inputs[j, d] + xr * grad[i, d])
    return grad_rho, grad_logit


@_jit_parallel
def mean_forward(
    groups: Ints, start: Ints, member: Ints, table: Floats, include_self: bool
) -> Floats:
    """Compute the mean of table rows over the members of each group.

    Args:
        groups: Groups whose means are wanted (nodes, or relation sets).
        start: First position of each group in `member`.
        member: Table row of each member.
        table: Rows to average.
        include_self: Count table row i as a member of group i.

    Returns:
        A row per wanted group; zeros where it has no members.
    """
    width = table.shape[1]
    out = np.zeros((len(groups), width), dtype=np.float32)
    for row in prange(len(groups)):
        group = groups[row]
        count = start[group + 1] - start[group]
        if include_self:
            count += 1
            for d in range(width):
                out[row, d] = table[group, d]
        for position in range(start[group], start[group + 1]):
            for d in range(width):
                out[row, d] += table[member[position], d]
        if count > 0:
            scale = np.float32(1.0) / np.float32(count)
            for d in range(width):
                out[row, d] *= scale
    return out


@_jit_parallel
def neighbour_mean_backward(
    start: Ints, target: Ints, row_of_node: Ints, grad: Floats, include_self: bool
) -> Floats:
    """Compute the gradient of a node table through the mean over neighbours.

    Args:
        start: First edge of each node.
        target: Node that each edge leads to.
        row_of_node: Row of each node in `grad`.
        grad: Gradient of the means.
        include_self: As in `mean_forward`.

    Returns:
        The gradient of the table.
    """
    width = grad.shape[1]
    node_count = len(start) - 1
    out = np.zeros((node_count, width), dtype=np.float32)
    self_count = 1 if include_self else 0
    # The union graph has every edge in both directions, so the nodes whose means used a row are
    # that row's neighbours: each row can be summed by one thread.
    for node in prange(node_count):
        i = row_of_node[node]
        if include_self and i >= 0:
            scale = np.float32(1.0) / np.float32(start[node + 1] - start[node] + self_count)
            for d in range(width):
                out[node, d] += scale * grad[i, d]
        for edge in range(start[node], start[node + 1]):
            other = target[edge]
            i = row_of_node[other]
            if i >= 0:
                # The mean that read this row is that of the other node, and so is its size.
                scale = np.float32(1.0) / np.float32(start[other + 1] - start[other] + self_count)
                for d in range(width):
                    out[node, d] += scale * grad[i, d]
    return out


# Not parallel: several groups add to one row of the table.
@jit_cached()
def mean_backward(
    groups: Ints, start: Ints, member: Ints, grad: Floats, table_size: int
) -> Floats:
    """Compute the gradient of a small table through the mean over group members.

    Args:
        groups: As in `mean_forward`.
        start: As in `mean_forward`.
        member: As in `mean_forward`.
        grad: Gradient of the means.
        table_size: Number of table rows.

    Returns:
        The gradient of the table.
    """
    width = grad.shape[1]
    out = np.zeros((table_size, width), dtype=np.float32)
    for row in range(len(groups)):
        group = groups[row]
        count = start[group + 1] - start[group]
        if count == 0:
            continue
        scale = np.float32(1.0) / np.float32(count)
        for position in range(start[group], start[group + 1]):
            for d in range(width):
                out[member[position], d] += scale * grad[row, d]
    return out


@jit_cached()
def mark_neighbours(nodes: Ints, start: Ints, target: Ints, is_marked: NDArray[np.bool_]) -> None:
    """Mark nodes and their neighbours.

    Args:
        nodes: Nodes to start from.
        start: First edge of each node.
        target: Node that each edge leads to.
        is_marked: Set to True in place.
    """
    for node in nodes:
        is_marked[node] = True
        for edge in range(start[node], start[node + 1]):
            is_marked[target[edge]] = True


@_jit_parallel
def mine_hard_negatives(
    product: Floats,
    anchor_norm: Floats,
    negative_norm: Floats,
    positive: Floats,
    masked: NDArray[np.int64],
    margin: float,
    scale: float,
    shift: float,
) -> Floats:
    """Compute the alignment loss of each pair, see `operators.compute_alignment_loss`.

    Args:
        product: Dot products anchor · negative; overwritten with ∂loss/∂l.
        anchor_norm: Squared length of each anchor.
        negative_norm: Squared length of each negative.
        positive: Squared distance of each seed pair.
        masked: Columns of each pair's own members, which are no negatives.
        margin: Added to each difference of distances.
        scale: Factor of the standardised differences.
        shift: Added to the scaled differences.

    Returns:
        The loss of each pair.
    """
    pair_count, negative_count = product.shape
    loss = np.zeros(pair_count, dtype=np.float32)
    for i in prange(pair_count):
        # l_j = d²(pair) − d²(anchor, j) + margin, with d²(a, b) = |a|² + |b|² − 2 a·b.
        offset = positive[i] - anchor_norm[i] + np.float32(margin)
        for j in range(negative_count):
            product[i, j] = offset + np.float32(2.0) * product[i, j] - negative_norm[j]
        # As for the authors, the pair's own members are not left out but count as 0, also in mean
        # and deviation.
        for n in range(masked.shape[1]):
            product[i, masked[i, n]] = np.float32(0.0)
        mean = np.float32(0.0)
        for j in range(negative_count):
            mean += product[i, j]
        mean /= np.float32(negative_count)
        # In a second pass: mean of squares minus square of mean would cancel in float32.
        squares = np.float32(0.0)
        largest = product[i, 0]
        for j in range(negative_count):
            squares += (product[i, j] - mean) * (product[i, j] - mean)
            largest = max(largest, product[i, j])
        deviation = np.sqrt(squares / np.float32(negative_count))
        # Equal differences cannot be standardised: the loss is then constant, without gradient.
        factor = np.float32(scale) / deviation if deviation > 0 else np.float32(0.0)
        total = np.float32(0.0)
        for j in range(negative_count):
            # Relative to the largest, as in any stable log-sum-exp.
            exponential = np.exp(factor * (product[i, j] - largest))
            product[i, j] = exponential
            total += exponential
        loss[i] = np.log(total) + factor * (largest - mean) + np.float32(shift)
        # ∂loss/∂l is the softmax times this factor, since mean and deviation count as constants.
        share = factor / total
        for j in range(negative_count):
            product[i, j] *= share
        # Members of the pair were set to a constant, so nothing flows back to them.
        for n in range(masked.shape[1]):
            product[i, masked[i, n]] = np.float32(0.0)
    return loss
