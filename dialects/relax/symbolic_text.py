"""Symbolic integers read from their text: what `str` of an expression gives."""

import ast

from relax_mlir.dialects.relax.symbolic import SymExpr

_OPERATORS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}
_CALLS = {
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
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return _OPERATORS[type(node.op)](_read(node.left), _read(node.right))
    if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
        combine = _CALLS.get(ast.unparse(node.func))
        if combine is not None:
            return combine(*map(_read, node.args))
    raise ValueError(f"'{ast.unparse(node)}' is no expression of a shape")
