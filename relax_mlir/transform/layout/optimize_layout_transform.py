"""The pass `optimize-layout-transform`: changes of layout that cancel each other are taken out."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.axis_map import AxisMap
from relax_mlir.dialects.relax.side_effects import functions_to_optimize
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import Facts
from relax_mlir.relax.dpl import TuplePattern, is_op, rewrite_in_place, wildcard
from relax_mlir.tir.view.simplify import simplify
from relax_mlir.transform.layout.alter_op_impl import OPERATOR_NAME, REMOVE_PAD

_X, _CALLEE = wildcard(), wildcard()
_FIRST = is_op("relax.layout_transform")(_X)
_CALL = is_op("relax.call_tir")(_CALLEE, TuplePattern([_FIRST]))
_SECOND = is_op("relax.layout_transform")(_FIRST | _CALL)


def optimize_layout_transform(module: ir.Operation) -> None:
    """Replace `layout_transform(layout_transform(x))` by `x` where the second undoes the first.

    So it is with `remove_pad` of `AlterOpImpl` between them, which drops what the second adds
    again: what `x` has there is what a replacement computed, and no replacement may look at it.
    """

    def rewriter(expr: Any, matches: Any) -> Any:
        x = matches[_X]
        if _CALL in matches and not _removes_pad(module, matches[_CALLEE]):
            return expr
        dims = getattr(x.ty, "dims", None)
        if dims is None or getattr(expr.ty, "dims", None) != dims:
            return expr
        maps = [AxisMap.of(each.attrs["index_map"]) for each in (matches[_FIRST], expr)]
        return x if _cancel(maps, list(dims)) else expr

    for func in functions_to_optimize(module):
        rewrite_in_place(_SECOND, rewriter, module, func)


def _removes_pad(module: ir.Operation, callee: Any) -> bool:
    func = ir.SymbolTable(module)[callee.name_hint]
    for name in (OPERATOR_NAME, f"tir.{OPERATOR_NAME}"):
        if name in func.attributes:
            return ir.StringAttr(func.attributes[name]).value == REMOVE_PAD
    return False


def _cancel(maps: list[AxisMap], dims: list[SymExpr]) -> bool:
    """Whether the second map leads back to where the first began, for a shape."""
    facts, start = Facts(), [SymExpr.var(f"at{axis}") for axis in range(len(dims))]
    for index, dim in zip(start, dims, strict=True):
        if dim.value is not None:
            facts.bound(str(index), 0, max(dim.value - 1, 0))
        else:
            facts.assume(index < dim)
    place = start
    for index_map in maps:
        if len(place) != index_map.rank:
            return False
        place = [
            sum(
                (
                    (place[d.axis] // d.low if not d.size else place[d.axis] // d.low % d.size)
                    * d.factor
                    for d in digits
                ),
                SymExpr.const(0),
            )
            for digits in index_map.outputs
        ]
    return [simplify(each, facts) for each in place] == start
