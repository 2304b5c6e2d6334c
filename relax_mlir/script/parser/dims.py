"""Dimensions: expressions over integers and symbols, `n * 4` or `"n * 4"`."""

import ast
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.symbolic.binding import bound_symbols
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.parse import CALLS, OPERATORS
from relax_mlir.errors import did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.ir.global_info import GlobalInfo
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node

INTEGER_CALLS = {
    **CALLS,
    **dict.fromkeys(("T.floordiv", "T.truncdiv", "T.FloorDiv"), OPERATORS[ast.FloorDiv]),
    **dict.fromkeys(("T.floormod", "T.FloorMod"), OPERATORS[ast.Mod]),
    "T.Max": CALLS["T.max"], "T.Min": CALLS["T.min"],
}  # fmt: skip


_INTEGERS = ("T.int64", "T.int32")


class DimParser:
    """Reads the expressions of one shape, signature or pattern.

    Args:
        scope: the function being parsed.
        define: whether a name that means nothing yet becomes a symbol (signatures, patterns of
            match_cast), or is an error.
    """

    def __init__(self, scope: Scope, define: bool = False) -> None:
        self.scope = scope
        self.define = define
        self.seen: list[SymExpr] = []
        self.fresh: dict[str, Node] = {}

    def dims(self, nodes: Sequence[Node]) -> list[SymExpr]:
        """Return the dimensions that the nodes spell; `*dims` of a Python sequence are several.

        Raises:
            ScriptError: not integer expressions, or a symbol that nothing binds.
        """
        result: list[SymExpr] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                several = captured_value(self.scope, node.value)
                if not isinstance(several, (tuple, list)):
                    self.scope.fail(node, "'*' takes a Python sequence of dimensions")
                result += captured_dims(self.scope, node, several)
            else:
                result.append(self.dim(node))
        return result

    def dim(self, node: Node) -> SymExpr:
        """Return one dimension; a name in it may be bound by it, as `n` by `n` or by `n * 2`."""
        expr = self._quoted(node) if _is_text(node) else self._expr(node, None, True)
        check_size(self.scope, node, expr)
        self.seen.append(expr)
        if not self.define:
            self.check_bound(node, expr)
        return expr

    def integer(self, node: Node) -> SymExpr:
        """Return an integer expression that may be negative, such as `-1` in a reshape."""
        expr = self._quoted(node) if _is_text(node) else self._expr(node, None, True)
        self.check_bound(node, expr)
        return expr

    def check_bound(self, node: Node, expr: SymExpr) -> None:
        """Raise a ScriptError when nothing gives a symbol of the expression its value."""
        for name in sorted(expr.symbols):
            if not self.scope.symbols.get(name, False):
                self.scope.fail(
                    node,
                    f"symbol '{name}' has no value here: no parameter's shape has it as a "
                    f"dimension; bind it first, as in R.match_cast(x, R.Tensor((..., {name})))",
                )

    def finish(self) -> None:
        """Mark what the signature or pattern binds.

        Raises:
            ScriptError: a symbol occurs only in expressions that cannot be solved for it.
        """
        used = frozenset().union(*(dim.symbols for dim in self.seen), self.fresh)
        known = {name for name in used if self.scope.symbols.get(name, False)}
        known |= bound_symbols(self.seen, known)
        for name, node in self.fresh.items():
            if name not in known:
                self.scope.fail(
                    node,
                    f"symbol '{name}' occurs only inside expressions that do not determine it; one "
                    f"dimension must be '{name}' itself, or like '{name} * 2 + 1', to give it a "
                    "value",
                )
        for name in known:
            self.scope.symbols[name] = True

    def _quoted(self, node: Node) -> SymExpr:
        try:
            tree = ast.parse(node.value.strip(), mode="eval").body
        except SyntaxError:
            self.scope.fail(node, f"'{node.value}' is not an integer expression")
        return self._expr(tree, node, False)

    def _expr(self, node: Node, at: Node, captured: bool) -> SymExpr:
        """Read a node; `at` is where errors point when the node comes from quoted text."""
        place = at or node
        if isinstance(node, ast.Constant) and type(node.value) is int:
            return SymExpr.const(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, place, captured)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -self._expr(node.operand, at, captured)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            pair = [self._expr(side, at, captured) for side in (node.left, node.right)]
            return self._apply(OPERATORS[type(node.op)], pair, place)
        if isinstance(node, ast.Call) and not node.keywords:
            return self._call(node, at, captured)
        if isinstance(node, (ast.Attribute, ast.Subscript)) and captured:
            return self._known(node)
        self.scope.fail(place, "a dimension must be an integer expression over symbols")

    def _call(self, node: Node, at: Node, captured: bool) -> SymExpr:
        place, path = at or node, self.scope.path(node.func) or ""
        if path in ("T.cast", "T.Cast", "T.IntImm") and len(node.args) == 2:
            # A dimension is an int64 whatever it is cast to.
            value = node.args[0] if path == "T.cast" else node.args[1]
            return self._expr(value, at, captured)
        python = None
        if captured and not path:
            macros = extension("script.macros")
            python = macros.python_function(self.scope, node.func)
        if python is not None:
            value = macros.call_python(
                self.scope, python, node, lambda arg: self._expr(arg, at, captured)
            )
            if not isinstance(value, SymExpr) and not hasattr(value, "__index__"):
                self.scope.fail(place, f"a dimension must be an integer, got {value!r}")
            return SymExpr.of(value)
        args = [self._expr(arg, at, captured) for arg in node.args]
        if path in INTEGER_CALLS and len(args) == 2:
            return self._apply(INTEGER_CALLS[path], args, place)
        if path in (*_INTEGERS, "T.meta_var", "I.meta_var") and len(args) == 1:
            return args[0]
        if path in _INTEGERS and not args:
            self.scope.fail(place, f"give the symbol a name first, as in n = {path}(), or take 'n'")
        self.scope.fail(
            place,
            "a dimension cannot be a call; compute a whole shape with R.call_pure_packed",
        )

    def _apply(self, function: Any, args: list[SymExpr], place: Node) -> SymExpr:
        try:
            return function(*args)
        except ZeroDivisionError as error:
            self.scope.fail(place, str(error))

    def _known(self, node: Node) -> SymExpr:
        """Read `x.shape[0]`, or an attribute or item of a captured Python value."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            tensor, index = node.value.value, _literal_index(node.slice)
            name = tensor.id if isinstance(tensor, ast.Name) else ""
            if name in self.scope.values and node.value.attr == "shape" and index is not None:
                value = self.scope.values[name]
                # Buffers of prim funcs have dimensions too.
                dims = getattr(value, "dims", None)
                if isinstance(value, ir.Value):
                    dims = T.tensor_dims(value.type)
                if dims is None or not -len(dims) <= index < len(dims):
                    self.scope.fail(node, "this dimension is not known here; bind it by match_cast")
                return dims[index]
        value = captured_value(self.scope, node)
        if value is MISSING or not hasattr(value, "__index__"):
            self.scope.fail(node, "a dimension must be an integer expression over symbols")
        return SymExpr.of(value)

    def _name(self, name: str, place: Node, captured: bool) -> SymExpr:
        scope = self.scope
        bound = scope.values.get(name, MISSING)
        if isinstance(bound, SymExpr):
            for symbol in bound.symbols:
                self.fresh.setdefault(symbol, place)
            return bound
        if isinstance(bound, int) and not isinstance(bound, bool):
            return SymExpr.of(bound)
        if isinstance(bound, ir.Value):
            known = scope.symbol_of(bound, name, place)
            if known is not None:
                return known
            if scope.symbols.get(name, False):
                # A tensor that is called like one of its dimensions is no dimension.
                return SymExpr.var(name)
            if isinstance(bound.type, Shape):
                scope.fail(
                    place, f"'{name}' is a shape, not a dimension; use it without parentheses"
                )
            scope.fail(place, f"'{name}' is not an integer; a dimension must be one")
        if name not in scope.symbols:
            value: Any = scope.env.lookup(name) if captured else MISSING
            if value is not MISSING and hasattr(value, "__index__") and not isinstance(value, bool):
                return SymExpr.of(value)
            if not self.define:
                if name in scope.ended:
                    scope.undefined(place, name)
                near = did_you_mean(name, [*scope.symbols, *scope.values])
                near = near or (
                    "; it can be bound by R.match_cast or R.match_shape, or by the signature"
                )
                scope.fail(place, f"undefined symbol '{name}'{near}")
            if name == "_":
                scope.fail(place, "'_' stands for a whole unknown shape, not for a dimension")
            scope.symbols[name] = False
        self.fresh.setdefault(name, place)
        return SymExpr.var(name)


def _literal_index(node: Node) -> int | None:
    try:
        index = ast.literal_eval(node)
    except ValueError:
        return None
    return index if type(index) is int else None


def _is_text(node: Node) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def check_size(scope: Scope, node: Node, dim: SymExpr) -> None:
    """Raise a ScriptError for a dimension that is certainly negative or beyond 64 bits."""
    if (dim.value or 0) < 0:
        scope.fail(node, f"a dimension cannot be negative, got {dim}")
    if (dim.value or 0) >= 2**63:
        scope.fail(node, f"a dimension does not fit 64 bits, got {dim}")


def check_bytes(scope: Scope, node: Node, dims: Sequence[SymExpr], dtype: str) -> None:
    """Raise a ScriptError for a tensor that no memory can hold, whatever its symbols are."""
    known = [dim.value for dim in dims if dim.value is not None]
    size = math.prod(known) * T.dtype_size(dtype or "int8")
    if size >= 2**63:
        scope.fail(node, f"a tensor of {size} bytes is more than 64 bits can address")


def captured_dims(scope: Scope, node: Node, values: Sequence[Any]) -> list[SymExpr]:
    """Return the dimensions of a shape that is a Python value around the script.

    Raises:
        ScriptError: it holds something else than dimensions.
    """
    dims = []
    for value in values:
        whole = hasattr(value, "__index__") and not isinstance(value, bool)
        if not whole and not isinstance(value, SymExpr):
            scope.fail(
                node, f"a dimension must be an integer, got {value!r} in {ast.unparse(node)}"
            )
        dims.append(SymExpr.of(value))
        check_size(scope, node, dims[-1])
    return dims


def captured_value(scope: Scope, node: Node) -> Any:
    """Return an attribute or item of a captured Python value, MISSING when it is none.

    Variables of unrolled loops and parameters of macros may be Python values too. Only attributes,
    constant subscripts and limits of dtypes (`np.iinfo`) are followed: the text of a script is
    never executed.
    """
    if isinstance(node, ast.Name):
        if node.id not in scope.values:
            return scope.env.lookup(node.id)
        value = scope.values[node.id]
        return value if _is_python(value) else MISSING
    if isinstance(node, ast.Attribute):
        base = captured_value(scope, node.value)
        return MISSING if base is MISSING else getattr(base, node.attr, MISSING)
    if isinstance(node, ast.Subscript):
        base = captured_value(scope, node.value)
        try:
            return MISSING if base is MISSING else base[constant_index(scope, node.slice)]
        except (LookupError, TypeError, ValueError):
            return MISSING
    if isinstance(node, ast.Call) and len(node.args) == 1:
        limits, (dtype,) = captured_value(scope, node.func), node.args
        known: Any = captured_value(scope, dtype)
        known = dtype.value if isinstance(dtype, ast.Constant) else known
        try:
            return limits(known) if limits in (np.finfo, np.iinfo) else MISSING
        except (TypeError, ValueError):
            return MISSING
    return MISSING


def _is_python(value: Any) -> bool:
    """Whether a variable of a script is a Python value: a number, a device, a sequence of such."""
    if isinstance(value, (list, tuple)):
        return all(_is_python(item) for item in value)
    return isinstance(value, (bool, int, float, str, np.generic, np.ndarray, GlobalInfo))


def constant_index(scope: Scope, node: Node) -> Any:
    """Return the value of a subscript of literals, Python values, and integer arithmetic on both.

    Raises:
        ValueError: it is something else, or divides by zero.
    """
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        sides = [constant_index(scope, side) for side in (node.left, node.right)]
        if all(type(side) is int for side in sides):
            try:
                return OPERATORS[type(node.op)](*sides)
            except ZeroDivisionError as error:
                raise ValueError(str(error)) from None
    captured = captured_value(scope, node)
    return ast.literal_eval(node) if captured is MISSING else captured
