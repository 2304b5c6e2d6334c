"""Iterators of nests whose addresses are computed: what of an address is linear in them."""

from dataclasses import dataclass, field
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.lowering.tir_to_vector.analysis import Access, Nest, is_within
from relax_mlir.lowering.tir_to_vector.flat import (
    DIVISIONS,
    FlatAccess,
    FlatIter,
    NotFlat,
    extent_of,
    inner_dims,
    linear_index,
)
from relax_mlir.lowering.tir_to_vector.index_emit import constant_or_value

_ZERO, _ONE = SymExpr.const(0), SymExpr.const(1)

Linear = tuple[SymExpr, dict[int, SymExpr]]
# Indices that are no linear function of the iterators, and what one step of each is in memory.
Found = list[tuple[ir.Value, SymExpr]]


@dataclass
class IndexSpace:
    """The iterators of a nest, in loop order, some of them split.

    Attributes:
        iters: outermost first.
        terms: for each of the block's arguments the iterators that it is a sum of.
        quotients: for each divided argument the divisor, and the iterator of the quotient.
    """

    iters: list[FlatIter]
    terms: dict[ir.Value, dict[int, SymExpr]]
    quotients: dict[ir.Value, tuple[int, int]] = field(default_factory=dict)

    def linear(self, value: ir.Value) -> Linear | None:
        """Return an index as a symbolic constant and factors, None if it is not linear."""
        return linear_index(value, self.terms, self.quotients)

    def access(self, access: Access) -> tuple[FlatAccess, Found]:
        """Return the linear part of an address, and the indices that are not linear.

        Raises:
            NotFlat: a dimension of the buffer has no name.
        """
        offset, strides, stride = _ZERO, [_ZERO] * len(self.iters), _ONE
        result: Found = []
        count = len(access.exprs)
        indices = list(access.op.operands)[-count:] if count else []
        dims = [_ONE, *inner_dims(access.buffer)][:count]
        for dim, index in zip(reversed(dims), reversed(indices), strict=True):
            known = self.linear(index)
            if known is None:
                result.append((index, stride))
            else:
                offset = offset + stride * known[0]
                for position, factor in known[1].items():
                    strides[position] = strides[position] + stride * factor
            stride = stride * dim
        return FlatAccess(access.buffer, offset, strides), result


def spaces(nest: Nest) -> list[IndexSpace]:
    """Return the space of a nest's iterators, and that with split iterators, if any.

    Raises:
        NotFlat: a loop's extent has no name.
    """
    arguments = list(nest.block.regions[0].blocks[0].arguments)
    order = sorted(range(len(arguments)), key=lambda i: nest.loop_of[i])
    extents = {i: extent_of(nest.loops[nest.loop_of[i]].operands[1]) for i in order}
    plain = [FlatIter(extents[i], False) for i in order]
    whole = IndexSpace(plain, {arguments[i]: {n: _ONE} for n, i in enumerate(order)})
    by = _divisors(nest, arguments)
    by = {i: c for i, c in by.items() if extents[i] % c == 0}
    if not by:
        return [whole]
    parts = IndexSpace([], {})
    for i in order:
        here = len(parts.iters)
        if i not in by:
            parts.iters.append(FlatIter(extents[i], False))
            parts.terms[arguments[i]] = {here: _ONE}
            continue
        width = SymExpr.const(by[i])
        parts.iters += [FlatIter(extents[i] // width, False), FlatIter(width, False)]
        parts.terms[arguments[i]] = {here: width, here + 1: _ONE}
        parts.quotients[arguments[i]] = (by[i], here)
    return [whole, parts]


def _divisors(nest: Nest, arguments: list[ir.Value]) -> dict[int, int]:
    """Return the divisors of arguments that one number divides."""
    result: dict[int, set[int]] = {}
    for op in nest.body():
        if op.name in DIVISIONS and op.operands[0] in arguments:
            by = constant_or_value(op.operands[1])
            result.setdefault(arguments.index(op.operands[0]), set()).add(
                by if isinstance(by, int) else 0
            )
    return {i: min(by) for i, by in result.items() if len(by) == 1 and min(by) > 1}


def uses(value: ir.Value, nest: Nest) -> set[ir.Value]:
    """Return the block's arguments that an index depends on.

    Raises:
        NotFlat: it is computed by something else than arithmetic and loads of the block.
    """
    body = nest.block.regions[0].blocks[0]
    owner = value.owner
    if isinstance(owner, ir.Block):
        if owner == body:
            return {value}
        if owner.owner.operation.name != "func.func":
            raise NotFlat("it computes with a counter of its loops")
        return set()
    op = owner.operation
    if not is_within(op, body):
        if op.parent.operation.name != "func.func" and op.name != "arith.constant":
            raise NotFlat("it computes with a value of its loops")
        return set()
    if op.name != "memref.load" and not op.name.startswith(("arith.", "math.")):
        raise NotFlat(f"'{op.name}' in an index")
    operands: list[Any] = list(op.operands)[1 if op.name == "memref.load" else 0 :]
    return set().union(*(uses(operand, nest) for operand in operands))
