"""Contractions with panels of groups: a constant matrix as dot-product instructions take it.

`C[m, j, i] += A[m, p * g + q] * B[j, p, i, q]`: a group of g steps for each column.
"""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.lowering.tir_to_vector.contraction import Contraction, match_contraction
from relax_mlir.lowering.tir_to_vector.dot_product import find_dot_product
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest
from relax_mlir.lowering.tir_to_vector.machine import Machine

_ONE = SymExpr.const(1)


def match_panels(flat: FlatNest, machine: Machine) -> Contraction | str:
    """Return how a reduction is a contraction, its two steps along k as one where B lies in groups.

    Args:
        flat: the nest.
        machine: what for; groups that none of its instructions takes are left as they are.
    """
    found = match_contraction(flat)
    if isinstance(found, str) or len(found.outer_reductions) != 1 or flat.counters:
        return found
    joined = _joined(found)
    if joined is None:
        return found
    dot = find_dot_product(joined, machine)
    return found if dot is None or dot.group != joined.group else joined


def _joined(found: Contraction) -> Contraction | None:
    """Return a contraction over groups and what is in them as one over k, None where it is none."""
    flat, a, b, inner = found.flat, found.a, found.b, found.k
    (outer,) = found.outer_reductions
    group, columns = (flat.iters[i].extent.value for i in (inner, found.n))
    if group is None or columns is None or group < 2 or b.offset != 0:
        return None
    expected = {inner: 1, found.n: group, outer: group * columns}
    if any(b.strides[i] != stride for i, stride in expected.items()):
        return None
    if a.strides[outer] != a.strides[inner] * group:
        return None
    numbers = [stride.value for stride in b.strides]
    if any(number is None or number % group for i, number in enumerate(numbers) if i != inner):
        return None
    if any(
        access.strides[i] != 0
        for access in flat.accesses.values()
        if access is not a and access is not b
        for i in (inner, outer)
    ):
        return None
    strides = [SymExpr.const((number or 0) // group) for number in numbers]
    strides[inner], strides[found.n] = SymExpr.const(columns), _ONE
    accesses: dict[ir.Operation, FlatAccess] = {}
    for op, access in flat.accesses.items():
        walked = strides if access is b else access.strides
        accesses[op] = replace(access, strides=[s for i, s in enumerate(walked) if i != outer])
    iters = list(flat.iters)
    iters[inner] = FlatIter(iters[outer].extent * group, True)
    del iters[outer]
    joined = match_contraction(replace(flat, iters=iters, accesses=accesses))
    return None if isinstance(joined, str) else replace(joined, group=group)
