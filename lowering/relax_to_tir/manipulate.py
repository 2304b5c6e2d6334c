"""Rearrangements as prim funcs: every element of the result is one of the operand's."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, infer_result, read_attributes
from relax_mlir.dialects.relax.ops.repeat import pad_pairs, roll_shifts
from relax_mlir.dialects.relax.prover import can_prove_different, can_prove_less_equal
from relax_mlir.dialects.relax.symbolic import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, select
from relax_mlir.lowering.relax_to_tir.elementwise import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer

Indices = Sequence[Scalar]
# From the builder, the operand and an element of the result to the element of the operand.
Source = Callable[[PrimFuncBuilder, Buffer, Indices], "tuple[Scalar | int, ...]"]


def attributes(op: ir.Operation) -> dict[str, Any]:
    """Return the values of a computation's attributes."""
    return read_attributes(op, COMPUTE_OPS[op.name.removeprefix("relax.")].PARAMS)


def injective(
    legalizer: Legalizer,
    op: ir.Operation,
    source: Source,
    *,
    flat: bool = False,
    uses: Sequence[SymExpr] = (),
) -> ir.Value | None:
    """Legalise an operation whose elements each are an element of its first operand.

    Args:
        legalizer: makes the prim func.
        op: the operation.
        source: which element.
        flat: whether operand and result are taken as vectors in row-major order.
        uses: symbolic integers that `source` asks the builder for.
    """
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = (builder.linear(buffer) for buffer in buffers) if flat else buffers
        with builder.nest(name, spatial(out.dims)) as block:
            at = tuple(block)
            out.store(data[source(builder, data, at)], at)

    key = str(attributes(op))
    return legalizer.call_inferred(op, [op.operands[0]], body, key, uses=uses)


