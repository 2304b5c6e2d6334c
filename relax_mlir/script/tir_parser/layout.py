"""Strides, offset, scope and alignment of buffer declarations."""

import ast
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.layout import INT4, Layout, row_major
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.dims import captured_value
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node

BUFFER_ARGUMENTS = (
    "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor",
    "buffer_type", "axis_separators", "byte_offset", "buffer_data_alignment",
)  # fmt: skip


def read_layout(
    p: Any, reader: AnnotationParser, given: dict[str, Node], dims: list[SymExpr], *,
    view: bool = False,
) -> Layout:  # fmt: skip
    """Return what a declaration says of a buffer's memory.

    Args:
        p: parser with the `scope`.
        reader: reads strides; one that defines symbols makes those of a parameter's strides.
        given: arguments by name.
        dims: the buffer's shape.
        view: whether the buffer lies in another one's memory, so that an offset means something.

    Raises:
        ScriptError: strides, offset or a note are wrong, or an offset that nothing provides.
    """
    align = _number(p, given, "align") or _number(p, given, "buffer_data_alignment")
    return Layout(
        _strides(p, reader, given, dims),
        _offset(p, reader, given, view),
        _text(p, given, "scope") or "global",
        max(align, 0),
        _number(p, given, "offset_factor"),
        _separators(p, given, len(dims)),
    )


def buffer_dtype(reader: AnnotationParser, node: Node | None) -> str:
    """Return the dtype of a buffer; elements of 4 bits are only in buffers.

    Raises:
        ScriptError: there is no such dtype.
    """
    if isinstance(node, ast.Constant) and node.value in INT4:
        return node.value
    return reader.dtype(node) or "float32"


def _strides(
    p: Any, reader: AnnotationParser, given: dict[str, Node], dims: list[SymExpr]
) -> tuple[SymExpr, ...] | None:
    node = given.get("strides")
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return None
    items = getattr(node, "elts", None)
    if items is None:
        p.scope.fail(node, "strides are a list, one for each dimension")
    if not items:
        return None
    if len(items) != len(dims):
        p.scope.fail(node, f"{len(dims)} dimensions need {len(dims)} strides")
    result = tuple(reader.dims.dims(items))
    return None if result == row_major(dims) else result


def _offset(p: Any, reader: AnnotationParser, given: dict[str, Node], view: bool) -> SymExpr:
    for name in ("elem_offset", "byte_offset"):
        node = given.get(name)
        if node is None or (isinstance(node, ast.Constant) and node.value in (None, 0)):
            continue
        if view and name == "elem_offset":
            return reader.dims.dim(node)
        # A name of its own is what TVM gives every parameter: the data begins where it says.
        if not isinstance(node, ast.Name) or node.id in p.scope.values:
            p.scope.fail(node, "buffers begin at the first element here: the offset must be 0")
    return SymExpr.const(0)


def _literal(p: Any, node: Node) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return captured_value(p.scope, node)


def _number(p: Any, given: dict[str, Node], name: str) -> int:
    node = given.get(name)
    value = 0 if node is None else _literal(p, node)
    if type(value) is not int:
        p.scope.fail(node, f"'{name}' must be an integer")
    return value


def _text(p: Any, given: dict[str, Node], name: str) -> str:
    node = given.get(name)
    value = "" if node is None else _literal(p, node)
    if value is MISSING or not isinstance(value, str) or not value.isprintable():
        p.scope.fail(node, f"'{name}' must be a string")
    return value


def _separators(p: Any, given: dict[str, Node], rank: int) -> tuple[int, ...]:
    node = given.get("axis_separators")
    value = () if node is None else _literal(p, node)
    value = () if value is None else value
    ok = isinstance(value, (list, tuple)) and all(type(v) is int and 0 <= v <= rank for v in value)
    if not ok or list(value) != sorted(value):
        p.scope.fail(node, f"axis_separators are increasing positions from 0 to {rank}")
    return tuple(value)
