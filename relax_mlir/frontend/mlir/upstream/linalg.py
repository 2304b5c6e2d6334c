"""`linalg.generic`, which all named operations of linalg become, and its `fill`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import INDEX, Scalar, binary, const
from relax_mlir.errors import ExprError
from relax_mlir.frontend.mlir.upstream.bodies import Inputs, call_prim, captured, evaluate
from relax_mlir.frontend.registry import converts
from relax_mlir.frontend.values import Value
from relax_mlir.relax import op
from relax_mlir.relax.expr import Constant

_BINARY = (
    (ir.AffineAddExpr, "add"), (ir.AffineMulExpr, "mul"), (ir.AffineModExpr, "mod"),
    (ir.AffineFloorDivExpr, "floordiv"),
)  # fmt: skip


def affine(expr: ir.AffineExpr, dims: Sequence[Any], combine: Any, number: Any) -> Any:
    """Return an affine expression over given values of its dimensions.

    Raises:
        ExprError: it is none of sums, products, remainders and quotients rounded down.
    """
    expr = expr.maybe_downcast()
    if isinstance(expr, ir.AffineDimExpr):
        return dims[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return number(expr.value)
    for kind, name in _BINARY:
        if isinstance(expr, kind):
            sides = (affine(each, dims, combine, number) for each in (expr.lhs, expr.rhs))
            return combine(name, *sides)
    raise ExprError(f"an indexing map has {expr}, which cannot be imported")


def _indices(map_: ir.AffineMap, iters: Sequence[Scalar]) -> tuple[Scalar, ...]:
    return tuple(affine(each, iters, binary, lambda n: const(n, INDEX)) for each in map_.results)


def _extents(m: Any, maps: Sequence[ir.AffineMap], values: Sequence[Value]) -> list[SymExpr]:
    """Return how far each loop runs: the size of a dimension that it walks along by itself."""
    result: dict[int, SymExpr] = {}
    for map_, value in zip(maps, values, strict=True):
        if not map_.results:
            continue
        dims = value.dims
        if dims is None:
            raise ExprError("the shape of an operand is unknown")
        for expr, dim in zip(map_.results, dims, strict=True):
            expr = expr.maybe_downcast()
            if isinstance(expr, ir.AffineDimExpr):
                known = result.get(expr.position)
                if known is None or (known.value is None and dim.value is not None):
                    result[expr.position] = dim
    if len(result) != maps[0].n_dims:
        raise ExprError("a loop walks along no dimension of an operand by itself")
    return [result[position] for position in range(maps[0].n_dims)]


@converts("linalg", "generic")
def _generic(m: Any) -> Any:
    region, block = m.op.regions[0], m.op.regions[0].blocks[0]
    count, _ = m.attr("operandSegmentSizes")
    values = [m.value(index) for index in range(len(m.op.operands))]
    filled = _filled(m, block, values, count)
    if filled is not None:
        return filled
    maps = [ir.AffineMapAttr(each).value for each in ir.ArrayAttr(m.op.attributes["indexing_maps"])]
    kinds = [
        "reduction" if "reduction" in str(each) else "spatial"
        for each in ir.ArrayAttr(m.op.attributes["iterator_types"])
    ]
    extents = _extents(m, maps, values)
    arguments = list(block.arguments)
    reads = {argument for argument in arguments for _ in argument.uses}
    outside = captured(region)
    firsts = [m.narrow(index) for index in range(count, len(values))]
    inputs = Inputs(m)
    for index, value in enumerate(values):
        is_first = index >= count and isinstance(firsts[index - count], Constant)
        if arguments[index] in reads and not is_first:
            inputs.add(value)
    for value in outside:
        inputs.add(m.of(value))
    outputs = [(_known(each), each.dtype) for each in values[count:]]
    has_sums = "reduction" in kinds

    def first(builder: PrimFuncBuilder, index: int, iters: Sequence[Scalar]) -> Scalar:
        number = firsts[index]
        if isinstance(number, Constant):
            return const(number.data.numpy().item(), values[count + index].dtype)
        value, map_ = values[count + index], maps[count + index]
        return inputs.buffer(builder, value)[_indices(map_, iters)]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        with builder.nest("generic", list(zip(kinds, extents, strict=True))) as nest:
            iters = list(nest)
            if has_sums:
                with nest.init() as inner:
                    for index, buffer in enumerate(buffers):
                        if arguments[count + index] in reads:
                            at = _indices(maps[count + index], inner)
                            buffer.store(first(builder, index, inner), at)
            scalars: dict[ir.Value, Scalar] = {}
            for index, (value, map_, argument) in enumerate(
                zip(values, maps, arguments, strict=True)
            ):
                if argument not in reads:
                    continue
                if index >= count:
                    before = buffers[index - count]
                    scalars[argument] = (
                        before[_indices(map_, iters)]
                        if has_sums
                        else first(builder, index - count, iters)
                    )
                elif not map_.results:
                    scalars[argument] = inputs.scalar(builder, value, value.dtype)
                else:
                    scalars[argument] = inputs.buffer(builder, value)[_indices(map_, iters)]
            results = evaluate(m, region, builder, inputs, scalars, iters)
            for index, (buffer, result) in enumerate(zip(buffers, results, strict=True)):
                buffer.store(result, _indices(maps[count + index], iters))

    return call_prim(m, "generic", inputs, outputs, body)


def _known(value: Value) -> tuple[SymExpr, ...]:
    dims = value.dims
    if dims is None:
        raise ExprError("the shape of the result is unknown")
    return dims


def _filled(m: Any, block: Any, values: Sequence[Value], count: int) -> Any:
    """Return a tensor of one number, None where the operation is something else."""
    (end, *others) = block.operations
    if others or count != 1 or len(values) != 2 or values[0].ndim:
        return None
    if list(end.operation.operands) != [block.arguments[0]]:
        return None
    scalar = m.x(0)
    m.note_narrow(scalar)
    return op.full(list(_known(values[1])), scalar, m.dtype())
