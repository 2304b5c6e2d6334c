"""Elementwise operations as prim funcs: one block, broadcast operands read at index 0."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import (
    COMPUTE_OPS,
    UNKNOWN,
    constant_value,
    read_attributes,
)
from relax_mlir.dialects.relax.ops.elementwise import COMPARISON
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import cast, compare, select
from relax_mlir.lowering.relax_to_tir.support.axes import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.support.constant_scalars import number, scalar_of
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.limits import ACCUMULATE, common_dtype
from relax_mlir.lowering.relax_to_tir.support.scalar_functions import (
    BINARY,
    PARAMETRIC,
    TERNARY,
    UNARY,
)


def legalize_unary(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a unary operation of the table."""
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at = tuple(block)
            out.store(UNARY[name](source[at]), at)

    return legalizer.call_prim(op, name, [op.operands[0]], body)


def legalize_parametric(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a unary operation that has numbers as parameters."""
    name = op.name.removeprefix("relax.")
    given = read_attributes(op, COMPUTE_OPS[name].PARAMS)
    attrs = {key: constant_value(value) for key, value in given.items()}
    if UNKNOWN in attrs.values():
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at = tuple(block)
            value = source[at]
            wide = cast(value, ACCUMULATE.get(value.dtype, value.dtype))
            out.store(cast(PARAMETRIC[name](wide, attrs), out.dtype), at)

    return legalizer.call_prim(op, name, [op.operands[0]], body, key=str(attrs))


def legalize_broadcast(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise an operation of broadcast operands, where broadcasting is certain.

    Constants of one element are numbers in the kernel, so that what is made for numbers is found.
    """
    name = op.name.removeprefix("relax.")
    shapes = T.all_dims(value.type for value in (*op.operands, op.results[0]))
    if shapes is None:
        return None
    *sources, out_dims = shapes
    if not all(broadcasts(dims, out_dims) for dims in sources):
        return None
    compute = BINARY.get(name) or TERNARY[name]
    numbers = [scalar_of(value) for value in op.operands]
    tensors = [value for value, given in zip(op.operands, numbers, strict=True) if given is None]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        *sources, out = buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at, rest, values = tuple(block), iter(sources), []
            for value, given in zip(op.operands, numbers, strict=True):
                if given is not None:
                    values.append(number(given, value.type))
                    continue
                source = next(rest)
                values.append(source[broadcast_indices(source.dims, out.dims, at)])
            if name in COMPARISON:
                wide = common_dtype([value.dtype for value in values])
                values = [cast(value, wide) for value in values]
            out.store(compute(*values), at)

    # Functions that differ in which operand is a number differ in their operands' types.
    known = [
        f"{given}: {value.type}" if given is not None else ""
        for value, given in zip(op.operands, numbers, strict=True)
    ]
    return legalizer.call_prim(op, name, tensors, body, key=str(known) if any(known) else "")


def legalize_prelu(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise prelu: one slope for each index along an axis, or for all."""
    dims, slopes = (T.tensor_dims(value.type) for value in op.operands)
    if dims is None or slopes is None:
        return None
    axis = read_attributes(op, COMPUTE_OPS["prelu"].PARAMS)["axis"] % len(dims)
    if slopes[0] not in (1, dims[axis]):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, alpha, out = buffers
        with builder.nest("prelu", spatial(out.dims)) as block:
            at = tuple(block)
            x = data[at]
            out.store(
                select(compare("gt", x, 0), x, x * alpha[at[axis] if slopes[0] != 1 else 0]), at
            )

    return legalizer.call_prim(op, "prelu", list(op.operands), body, key=str(axis))


def legalize_astype(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a dtype conversion."""

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        with builder.nest("astype", spatial(out.dims)) as block:
            at = tuple(block)
            out.store(cast(source[at], out.dtype), at)

    return legalizer.call_prim(op, "astype", [op.operands[0]], body)


LEGALIZE = {
    **dict.fromkeys(UNARY, legalize_unary),
    **dict.fromkeys(PARAMETRIC, legalize_parametric),
    **dict.fromkeys((*BINARY, *TERNARY), legalize_broadcast),
    "prelu": legalize_prelu,
    "astype": legalize_astype,
}
