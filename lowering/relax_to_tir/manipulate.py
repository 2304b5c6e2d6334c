"""Shape manipulation as prim funcs: each element of the result is one of the operand's."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, infer_result, read_attributes
from relax_mlir.dialects.relax.ops.core import CHECKED
from relax_mlir.dialects.relax.ops.repeat import pad_pairs, roll_shifts
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_different, can_prove_less_equal
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.dialects.tir.scalar import Scalar, binary, cast, select
from relax_mlir.lowering.relax_to_tir.support.axes import broadcast_indices, broadcasts, spatial
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.relax_to_tir.support.index_checks import check_not_empty

_CHECKED = "number of elements of the reshape to ({})"
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
        what = _CHECKED.format(", ".join(map(str, result)))
        with ir.InsertionPoint(op), op.location:
            count = ir.Operation.create("relax.shape_expr", results=[T.shape_type([before])]).result
            ir.Operation.create(
                "relax.match_cast", results=[T.shape_type([after])], operands=[count],
                attributes={CHECKED: ir.StringAttr.get(what)},
            )  # fmt: skip
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
    dims, result = T.tensor_dims(op.operands[0].type), T.tensor_dims(infer_result(op))

    def places(
        builder: PrimFuncBuilder, at: Indices, dims: Sequence[SymExpr]
    ) -> list[Scalar | int]:
        last = at[len(at) - len(dims) :]
        return [
            0 if dim == 1 else index % _size(builder, dim)
            for index, dim in zip(last, dims, strict=True)
        ]

    def source(builder: PrimFuncBuilder, data: Buffer, at: Indices) -> tuple[Scalar | int, ...]:
        return tuple(places(builder, at, data.dims))

    if not dims or result is None or dims[-1].value is not None:
        return injective(legalizer, op, source)
    length, times = dims[-1], SymExpr.const((attributes(op)["repeats"] or [1])[-1])

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = buffers
        # Rows one after the other in each row: a remainder by a symbol would have a gather.
        with builder.nest("tile", spatial([*out.dims[:-1], times, length])) as block:
            *outer, turn, index = block
            rows = places(builder, outer, data.dims[:-1])
            out.store(data[(*rows, index)], (*outer, turn * builder.symbol(length) + index))

    return legalizer.call_inferred(op, [op.operands[0]], body, str(attributes(op)))


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
    attrs, dims = attributes(op), T.tensor_dims(op.operands[0].type)
    if dims is None:
        return None
    flat = attrs["axis"] is None
    shifts = roll_shifts({**attrs, "axis": 0} if flat else attrs, max(len(dims), 1))
    sizes = [product(dims)] if flat else dims
    last = len(sizes) - 1

    def place(builder: PrimFuncBuilder, axis: int, index: Scalar) -> Scalar:
        if not shifts.get(axis):
            return index
        return (index - shifts[axis]) % _size(builder, sizes[axis])

    def source(builder: PrimFuncBuilder, data: Buffer, at: Indices) -> tuple[Scalar, ...]:
        return tuple(place(builder, axis, index) for axis, index in enumerate(at))

    if last < 0 or not shifts.get(last):
        return injective(legalizer, op, source, flat=flat)
    moved = SymExpr.of(shifts[last]) % sizes[last].max(1)
    rest = sizes[last] - moved
    pieces = [_Piece(moved, rest, 1), _Piece(rest, SymExpr.const(0), 1)]
    return _in_pieces(legalizer, op, pieces, place, flat=flat)


@dataclass(frozen=True)
class _Piece:
    """A part of the last axis that is read from a place on, forwards, backwards or standing.

    Without a step each element says where it is read.
    """

    extent: SymExpr
    first: SymExpr
    step: int | None


def _in_pieces(
    legalizer: Legalizer, op: ir.Operation, pieces: Sequence[_Piece],
    place: Callable[[PrimFuncBuilder, int, Scalar], Scalar], *, flat: bool = False,
) -> ir.Value | None:  # fmt: skip
    """Legalise what reads the last axis piece by piece, each with a step that vectors can take.

    Args:
        legalizer: makes the prim func.
        op: the operation.
        pieces: of the result's last axis, in order.
        place: from an index of another axis, or of a piece without step, to that of the operand.
        flat: whether operand and result are taken as vectors in row-major order.
    """
    name = op.name.removeprefix("relax.")

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        data, out = (builder.linear(buffer) for buffer in buffers) if flat else buffers
        start = SymExpr.const(0)
        for piece in pieces:
            if piece.extent != 0:
                with builder.nest(name, spatial([*out.dims[:-1], piece.extent])) as block:
                    *outer, index = block
                    write = index if start == 0 else index + builder.symbol(start)
                    if piece.step is None:
                        read = place(builder, len(outer), write)
                    else:
                        read = index * piece.step if piece.step != 1 else index
                        if piece.first != 0:
                            read = read + builder.symbol(piece.first)
                    rows = [place(builder, axis, at) for axis, at in enumerate(outer)]
                    out.store(data[(*rows, read)], (*outer, write))
            start = start + piece.extent

    uses = [item for piece in pieces for item in (piece.extent, piece.first)]
    key = str(attributes(op))
    return legalizer.call_inferred(op, [op.operands[0]], body, key, uses=uses)


def legalize_pad(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise padding by a value, or by elements of the tensor where there are any."""
    attrs, dims = attributes(op), T.tensor_dims(op.operands[0].type)
    pairs = pad_pairs(attrs)
    if dims is None:
        return None
    if attrs["pad_mode"] != "constant":
        widened = [d for d, pair in zip(dims, pairs, strict=True) if any(pair)]
        result = T.tensor_dims(infer_result(op))
        if result is None or any(d == 0 for d in widened):
            return None
        for d in widened:
            if not can_prove_less_equal(1, d):
                check_not_empty(op, product(result), d)
        mode = _PLACES[attrs["pad_mode"]]

        def place(builder: PrimFuncBuilder, axis: int, index: Scalar) -> Scalar:
            return mode(builder, index - pairs[axis][0], dims[axis]) if any(pairs[axis]) else index

        if dims and any(pairs[-1]):
            pieces = _pad_pieces(attrs["pad_mode"], dims[-1], *pairs[-1])
            return _in_pieces(legalizer, op, pieces, place)
        return injective(
            legalizer,
            op,
            lambda builder, data, at: tuple(place(builder, *each) for each in enumerate(at)),
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


def _pad_pieces(mode: str, dim: SymExpr, before: int, after: int) -> list[_Piece]:
    """Return the pieces of a padded axis."""
    least = {"reflect": 1 + max(before, after), "circular": max(before, after)}.get(mode, 1)
    zero = SymExpr.const(0)
    left: tuple[SymExpr, int | None]
    right: tuple[SymExpr, int | None]
    if can_prove_less_equal(least, dim):
        left, right = {
            "reflect": ((SymExpr.const(before), -1), (dim - 2, -1)),
            "replicate": ((zero, 0), (dim - 1, 0)),
            "circular": ((dim - before, 1), (zero, 1)),
        }[mode]
    else:
        # Its elements may come more than once.
        left = right = (zero, None)
    return [
        _Piece(SymExpr.const(before), left[0], left[1]),
        _Piece(dim, zero, 1),
        _Piece(SymExpr.const(after), right[0], right[1]),
    ]


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
