"""Legalization: every computation becomes a call of a prim func or of the runtime."""

from collections.abc import Callable, Container, Mapping
from types import MappingProxyType

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.locations import location_name
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS
from relax_mlir.dialects.relax.tuples import is_make_tuple
from relax_mlir.lowering.relax_to_tir import (
    attention,
    conv_pool,
    conv_transpose,
    create,
    elementwise,
    image,
    index,
    join,
    linear_algebra,
    loss,
    manipulate,
    nn,
    nonzero,
    normalization,
    quantize,
    query,
    random,
    reduce,
    scan,
    search,
    sort,
    unique,
)
from relax_mlir.lowering.relax_to_tir.blocked_layouts import WITHOUT_BLOCKS
from relax_mlir.lowering.relax_to_tir.collective import COLLECTIVES
from relax_mlir.lowering.relax_to_tir.compositions import COMPOSITIONS
from relax_mlir.lowering.relax_to_tir.decompose import DECOMPOSE, decompose_ops
from relax_mlir.lowering.relax_to_tir.support.emit import Legalizer
from relax_mlir.lowering.walk import INNER_FIRST, named

_LITERALS = ("relax.shape_expr", "relax.prim_value", "relax.constant")
Legalization = Callable[[Legalizer, ir.Operation], ir.Value | None]


LEGALIZE: dict[str, Legalization] = {
    **attention.LEGALIZE,
    **elementwise.LEGALIZE,
    **linear_algebra.LEGALIZE,
    **manipulate.LEGALIZE,
    **create.LEGALIZE,
    **image.LEGALIZE,
    **join.LEGALIZE,
    **index.LEGALIZE,
    **loss.LEGALIZE,
    **quantize.LEGALIZE,
    **query.LEGALIZE,
    **random.LEGALIZE,
    **reduce.LEGALIZE,
    **scan.LEGALIZE,
    **search.LEGALIZE,
    **sort.LEGALIZE,
    **nn.LEGALIZE,
    **nonzero.LEGALIZE,
    **normalization.LEGALIZE,
    **conv_transpose.LEGALIZE,
    **unique.LEGALIZE,
    **conv_pool.LEGALIZE,
}


def legalize_ops(
    module: ir.Operation,
    defaults: Mapping[str, Legalization] = MappingProxyType({}),
    skipped: Container[str] = (),
) -> list[str]:
    """Replace every computation in the module's Relax functions.

    One whose shapes and dtypes are known symbolically becomes `relax.call_tir` of a generated prim
    func; any other a call of the runtime's library, which dispatches on what it gets.

    Args:
        module: the module.
        defaults: what operations without a legalisation here become.
        skipped: names of operations that stay, without `relax.`.

    Returns:
        The operations that became calls of the library, by name.
    """
    decompose_ops(module, WITHOUT_BLOCKS, skipped)
    decompose_ops(module, {**DECOMPOSE, **COMPOSITIONS, **COLLECTIVES}, skipped)
    legalizer = Legalizer(module)
    names = {f"relax.{name}" for name in COMPUTE_OPS if name not in skipped}
    in_library: list[str] = []
    for op in named(module, names, INNER_FIRST):
        name = op.name.removeprefix("relax.")
        legalize = LEGALIZE.get(name, defaults.get(name))
        with op.location:  # inference makes types, which takes one
            result = legalize(legalizer, op) if legalize is not None else None
        if result is None:
            result = legalizer.call_library(op)
            in_library.append(name)
        op.results[0].replace_all_uses_with(result)
        _erase(op)
    return in_library


def _erase(op: ir.Operation) -> None:
    """Erase an operation with the shapes, numbers and tuples that are written in it."""
    owners = [value.owner for value in op.operands]
    parts = {owner.operation for owner in owners if not isinstance(owner, ir.Block)}
    op.erase()
    for part in parts:
        is_part = part.name in _LITERALS or is_make_tuple(part)
        if is_part and not location_name(part.location) and not list(part.results[0].uses):
            _erase(part)
