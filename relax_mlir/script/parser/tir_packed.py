"""Calls of packed functions from prim funcs: `T.call_packed("my.function", A, n, "text")`."""

import ast
from typing import Any

from relax_mlir.dialects.tir import externs
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.script.parser import tir_memory
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_expr import TirExprParser


def call_packed(p: TirExprParser, node: Node) -> Any:
    """Parse a call of a function of the registry, which gets buffers as tensors.

    Returns:
        What it returns, an `int32` unless `dtype=` says another.

    Raises:
        ScriptError: it has no name, or an argument is no number, buffer or string.
    """
    name = getattr(node.args[0], "value", None) if node.args else None
    dtypes = [k.value for k in node.keywords if k.arg == "dtype"]
    if not isinstance(name, str) or not name or not name.isprintable():
        p.scope.fail(node, f"{ast.unparse(node.func)} takes the name of a function and arguments")
    if len(dtypes) != len(node.keywords):
        p.scope.fail(node.keywords[0].value, "a packed function has no named arguments")
    dtype = getattr(dtypes[0], "value", "") if dtypes else "int32"
    if not p.is_dtype(str(dtype)):
        p.scope.fail(node, 'expected a dtype such as "float32"')
    return externs.call_packed(name, [_argument(p, arg) for arg in node.args[1:]], str(dtype))


def _argument(p: TirExprParser, node: Node) -> Scalar | Buffer | str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if not node.value.isprintable():
            p.scope.fail(node, "strings for packed functions must be printable")
        return node.value
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return p.buffer(node.value)
    found = p.scope.lookup_or(node, MISSING) if isinstance(node, ast.Name) else MISSING
    if isinstance(found, tir_memory.Allocation):
        return found.buffer
    return found if isinstance(found, Buffer) else p.scalar(node)
