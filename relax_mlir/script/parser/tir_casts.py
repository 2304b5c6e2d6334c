"""Casts of the TIR language: `T.Cast("int8", x)`, `x.astype(...)`, `T.float32(x)`."""

import ast
from typing import TYPE_CHECKING, Any

from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.layout import NIBBLES
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node
from relax_mlir.script.parser.tir_lanes import split_lanes
from relax_mlir.script.parser.tir_values import Number

if TYPE_CHECKING:
    from relax_mlir.script.parser.tir_expr import TirExprParser


def typed(p: "TirExprParser", dtype: str, node: Node) -> Any:
    """Parse `T.float32(x)`, also of a number as text: `T.float32("inf")`."""
    p.count(node, 1)
    value = node.args[0]
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        try:
            return Number(float(value.value), dtype)
        except ValueError:
            p.scope.fail(value, f"'{value.value}' is not a number")
    return p.convert(p.evaluate(value), dtype, value)


def cast(p: "TirExprParser", raw: Any, dtype: Node, node: Node) -> Any:
    """Return what `evaluate` gave in the dtype that an expression names."""
    name = dtype.value if isinstance(dtype, ast.Constant) else captured_value(p.scope, dtype)
    if isinstance(dtype, ast.Attribute) and dtype.attr == "dtype" and name is MISSING:
        name = p.buffer(dtype.value).dtype
    if name is MISSING:
        p.scope.fail(dtype, 'expected a dtype such as "float32"')
    name = str(name)
    try:
        name = split_lanes(name)[0] if p.lane is not None else name
        known = T.normalize_dtype(NIBBLES.get(name, name))
    except ValueError as error:
        p.scope.fail(dtype, str(error))
    found = p.convert(raw, known, node)
    # What a load gives of what a store keeps.
    return S.low_bits(p.settle(found, node, known)) if name in NIBBLES else found
