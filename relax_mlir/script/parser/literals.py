"""Literals and captured Python values in scripts."""

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import numpy_dtype
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.script.markers import VALUES
from relax_mlir.script.parser import macros
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node


def _prim(value: Any) -> Any:
    return value if isinstance(value, (bool, float)) else int(value)


# TVM spells `{"tir.noalias": T.bool(True)}` and `R.const(T.float32(1))`.
TYPED_LITERALS = {
    **dict.fromkeys(("T.int8", "T.int16", "T.int32", "T.int64"), int),
    **dict.fromkeys(("T.uint8", "T.uint16", "T.uint32", "T.uint64"), int),
    **dict.fromkeys(("T.float16", "T.bfloat16", "T.float32", "T.float64"), float),
    "T.bool": bool, "R.prim_value": _prim, "R.str": str, "R.dtype": str,
    "T.meta_var": lambda value: value, "I.meta_var": lambda value: value,
}  # fmt: skip
_IMMEDIATES = ("T.FloatImm", "T.IntImm")
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def literal(scope: Scope, node: Node) -> Any:
    """Return the Python value of a literal, possibly nested, or of a captured name.

    Raises:
        ScriptError: it is neither.
    """
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            try:
                node.value.encode()
            except UnicodeEncodeError:
                scope.fail(node, "this string is not valid Unicode: it holds half a character")
        return node.value
    if isinstance(node, (ast.Tuple, ast.List)):
        return [literal(scope, item) for item in node.elts]
    if isinstance(node, ast.JoinedStr):
        return "".join(_formatted(scope, part) for part in node.values)
    if isinstance(node, ast.Dict):
        keys = [literal(scope, key) for key in node.keys if key is not None]
        if len(keys) != len(node.keys) or not all(isinstance(key, str) for key in keys):
            scope.fail(node, "the keys of a dictionary are strings")
        return dict(zip(keys, (literal(scope, value) for value in node.values), strict=True))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = literal(scope, node.operand)
        if not isinstance(number, (int, float, np.number, np.ndarray)):
            scope.fail(node, f"'-' needs a number, got {number!r}")
        return -number
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        sides = [literal(scope, side) for side in (node.left, node.right)]
        if not all(isinstance(side, (int, float, np.number, np.ndarray)) for side in sides):
            scope.fail(node, f"'{ast.unparse(node)}' is no arithmetic on numbers")
        try:
            return _ARITHMETIC[type(node.op)](*sides)
        except (ZeroDivisionError, OverflowError) as error:
            scope.fail(node, str(error))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float":
        if len(node.args) != 1:
            scope.fail(node, f"float takes 1 argument, got {len(node.args)}")
        try:
            return float(literal(scope, node.args[0]))
        except (ValueError, TypeError, OverflowError) as error:
            scope.fail(node, str(error))
    if isinstance(node, ast.Call) and node.args and not node.keywords:
        path = scope.path(node.func) or ""
        if path in _IMMEDIATES and len(node.args) == 2:
            # T.FloatImm("float32", 0.1) is T.float32(0.1).
            path = f"T.{literal(scope, node.args[0])}"
        elif len(node.args) > 1:
            path = ""
        convert = TYPED_LITERALS.get(path)
        if convert is not None:
            value = literal(scope, node.args[-1])
            try:
                return convert(value)
            except (ValueError, TypeError) as error:
                scope.fail(node, str(error))
    if isinstance(node, ast.Call):
        made_by = VALUES.get(scope.path(node.func) or "")
        python = extension(made_by) if made_by else macros.python_function(scope, node.func)
        func = node.func
        made = func.value if isinstance(func, ast.Attribute) else None
        if (
            isinstance(func, ast.Attribute)
            and isinstance(made, ast.Call)
            and macros.python_function(scope, made.func) is not None
        ):
            python = getattr(literal(scope, made), func.attr, None)
        if python is not None:
            return macros.call_python(scope, python, node, lambda arg: literal(scope, arg))
    captured = captured_value(scope, node)
    if captured is MISSING:
        what = ""
        if isinstance(node, ast.Name):
            known = node.id in scope.values
            why = "a value of the program" if known else "none, and nothing around a script is run"
            what = f"; '{node.id}' is {why}"
        scope.fail(node, f"expected a literal or a Python value from around the script{what}")
    return captured


def _formatted(scope: Scope, part: Node) -> str:
    """Return a part of an f-string."""
    if not isinstance(part, ast.FormattedValue):
        return literal(scope, part)
    value = _CONVERSIONS[part.conversion](literal(scope, part.value))
    try:
        return format(value, literal(scope, part.format_spec) if part.format_spec else "")
    except (ValueError, TypeError) as error:
        scope.fail(part, str(error))


_CONVERSIONS: dict[int, Callable[[Any], Any]] = {
    -1: lambda value: value, ord("s"): str, ord("r"): repr, ord("a"): ascii,
}  # fmt: skip
# Calls that give a number that is no size, and its dtype; bfloat16 needs a package when used.
_SCALARS = {
    f"T.{name}": name
    for name in ("bool", "int8", "int16", "uint8", "uint16", "uint32", "uint64", "float16",
                 "bfloat16", "float32", "float64")
}  # fmt: skip


def scalar_literal(scope: Scope, node: Node) -> Any:
    """Return a literal or captured name as a bool, a float or numpy's, None where it is neither.

    Raises:
        ScriptError: a typed literal's argument is no number.
    """
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    path = scope.path(inner.func) if isinstance(inner, ast.Call) else ""
    if isinstance(inner, ast.Call) and path in _IMMEDIATES and len(inner.args) == 2:
        path = f"T.{literal(scope, inner.args[0])}"
    if path in _SCALARS:
        value = literal(scope, node)
        return value if path in ("T.bool", "T.float32") else numpy_dtype(_SCALARS[path]).type(value)
    if isinstance(inner, ast.Constant) and isinstance(inner.value, (bool, float)):
        return literal(scope, node)
    captured = captured_value(scope, node) if isinstance(node, (ast.Name, ast.Attribute)) else None
    return captured if isinstance(captured, (bool, float, np.floating, np.bool_)) else None


def static_arguments(scope: Scope, node: Node) -> ir.ArrayAttr:
    """Return the arguments of a packed function that are no values of the program.

    Raises:
        ScriptError: one of them is no literal of a kind that they may have.
    """
    values = literal(scope, node)
    if not isinstance(values, (list, tuple)):
        scope.fail(node, "'static_args' is a list of numbers, strings, tuples of them, and None")
    result = []
    for value in values:
        if isinstance(value, (tuple, list)) and all(type(item) is int for item in value):
            result.append(ir.DenseI64ArrayAttr.get(list(value)))
        elif isinstance(value, (tuple, list)) and all(type(item) is float for item in value):
            result.append(ir.DenseF64ArrayAttr.get(list(value)))
        elif value is None:
            result.append(ir.UnitAttr.get())
        elif isinstance(value, (bool, int, float, str)):
            result.append(python_attribute(value))
        else:
            scope.fail(node, f"a static argument is no {type(value).__name__}")
    return ir.ArrayAttr.get(result)
