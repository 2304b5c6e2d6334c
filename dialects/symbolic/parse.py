"""Parsing symbolic integers from their text and from MLIR."""

import ast

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr

OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
CALLS = {
    "T.max": lambda a, b: a.max(b),
    "T.min": lambda a, b: a.min(b),
    "T.ceildiv": lambda a, b: a.ceildiv(b),
}


def read_expression(text: str) -> SymExpr:
    """Return the expression that a text such as `T.max(n * 2, m) // 4` spells.

    Raises:
        ValueError: it spells none, or divides by zero.
    """
    try:
        return _read(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError, ZeroDivisionError) as error:
        raise ValueError(f"'{text}' is no expression of a shape: {error}") from error


def _read(node: ast.AST) -> SymExpr:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return SymExpr.const(node.value)
    if isinstance(node, ast.Name):
        return SymExpr.var(node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_read(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        return OPERATORS[type(node.op)](_read(node.left), _read(node.right))
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        combine = CALLS.get(ast.unparse(node.func))
        if combine is not None:
            return combine(*map(_read, node.args))
    raise ValueError(f"'{ast.unparse(node)}' is no expression of a shape")


def leaf(text: str) -> SymExpr:
    """Return what a name in `#relax.dims` stands for: a symbol, or a minimum or maximum.

    Raises:
        ValueError: it is neither.
    """
    if text.isidentifier():
        return SymExpr.var(text)
    try:
        expr = read_expression(text)
    except ValueError:
        expr = SymExpr.const(0)
    if expr.leaves != {text} or str(expr) != text:
        raise ValueError(
            f"a symbol of #relax.dims must be an identifier, or a minimum or maximum in "
            f"normal form, got '{text}'"
        )
    return expr


def read_affine(expr: ir.AffineExpr, names: list[str]) -> SymExpr:
    """Return the expression of an MLIR affine expression over symbols.

    Args:
        expr: the expression.
        names: what its symbols are, by their positions: see `leaf`.

    Raises:
        ValueError: it has dimension identifiers, more symbols than names, or divides by zero.
    """
    total, summands = SymExpr.const(0), [expr]
    while summands:  # sums are as deep as they are long, so they are not left to recursion
        part = summands.pop().maybe_downcast()
        if isinstance(part, ir.AffineAddExpr):
            summands += [part.rhs, part.lhs]
        else:
            total = total + _summand(part, names)
    return total


_AFFINE = {
    ir.AffineMulExpr: lambda a, b: a * b,
    ir.AffineModExpr: lambda a, b: a % b,
    ir.AffineFloorDivExpr: lambda a, b: a // b,
    ir.AffineCeilDivExpr: lambda a, b: a.ceildiv(b),
}


def _summand(expr: ir.AffineExpr, names: list[str]) -> SymExpr:
    if isinstance(expr, ir.AffineConstantExpr):
        return SymExpr.const(expr.value)
    if isinstance(expr, ir.AffineSymbolExpr):
        if expr.position >= len(names):
            raise ValueError(f"symbol {expr} of a shape has no name among {names}")
        return leaf(names[expr.position])
    combine = _AFFINE.get(type(expr))
    if combine is None:
        raise ValueError(f"a symbolic shape cannot contain '{expr}'")
    lhs, rhs = (read_affine(side, names) for side in (expr.lhs, expr.rhs))
    try:
        return combine(lhs, rhs)
    except ZeroDivisionError as error:
        raise ValueError(str(error)) from error
