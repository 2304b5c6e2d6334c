"""Contractions by packed operands of small dtypes: in VNNI layout, or dequantized when read.

`C[m, j, i] += A[m, p * g + q] * B[j, p, i, q]` has groups of g steps for each column (VNNI layout).
In `C[m, j, i] += A[m, k] * f(B[j, k, i], s[j, i], ..)` panels are dequantized when they are read.
"""

from dataclasses import replace

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.target.machine import Machine
from relax_mlir.lowering.tir_to_vector.contraction.dot_product import find_dot_product
from relax_mlir.lowering.tir_to_vector.contraction.matrix_product import product_tile
from relax_mlir.lowering.tir_to_vector.contraction.pattern import (
    Contraction,
    assign,
    factors_of,
    loaded,
    match_contraction,
)
from relax_mlir.lowering.tir_to_vector.flat import FlatAccess, FlatIter, FlatNest

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)


def match_packed_contraction(flat: FlatNest, machine: Machine) -> Contraction | str:
    """Return how a reduction is a contraction, also by an operand in VNNI layout or dequantized.

    The two iterators of a VNNI layout become one.

    Args:
        flat: the nest.
        machine: what for; groups that no instruction of it takes are left as they are.
    """
    gemm = match_contraction(flat)
    if isinstance(gemm, str):
        return _computed(flat, machine) or gemm
    if len(gemm.outer_reductions) != 1 or flat.counters:
        return gemm
    joined = _joined(gemm)
    if joined is None:
        return gemm
    dot = find_dot_product(joined, machine)
    return gemm if dot is None or dot.group != joined.group else joined


def _joined(gemm: Contraction) -> Contraction | None:
    """Return a contraction in VNNI layout with one iterator for k, None if it has none."""
    flat, a, b, inner = gemm.flat, gemm.a, gemm.b, gemm.k
    (outer,) = gemm.outer_reductions
    group, columns = (flat.iters[i].extent.value for i in (inner, gemm.n))
    if group is None or columns is None or group < 2 or b.offset != 0:
        return None
    expected = {inner: 1, gemm.n: group, outer: group * columns}
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
    strides[inner], strides[gemm.n] = SymExpr.const(columns), _ONE
    accesses: dict[ir.Operation, FlatAccess] = {}
    for op, access in flat.accesses.items():
        walked = strides if access is b else access.strides
        accesses[op] = replace(access, strides=[s for i, s in enumerate(walked) if i != outer])
    iters = list(flat.iters)
    iters[inner] = FlatIter(iters[outer].extent * group, True)
    del iters[outer]
    joined = match_contraction(replace(flat, iters=iters, accesses=accesses))
    return None if isinstance(joined, str) else replace(joined, group=group)


def _computed(flat: FlatNest, machine: Machine) -> Contraction | None:
    """Return a contraction by dequantized panels, None if the nest is none."""
    factors = factors_of(flat)
    if factors is None:
        return None
    for a, b in (factors, factors[::-1]):
        side = loaded(flat, a)
        if side is None or loaded(flat, b) is not None:
            continue
        ops = flat.slice_of(b)
        keys = [op for op in ops if op in flat.accesses]
        if not keys or b.type != flat.store.operands[0].type:
            return None
        key = max(keys, key=lambda op: sum(bool(s != 0) for s in flat.accesses[op].strides))
        access = flat.accesses[key]
        gemm = assign(flat, [side, (access, None)], flat.accesses[flat.store])
        if isinstance(gemm, str) or gemm.b is not access:
            return None
        if machine.lanes(gemm.element) is None:
            return None
        if any(flat.accesses[op].strides[gemm.n] not in (0, 1) for op in keys):
            return None
        accesses = {op: flat.accesses[op] for op in keys}
        computed = replace(
            flat, accesses=accesses, total=None, value=b, slice=ops, init=None, final=False
        )
        whole = _by_steps(gemm)
        if whole is None:
            return None
        gemm = replace(whole, computed=computed)
        return None if product_tile(gemm, machine).panel is None else gemm
    return None


def _by_steps(gemm: Contraction) -> Contraction | None:
    """Return a contraction over groups of scales with one iterator over all steps of k.

    The iterators of groups stay, with one step each, so that positions do not change.
    """
    flat, inner = gemm.flat, gemm.k
    walked = flat.iters[inner].extent
    outer = sorted(gemm.outer_reductions, reverse=True)
    if any(position not in outer for position in flat.counters.values()):
        return None
    for position in outer:
        if walked.value is None or gemm.a.strides[position] != gemm.a.strides[inner] * walked:
            return None
        walked = walked * flat.iters[position].extent
    if not outer:
        return gemm
    accesses = {
        op: replace(x, strides=[_ZERO if i in outer else s for i, s in enumerate(x.strides)])
        for op, x in flat.accesses.items()
    }
    a, b = (next(op for op, x in flat.accesses.items() if x is side) for side in (gemm.a, gemm.b))
    iters = [FlatIter(_ONE, True) if i in outer else it for i, it in enumerate(flat.iters)]
    iters[inner] = FlatIter(walked, True)
    joined = replace(flat, iters=iters, accesses=accesses, counters={})
    return replace(
        gemm, flat=joined, a=accesses[a], b=accesses[b], c=accesses[flat.store],
        outer_reductions=[], grouped=tuple(reversed(outer)),
    )  # fmt: skip
