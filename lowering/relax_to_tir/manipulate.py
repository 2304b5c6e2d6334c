"""Rearrangements as prim funcs: copies in another order."""

from collections.abc import Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, read_attributes
from relax_mlir.dialects.relax.symbolic import product
from relax_mlir.dialects.tir.builder import Buffer, PrimFuncBuilder
from relax_mlir.lowering.relax_to_tir.elementwise import spatial
from relax_mlir.lowering.relax_to_tir.emit import Legalizer


def legalize_reshape(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise reshape and flatten: one linear copy.

    A view would alias the operand, and what follows the block may update the result in place.
    """
    name = op.name.removeprefix("relax.")
    source, result = T.tensor_dims(op.operands[0].type), T.tensor_dims(op.results[0].type)
    if source is None or result is None or product(source) != product(result):
        return None

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        flat_source, flat_out = (builder.linear(buffer) for buffer in buffers)
        with builder.nest(name, spatial(flat_out.dims)) as (i,):
            flat_out.store(flat_source[i], i)

    return legalizer.call_prim(op, name, [op.operands[0]], body)


def legalize_permute_dims(legalizer: Legalizer, op: ir.Operation) -> ir.Value | None:
    """Legalise a permutation of axes."""
    axes = read_attributes(op, COMPUTE_OPS["permute_dims"].PARAMS)["axes"]
    ndim = T.tensor_ndim(op.operands[0].type)
    order = [a % ndim for a in axes] if axes is not None else list(range(ndim))[::-1]

    def body(builder: PrimFuncBuilder, buffers: Sequence[Buffer]) -> None:
        source, out = buffers
        with builder.nest("permute_dims", spatial(out.dims)) as block:
            at = tuple(block)
            inverse = [order.index(axis) for axis in range(len(order))]
            out.store(source[tuple(at[position] for position in inverse)], at)

    return legalizer.call_prim(
        op, "permute_dims", [op.operands[0]], body, key=",".join(map(str, order))
    )


LEGALIZE = {
    "reshape": legalize_reshape,
    "flatten": legalize_reshape,
    "permute_dims": legalize_permute_dims,
}
