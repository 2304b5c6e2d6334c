"""`T.reads` and `T.writes`: the declared regions of a block."""

import ast
from collections.abc import Mapping, Sequence

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Access, Region
from relax_mlir.script.parser.dims import INTEGER_CALLS
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.expr.parser import TirExprParser
from relax_mlir.script.tir_parser.expr.tables import OPERATORS, SYMBOLIC


def read_regions(
    p: TirExprParser, call: Node, iters: Sequence[str], firsts: Mapping[str, int],
    nested: bool = False,
) -> list[Access] | None:  # fmt: skip
    """Return the regions of one statement; None where elements are all that it names.

    Args:
        p: the expression parser.
        call: `T.reads(A[vi, 0:4], B[vi])`.
        iters: names of the block's iterators.
        firsts: where iterators of the script begin that begin after 0.
        nested: whether the block holds loops or blocks: elements that these access count too.

    Raises:
        ScriptError: it names no buffer, or indices in another number than dimensions.
    """
    nodes: list[Node] = []
    for arg in call.args:
        nodes += arg.elts if isinstance(arg, (ast.List, ast.Tuple)) else [arg]
    result = [_region(p, node, iters, firsts) for node in nodes]
    plain = all(access is None or not access.extents for access in result)
    if (plain and not nested) or None in result:
        return None
    return [access for access in result if access is not None]


def _region(
    p: TirExprParser, node: Node, iters: Sequence[str], firsts: Mapping[str, int]
) -> Access | None:
    whole = not isinstance(node, ast.Subscript)
    buffer = p.buffer(node if whole else node.value)
    items = [] if whole else node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if isinstance(buffer, Region):
        return None
    if not whole and len(items) != len(buffer.dims):
        if not buffer.dims and len(items) == 1 and _is_zero_rank(items[0]):
            return Access(buffer, ir.AffineMapAttr.get(ir.AffineMap.get(len(iters), 0, [])))
        p.scope.fail(node, f"'{buffer.name}' has {len(buffer.dims)} dimensions, got {len(items)}")
    starts: list[ir.AffineExpr | None] = []
    extents: list[SymExpr] = []
    for position, dim in enumerate(buffer.dims):
        item = ast.Slice() if whole else items[position]
        start, extent = _range(p, item, dim, firsts)
        if start is None or extent is None or extent.symbols & set(iters):
            return None
        starts.append(_affine(start, iters))
        extents.append(extent)
    access: ir.Attribute = ir.UnitAttr.get()
    known = [start for start in starts if start is not None]
    if len(known) == len(starts):
        access = ir.AffineMapAttr.get(ir.AffineMap.get(len(iters), 0, known))
    plain = all(extent.value == 1 for extent in extents)
    return Access(buffer, access, () if plain else tuple(extents))


def _is_zero_rank(node: Node) -> bool:
    return isinstance(node, ast.Tuple) and not node.elts


def _range(
    p: TirExprParser, item: Node, dim: SymExpr, firsts: Mapping[str, int]
) -> tuple[SymExpr | None, SymExpr | None]:
    """Return where a slice begins and how long it is, None where that is no plain arithmetic."""
    if not isinstance(item, ast.Slice):
        return _symbolic(p, item, firsts), SymExpr.const(1)
    if item.step is not None:
        p.scope.fail(item.step, "a region has no step")
    start = SymExpr.const(0) if item.lower is None else _symbolic(p, item.lower, firsts)
    end = dim if item.upper is None else _symbolic(p, item.upper, firsts)
    return start, None if start is None or end is None else end - start


def _symbolic(p: TirExprParser, node: Node, firsts: Mapping[str, int]) -> SymExpr | None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return SymExpr.const(node.value)
    if isinstance(node, ast.Name):
        value = p.scope.lookup_or(node, None)
        if isinstance(value, SymExpr):
            return value
        if type(value) is int:
            return SymExpr.const(value)
        return SymExpr.var(node.id) + firsts.get(node.id, 0) if value is not None else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _symbolic(p, node.operand, firsts)
        return None if value is None else -value
    operands: list[Node] = []
    combine = None
    if isinstance(node, ast.BinOp):
        operands, combine = [node.left, node.right], SYMBOLIC.get(OPERATORS.get(type(node.op), ""))
    elif isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        operands, combine = node.args, INTEGER_CALLS.get(ast.unparse(node.func))
    if combine is None:
        return None
    lhs, rhs = (_symbolic(p, operand, firsts) for operand in operands)
    if lhs is None or rhs is None:
        return None
    try:
        return combine(lhs, rhs)
    except ZeroDivisionError as error:
        p.scope.fail(node, str(error))


def _affine(expr: SymExpr, iters: Sequence[str]) -> ir.AffineExpr | None:
    """Return an expression over iterators, None where anything else is in it."""
    if not expr.leaves <= set(iters):
        return None
    # In the order of the iterators, whatever their names: equal expressions are equal maps then.
    places = [list(iters).index(name) for name in sorted(expr.leaves)]
    names = {iters[place]: SymExpr.var(f"d{place:04}") for place in places}
    try:
        affine = expr.substitute(names).to_affine(
            {f"d{place:04}": i for i, place in enumerate(sorted(places))}
        )
    except (KeyError, ValueError):
        return None
    return _with_dims(affine, [ir.AffineDimExpr.get(place) for place in sorted(places)])


def _with_dims(expr: ir.AffineExpr, dims: Sequence[ir.AffineExpr]) -> ir.AffineExpr:
    known = expr.maybe_downcast()
    if isinstance(known, ir.AffineConstantExpr):
        return known
    if isinstance(known, ir.AffineSymbolExpr):
        return dims[known.position]
    sides = _with_dims(known.lhs, dims), _with_dims(known.rhs, dims)
    for kind, make in (
        (ir.AffineAddExpr, ir.AffineExpr.get_add), (ir.AffineMulExpr, ir.AffineExpr.get_mul),
        (ir.AffineModExpr, ir.AffineExpr.get_mod), (ir.AffineFloorDivExpr,
                                                    ir.AffineExpr.get_floor_div),
    ):  # fmt: skip
        if isinstance(known, kind):
            return make(*sides)
    return ir.AffineExpr.get_ceil_div(*sides)
