"""Symbolic sizes of torch (sympy expressions) as symbolic integers of Relax."""

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprError

# torch assumes that a dynamic size is at least 2 while it traces and allows 0 and 1 at run time
# (torch/_export/utils.py, _check_input_constraints_for_graph), so a lower bound of 2 says nothing.
_TRACED_LOWER = 2
_MAX_BOUND = 2**62


def _floor_divide(lhs: SymExpr, rhs: SymExpr) -> SymExpr:
    return lhs // rhs


# Functions of torch.utils._sympy.functions, by class name: importing them would tie this to one
# version of torch.
_FUNCTIONS: dict[str, Callable[..., SymExpr]] = {
    "Add": lambda *args: functools.reduce(operator.add, args),
    "FloorDiv": _floor_divide,
    "CleanDiv": _floor_divide,
    "Mod": operator.mod,
    "PythonMod": operator.mod,
    "ModularIndexing": lambda base, divisor, modulus: (base // divisor) % modulus,
    "Max": lambda *args: functools.reduce(SymExpr.max, args),
    "Min": lambda *args: functools.reduce(SymExpr.min, args),
    "Identity": lambda value: value,
    "ToFloat": lambda value: value,
}


def size(value: Any) -> SymExpr:
    """Return an integer, a torch.SymInt or a sympy expression as a symbolic integer.

    Raises:
        ExprError: Relax has no such function of sizes.
    """
    node = getattr(value, "node", None)
    expr = sympy.sympify(value if node is None else node.expr)
    return _convert(expr)


def _convert(expr: Any) -> SymExpr:
    if expr.is_Integer:
        return SymExpr.const(int(expr))
    if expr.is_Symbol:
        return SymExpr.var(expr.name)
    name = type(expr).__name__
    if expr.is_Mul:
        return _product(expr)
    if expr.is_Pow and expr.exp.is_Integer and expr.exp > 0:
        return functools.reduce(operator.mul, [_convert(expr.base)] * int(expr.exp))
    if name in ("floor", "TruncToInt", "FloorToInt", "ceiling", "CeilToInt"):
        return _rounded(expr.args[0], up=name in ("ceiling", "CeilToInt"))
    convert = _FUNCTIONS.get(name)
    if convert is None:
        raise ExprError(f"a size is {expr}, and Relax has no '{name}' of sizes")
    return convert(*map(_convert, expr.args))


def _product(expr: Any) -> SymExpr:
    """Return a product; torch writes an exact quotient as a product with a rational number."""
    factor, rest = expr.as_coeff_Mul()
    if factor.is_Integer:
        parts = [SymExpr.const(int(factor)), *map(_convert, sympy.Mul.make_args(rest))]
        return functools.reduce(operator.mul, parts)
    return _convert(sympy.Integer(factor.p) * rest) // int(factor.q)


def _rounded(expr: Any, *, up: bool) -> SymExpr:
    """Return a quotient that is rounded, which torch has as a float between two functions."""
    if type(expr).__name__ in ("IntTrueDiv", "FloatTrueDiv"):
        numerator, denominator = map(_convert, expr.args)
    else:
        # A scale such as 1.5 is a float there.
        top, bottom = sympy.nsimplify(expr, rational=True).as_numer_denom()
        numerator, denominator = _convert(top), _convert(bottom)
    return numerator.ceildiv(denominator) if up else numerator // denominator


def bounds_of(ranges: Mapping[Any, Any]) -> dict[str, list[int]]:
    """Return the ranges of an exported program's symbols as the function attribute `bounds`.

    Args:
        ranges: `ExportedProgram.range_constraints`.
    """
    bounds = {}
    for symbol, interval in ranges.items():
        lower = int(interval.lower) if _is_finite(interval.lower) else 0
        upper = int(interval.upper) if _is_finite(interval.upper) else _MAX_BOUND
        lower = lower if lower > _TRACED_LOWER else 0
        if symbol.is_Symbol and (lower or upper < _MAX_BOUND):
            bounds[symbol.name] = [lower, upper]
    return bounds


def _is_finite(bound: Any) -> bool:
    return bool(getattr(bound, "is_Integer", False)) and abs(int(bound)) < _MAX_BOUND
