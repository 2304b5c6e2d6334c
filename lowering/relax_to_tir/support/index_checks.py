"""Bounds checks of indices: a kernel reduces them, the runtime raises."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import prim_value
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, binary, cast, compare, is_unsigned, select
from relax_mlir.lowering.relax_to_tir.support.axes import spatial
from relax_mlir.lowering.relax_to_tir.support.emit import (
    LIBRARY_PREFIX,
    Legalizer,
    call_pure_packed,
)


def check_bounds(
    legalizer: Legalizer, op: ir.Operation, indices: ir.Value, lengths: Sequence[SymExpr],
    *, columns: bool = False,
) -> None:  # fmt: skip
    """Have indices checked before an operation: a kernel finds the worst, the runtime rejects it.

    Args:
        legalizer: makes the kernel.
        op: the operation.
        indices: from minus a length to below it; negative ones count from the end.
        lengths: of the axis that they index, or of one for each place of their last axis.
        columns: whether it is the latter.
    """
    unsigned = is_unsigned(T.tensor_dtype(indices.type))

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, worst = buffers
        source = source if columns else builder.linear(source)
        rows = source.dims[:-1] if columns else source.dims
        axes: list[tuple[str, SymExpr]] = [("reduction", dim) for dim in rows]
        with builder.nest("worst", [*axes, *spatial(source.dims[len(rows) :])]) as block:
            at = tuple(block)
            column = at[-1] if columns else 0
            with block.init() as init:
                worst.store(0, init[-1] if columns else 0)
            number = cast(source[at], "int64")
            if not unsigned:
                number = number + _length(builder, lengths, column)
            # Of a negative number the unsigned one is larger than all that are allowed.
            number = cast(number, "uint64")
            worst.store(binary("max", worst[column], number), column)

    key = f"{list(map(str, lengths))}{columns}"
    type_ = T.tensor_type([SymExpr.const(len(lengths))], "uint64")
    worst = legalizer.call_prim(
        op, "index_bounds", [indices], body, key, result=type_, uses=lengths
    )
    assert worst is not None, "the pattern matched shapes and dtypes that are known"
    with ir.InsertionPoint(op), op.location:
        asked = make_tuple([prim_value(length) for length in lengths])
        _check("check_bounds", [worst, indices, asked], lengths)


def check_targets(
    legalizer: Legalizer, op: ir.Operation, targets: ir.Value, classes: SymExpr, ignored: int
) -> None:
    """Emit a check that targets are classes, or the ignored index."""

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, worst = builder.linear(buffers[0]), buffers[1]
        with builder.nest("worst", [("reduction", source.dims[0])]) as block:
            (i,) = block
            with block.init():
                worst.store(0, 0)
            number = cast(source[i], "int64")
            counted = compare("ne", number, ignored)
            # Of a negative number the unsigned one is larger than all that are allowed.
            key = select(counted, cast(number, "uint64"), cast(0, "uint64"))
            worst.store(binary("max", worst[0], key), 0)

    type_ = T.tensor_type([SymExpr.const(1)], "uint64")
    worst = legalizer.call_prim(op, "target_bounds", [targets], body, str(ignored), result=type_)
    assert worst is not None, "the pattern matched shapes and dtypes that are known"
    with ir.InsertionPoint(op), op.location:
        numbers = [prim_value(classes), prim_value(ignored)]
        _check("check_targets", [worst, targets, *numbers], [classes])


def check_not_empty(op: ir.Operation, count: SymExpr, length: SymExpr) -> None:
    """Have an axis that is empty rejected where so many indices would take something from it."""
    with ir.InsertionPoint(op), op.location:
        _check("check_source", [prim_value(count), prim_value(length)], [length])


def check_extrema(op: ir.Operation, low: int, high: int, length: SymExpr) -> None:
    """Have indices of known minimum and maximum rejected for an axis that is too short."""
    with ir.InsertionPoint(op), op.location:
        numbers = [prim_value(low), prim_value(high), prim_value(length)]
        _check("check_extremes", numbers, [length])


def _check(name: str, operands: Sequence[ir.Value], lengths: Sequence[SymExpr]) -> None:
    unknown, result = (T.shape_type(dims, len(lengths)) for dims in (None, list(lengths)))
    checked = call_pure_packed(f"{LIBRARY_PREFIX}{name}", operands, unknown)
    # That the result is used keeps the call.
    ir.Operation.create("relax.match_cast", results=[result], operands=[checked])


def _length(
    builder: PrimFuncBuilder, lengths: Sequence[SymExpr], column: Scalar | int
) -> Scalar:  # fmt: skip
    """Return the length for a column."""
    result = cast(builder.symbol(lengths[0]), "int64")
    for number, length in enumerate(lengths[1:], 1):
        here = compare("eq", column, number)
        result = select(here, cast(builder.symbol(length), "int64"), result)
    return result


def place_of(builder: PrimFuncBuilder, index: Scalar, length: SymExpr) -> Scalar:
    """Return an index that was checked as a place; one that was not is inside all the same."""
    place = cast(index, "int64")
    if not is_unsigned(index.dtype):
        place = select(place < 0, place + cast(builder.symbol(length), "int64"), place)
    last = cast(builder.symbol(length - 1), "int64")
    return cast(binary("max", binary("min", place, last), 0), INDEX)


def checked(op: ir.Operation, indices: ir.Value, length: SymExpr, mode: str) -> ir.Value:
    """Return the indices as `int64` from 0 to below a length, by the runtime's library."""
    type_ = T.tensor_type(T.tensor_dims(indices.type), "int64")
    with ir.InsertionPoint(op), op.location:
        return call_pure_packed(
            f"{LIBRARY_PREFIX}check_indices",
            [indices, prim_value(length)],
            type_,
            [ir.StringAttr.get(mode)],
        )
