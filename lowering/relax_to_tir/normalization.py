"""Layer normalisation as a prim func, and what normalisation leaves to run time."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes, to_attribute
from relax_mlir.dialects.relax.symbolic import product
from relax_mlir.dialects.relax.tuples import field_types, make_tuple
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, cast, unary
from relax_mlir.lowering.relax_to_tir.elementwise import spatial
from relax_mlir.lowering.relax_to_tir.emit import LIBRARY_PREFIX, Legalizer, call_pure_packed
from relax_mlir.lowering.relax_to_tir.linear_algebra import ACCUMULATE


def legalize_layer_norm(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise layer normalisation: sums, sums of centred squares, then every element."""
    attrs = read_attributes(op, COMPUTE_OPS["layer_norm"].PARAMS)
    dims = T.tensor_dims(op.operands[0].type)
    if dims is None or op.results[0].type != op.operands[0].type:
        return None
    axes = [axis % len(dims) for axis in attrs["axes"]]
    for value in op.operands[1:]:
        if T.tensor_dims(value.type) != [dims[axis] for axis in axes]:
            return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, gamma, beta, out = buffers
        wide = ACCUMULATE.get(out.dtype, out.dtype)
        rows = [dim for i, dim in enumerate(dims) if i not in axes]
        iters = [("reduction" if i in axes else "spatial", dim) for i, dim in enumerate(dims)]
        count = product([dims[axis] for axis in axes])
        total = builder.alloc("Total", rows, wide)
        spread = builder.alloc("Spread", rows, wide)

        def row(at: Sequence[Scalar]) -> tuple[Scalar, ...]:
            return tuple(value for i, value in enumerate(at) if i not in axes)

        def mean(buffer: Buffer, at: Sequence[Scalar]) -> Scalar:
            return buffer[row(at)] / cast(cast(builder.symbol(count), "int64"), wide)

        with builder.nest("total", iters) as block:
            at = tuple(block)
            with block.init() as init:
                total.store(cast(0, wide), row(init))
            total.store(total[row(at)] + cast(data[at], wide), row(at))
        with builder.nest("spread", iters) as block:
            at = tuple(block)
            with block.init() as init:
                spread.store(cast(0, wide), row(init))
            centred = cast(data[at], wide) - mean(total, at)
            spread.store(spread[row(at)] + centred * centred, row(at))
        with builder.nest("layer_norm", spatial(dims)) as block:
            at = tuple(block)
            inner = tuple(at[axis] for axis in axes)
            value = cast(data[at], wide) - mean(total, at)
            value = value * unary("rsqrt", mean(spread, at) + attrs["epsilon"])
            if attrs["scale"]:
                value = value * cast(gamma[inner], wide)
            if attrs["center"]:
                value = value + cast(beta[inner], wide)
            out.store(cast(value, out.dtype), at)

    return legalizer.call_prim(op, "layer_norm", list(op.operands), body, key=str(attrs))


def legalize_at_run_time(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Leave an operation with several results to the runtime's library (D0)."""
    name = op.name.removeprefix("relax.")
    params = COMPUTE_OPS[name].PARAMS
    attrs = read_attributes(op, params)
    static = [to_attribute(p.kind, attrs[p.name]) for p in params if not p.is_operand]
    declared = op.results[0].type
    loose = [
        T.tensor_type(None, T.tensor_dtype(field), T.tensor_ndim(field))
        for field in field_types(declared)
    ]
    with ir.InsertionPoint(op), op.location:
        result = call_pure_packed(
            f"{LIBRARY_PREFIX}{name}", list(op.operands), ir.TupleType.get_tuple(loose), static
        )
        if result.type == declared:
            return result
        fields = []
        for index, (found, wanted) in enumerate(zip(loose, field_types(declared), strict=True)):
            position = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), index)
            field = ir.Operation.create(
                "relax.tuple_get_item",
                results=[found],
                operands=[result],
                attributes={"index": position},
            ).result
            fields.append(
                ir.Operation.create("relax.match_cast", results=[wanted], operands=[field]).result
            )
        return make_tuple(fields)


LEGALIZE = {
    "layer_norm": legalize_layer_norm,
    "batch_norm": legalize_at_run_time,
    "dropout": legalize_at_run_time,
}