def legalize_reshape(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise what keeps the order of the elements: one linear copy.

    A view would alias the operand, and what follows the block may update the result in place. That
    there are as many elements as before is asserted where it is not certain, as for `(-1, 4)`.
    """
    source, result = T.tensor_dims(op.operands[0].type), T.tensor_dims(infer_result(op))
    if source is None or result is None or not T.tensor_dtype(op.operands[0].type):
        return None
    before, after = product(source), product(result)
    if before != after:
        if op.name != "relax.reshape" or can_prove_different(before, after):
            return None
        with ir.InsertionPoint(op), op.location:
            count = ir.Operation.create("relax.shape_expr", results=[T.shape_type([before])]).result
            ir.Operation.create(
                "relax.match_cast", results=[T.shape_type([after])], operands=[count]
            )
    return injective(legalizer, op, lambda builder, data, at: tuple(at), flat=True)


def legalize_permute_dims(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a permutation of axes."""
    axes, ndim = attributes(op)["axes"], T.tensor_ndim(op.operands[0].type)
    order = [a % ndim for a in axes] if axes is not None else list(range(ndim))[::-1]
    return injective(
        legalizer, op, lambda builder, data, at: tuple(at[order.index(i)] for i in range(ndim))
    )


def legalize_broadcast_to(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a broadcast that is certain to succeed."""
    source, result = T.tensor_dims(op.operands[0].type), T.tensor_dims(infer_result(op))
    if source is None or result is None or not broadcasts(source, result):
        return None
    return injective(
        legalizer, op, lambda builder, data, at: broadcast_indices(data.dims, result, at)
    )


def legalize_tile(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a tensor repeated as a whole."""

    def source(builder: PrimFuncBuilder, data: Buffer, at: Indices) -> tuple[Scalar | int, ...]:
        last = at[len(at) - len(data.dims) :]
        return tuple(
            0 if dim == 1 else index % _size(builder, dim)
            for index, dim in zip(last, data.dims, strict=True)
        )

    return injective(legalizer, op, source)


def _size(builder: PrimFuncBuilder, dim: SymExpr) -> Scalar | int:
    """Return a size as a number where it is one, which divides faster and keeps indices affine."""
    return builder.symbol(dim) if dim.value is None else dim.value


def legalize_repeat(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise elements repeated along an axis."""
    attrs, ndim = attributes(op), T.tensor_ndim(op.operands[0].type)
    repeats, flat = attrs["repeats"], attrs["axis"] is None
    if ndim < 0:
        return None
    axis = 0 if flat else attrs["axis"] % ndim
    return injective(
        legalizer,
        op,
        lambda builder, data, at: tuple(i // repeats if p == axis else i for p, i in enumerate(at)),
        flat=flat,
    )


def legalize_flip(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a reversal along an axis."""
    axis, ndim = attributes(op)["axis"], T.tensor_ndim(op.operands[0].type)

    def source(builder: PrimFuncBuilder, data: Buffer, at: Indices) -> tuple[Scalar, ...]:
        last = builder.symbol(data.dims[axis % ndim] - 1)
        return tuple(last - i if p == axis % ndim else i for p, i in enumerate(at))

    return injective(legalizer, op, source)


def legalize_roll(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise elements moved along axes, those beyond the end to the beginning."""
    attrs, ndim = attributes(op), T.tensor_ndim(op.operands[0].type)
    if ndim < 0:
        return None
    flat = attrs["axis"] is None
    shifts = roll_shifts({**attrs, "axis": 0} if flat else attrs, max(ndim, 1))

    def source(builder: PrimFuncBuilder, data: Buffer, at: Indices) -> tuple[Scalar, ...]:
        return tuple(
            (i - shifts[p]) % _size(builder, data.dims[p]) if shifts.get(p) else i
            for p, i in enumerate(at)
        )

    return injective(legalizer, op, source, flat=flat)


def legalize_pad(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise padding by a value, or by elements of the tensor where there are any."""
    attrs, dims = attributes(op), T.tensor_dims(op.operands[0].type)
    pairs = pad_pairs(attrs)
    if dims is None:
        return None
    if attrs["pad_mode"] != "constant":
        if not all(can_prove_less_equal(1, d) for d, p in zip(dims, pairs, strict=True) if any(p)):
            return None
        place = _PLACES[attrs["pad_mode"]]
        return injective(
            legalizer,
            op,
            lambda builder, data, at: tuple(
                place(builder, i - pair[0], dim) if any(pair) else i
                for i, dim, pair in zip(at, data.dims, pairs, strict=True)
            ),
        )

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        # Two plain blocks: neither reads outside of the data, however little that is.
        with builder.nest("fill", spatial(out.dims)) as block:
            out.store(cast(attrs["pad_value"], out.dtype), tuple(block))
        with builder.nest("pad", spatial(data.dims)) as block:
            at = tuple(block)
            moved = tuple(i + pair[0] for i, pair in zip(at, pairs, strict=True))
            out.store(data[at], moved)

    return legalizer.call_inferred(op, [op.operands[0]], body, str(attrs))


def _reflected(builder: PrimFuncBuilder, index: Scalar, dim: SymExpr) -> Scalar:
    period = ((dim - 1) * 2).max(1)
    place = index % _size(builder, period)
    return select(place < builder.symbol(dim), place, builder.symbol(period) - place)


def _nearest(builder: PrimFuncBuilder, index: Scalar, dim: SymExpr) -> Scalar:
    return binary("min", binary("max", index, 0), builder.symbol(dim - 1))


_PLACES: dict[str, Callable[[PrimFuncBuilder, Scalar, SymExpr], Scalar]] = {
    "reflect": _reflected,
    "replicate": _nearest,
    "circular": lambda builder, index, dim: index % _size(builder, dim),
}

LEGALIZE = {
    "reshape": legalize_reshape,
    "flatten": legalize_reshape,
    "expand_dims": legalize_reshape,
    "squeeze": legalize_reshape,
    "permute_dims": legalize_permute_dims,
    "broadcast_to": legalize_broadcast_to,
    "tile": legalize_tile,
    "repeat": legalize_repeat,
    "flip": legalize_flip,
    "roll": legalize_roll,
    "pad": legalize_pad,
}
