"""Buffers: allocations, views of another shape, regions."""

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.tir.builder import Buffer, Region
from relax_mlir.dialects.tir.layout import INT4, Layout, row_major
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.dims import captured_value, check_bytes
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser import outlined_calls
from relax_mlir.script.tir_parser.expr.parser import Number, TirExprParser
from relax_mlir.script.tir_parser.expr.values import MutableScalar
from relax_mlir.script.tir_parser.layout import BUFFER_ARGUMENTS, buffer_dtype, read_layout

_MAX_CONSTANTS = 4096


@dataclass(frozen=True)
class Allocation:
    """What `T.allocate` gives: memory that buffers are declared over."""

    buffer: Buffer


def declared(p: TirExprParser, node: Node) -> tuple[dict[str, Node], list[SymExpr], str]:
    """Return the arguments of a declaration, and the shape and dtype that they spell.

    Raises:
        ScriptError: it has no shape, or one beyond all memory.
    """
    given = arguments(p.scope, node, BUFFER_ARGUMENTS, 0)
    reader = AnnotationParser(p.scope)
    shape = given.get("shape")
    if shape is None:
        p.scope.fail(node, f"{ast.unparse(node.func)} needs a shape")
    if isinstance(shape, (ast.Tuple, ast.List)):
        dims = reader.dims.dims(shape.elts)
    elif isinstance(shape, ast.Attribute) and shape.attr == "shape":
        dims = list(p.buffer(shape.value).dims)
    else:
        raw = reader.shape(shape) if isinstance(shape, ast.Name) and isinstance(
            p.scope.env.lookup(shape.id), (tuple, list)) else None  # fmt: skip
        dims = raw if isinstance(raw, list) else [reader.dims.dim(shape)]
    dtype = buffer_dtype(reader, given.get("dtype"))
    check_bytes(p.scope, node, dims, dtype)
    return given, dims, dtype


def alloc(p: TirExprParser, name: str, node: Node) -> Buffer:
    """Parse `T.alloc_buffer((n, 4), "float32")`; scopes are all the same memory here."""
    given, dims, dtype = declared(p, node)
    layout = read_layout(p, AnnotationParser(p.scope), given, dims)
    if layout.strides is not None:
        check_bytes(p.scope, node, [layout.strides[0], dims[0]], dtype)
    return p.builder.alloc(name, dims, dtype, layout)


def allocate(p: TirExprParser, name: str, node: Node) -> Allocation:
    """Parse `T.allocate([16], "float32", "global")`."""
    given = arguments(p.scope, node, ("extents", "dtype", "scope", "condition", "annotations"), 2)
    shape = given["extents"]
    reader = AnnotationParser(p.scope)
    items = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    dims, dtype = reader.dims.dims(items), buffer_dtype(reader, given["dtype"])
    check_bytes(p.scope, node, dims, dtype)
    return Allocation(p.builder.alloc(name, dims, dtype))


def allocate_const(p: TirExprParser, name: str, node: Node) -> Allocation:
    """Parse `T.allocate_const([1, 2, 3], "int32", [3])`; the numbers are stored one by one.

    Raises:
        ScriptError: it has no constant shape, or another number of elements.
    """
    given = arguments(p.scope, node, ("data", "dtype", "extents"), 3)
    reader = AnnotationParser(p.scope)
    dtype = reader.dtype(given["dtype"]) or "float32"
    shape = given["extents"]
    items = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    dims = [dim.value for dim in reader.dims.dims(items)]
    try:
        data = ast.literal_eval(given["data"])
    except (ValueError, TypeError, SyntaxError):
        data = captured_value(p.scope, given["data"])
    numbers = np.asarray(data if data is not MISSING else None)
    if numbers.dtype.kind not in "bif" or numbers.size > _MAX_CONSTANTS:
        p.scope.fail(given["data"], f"expected up to {_MAX_CONSTANTS} numbers")
    if None in dims or numbers.size != math.prod(dim or 0 for dim in dims):
        p.scope.fail(shape, f"{numbers.size} numbers do not have this shape")
    sizes = [dim or 0 for dim in dims]
    buffer = p.builder.alloc(name, sizes, dtype)
    for index, number in zip(np.ndindex(*sizes), numbers.reshape(-1), strict=True):
        value = p.convert(number.item(), dtype, given["data"])
        buffer.store(p.to_scalar(value, node), index)
    return Allocation(buffer)


def view(p: TirExprParser, name: str, node: Node) -> Buffer:
    """Parse `T.decl_buffer`: new memory, a workspace's part, or another shape of a buffer.

    Raises:
        ScriptError: the shape or the dtype do not fit the memory.
    """
    keywords = {k.arg: k.value for k in node.keywords}
    data, offset = keywords.get("data"), keywords.get("elem_offset")
    if data is None and len(node.args) > 2:
        data = node.args[2]
    if data is None or (isinstance(data, ast.Constant) and data.value is None):
        return alloc(p, name, node)
    base = _memory(p, data)
    given, dims, dtype = declared(p, node)
    if offset is not None and base.dtype == "uint8" and "strides" not in given:
        return outlined_calls.part(p, base, name, node, offset)
    if dtype in INT4 and base.dtype in ("uint8", "int8"):
        beyond = (product(dims) - product(base.dims) * 2).value
        if beyond is not None and beyond > 0:
            p.scope.fail(node, f"'{base.name}' has {product(base.dims)} bytes, {product(dims)} "
                         "elements of 4 bits need more")  # fmt: skip
        return outlined_calls.part(p, base, name, node, None)
    layout = read_layout(p, AnnotationParser(p.scope), given, dims, view=True)
    if dtype != base.dtype:
        p.scope.fail(node, f"'{base.name}' holds {base.dtype}, not {dtype}")
    start = layout.offset
    missing = (product(base.dims) - product(dims)).value
    if layout.strides is not None or start.value != 0 or (missing is not None and missing > 0):
        _check_span(p, node, base, dims, layout)
        made = p.builder.reshaped(base, name, dims, layout.strides, start)
        made.value.owner.operation.location = p.scope.location(node, name)
        return made
    if product(dims) != product(base.dims):
        p.scope.fail(node, f"'{base.name}' has {product(base.dims)} elements, this shape "
                     f"{product(dims)}")  # fmt: skip
    if dims == base.dims and isinstance(data, ast.Name):
        return base
    if len(dims) == 1:
        made = p.builder.linear(base)
        made.name = name
    else:
        made = p.builder.reshaped(base, name, dims)
    if not isinstance(made.value.owner, ir.Block):
        made.value.owner.operation.location = p.scope.location(node, name)
    return made


def _check_span(
    p: TirExprParser, node: Node, base: Buffer, dims: list[SymExpr], layout: Layout
) -> None:
    """Check as far as sizes are known that a view stays within a buffer's memory."""
    strides = layout.strides or row_major(dims)
    if any(dim.value == 0 for dim in dims):
        return
    end = layout.offset + 1
    for dim, stride in zip(dims, strides, strict=True):
        end = end + (dim - 1) * stride
    beyond = (end - product(base.dims)).value
    if beyond is not None and beyond > 0:
        p.scope.fail(node, f"'{base.name}' has {product(base.dims)} elements, this view needs "
                     f"{end}")  # fmt: skip


def _memory(p: TirExprParser, data: Node) -> Buffer:
    if isinstance(data, ast.Attribute) and data.attr == "data":
        return p.buffer(data.value)
    result = p.scope.lookup_or(data, MISSING) if isinstance(data, ast.Name) else MISSING
    if isinstance(result, Allocation):
        return result.buffer
    p.scope.fail(data, "data= is the data of another buffer, or what T.allocate gives")


def region(p: TirExprParser, name: str, node: Node) -> Buffer:
    """Parse `S = T.match_buffer(A[i * 4 : i * 4 + 4, 0:8], (4, 8))`, a region under its own name.

    Raises:
        ScriptError: it names no region of a buffer, or the shapes differ.
    """
    source = node.args[0] if node.args else None
    if not isinstance(source, ast.Subscript):
        p.scope.fail(node, "inside a function, T.match_buffer takes a region such as A[0:4, i]")
    base = p.buffer(source.value)
    items = source.slice.elts if isinstance(source.slice, ast.Tuple) else [source.slice]
    if len(items) != len(base.dims):
        p.scope.fail(source, f"'{base.name}' has {len(base.dims)} dimensions, got {len(items)}")
    rest = ast.copy_location(ast.Call(node.func, node.args[1:], node.keywords), node)
    given, dims, dtype = declared(p, rest)
    if dtype != base.dtype and "dtype" in given:
        p.scope.fail(given["dtype"], f"'{base.name}' holds {base.dtype}")
    slices = [i for i, item in enumerate(items) if isinstance(item, ast.Slice)]
    if len(dims) not in (len(items), len(slices)):
        p.scope.fail(node, f"the region has {len(slices)} dimensions, the shape {len(dims)}")
    kept = list(range(len(items))) if len(dims) == len(items) else slices
    starts = [_start(p, item) for item in items]
    return Region(base, name, dims, starts, kept)


def _scalar(p: TirExprParser, name: str, node: Node) -> MutableScalar:
    """Parse `x = T.alloc_scalar("float32")`, a variable that assignments change."""
    given = arguments(p.scope, node, ("dtype", "scope"), 0)
    dtype = buffer_dtype(AnnotationParser(p.scope), given.get("dtype"))
    return MutableScalar(p.builder.alloc(name, [], dtype))


def _in_scope(scope: str) -> Callable[[TirExprParser, str, Node], Buffer]:
    def parse(p: TirExprParser, name: str, node: Node) -> Buffer:
        where = ast.keyword("scope", ast.copy_location(ast.Constant(scope), node))
        call = ast.Call(node.func, node.args, [*node.keywords, where])
        return alloc(p, name, ast.copy_location(call, node))

    return parse


def _start(p: TirExprParser, item: Node) -> Any:
    node = item.lower if isinstance(item, ast.Slice) else item
    if isinstance(item, ast.Slice) and item.step is not None:
        p.scope.fail(item.step, "a region has no step")
    if node is None:
        return 0
    raw = p.evaluate(node)
    raw = raw.index if isinstance(raw, Number) and raw.index is not None else raw
    return raw if type(raw) is int else p.to_scalar(raw, node, "index")


# What a binding's right-hand side makes, by the function that it calls.
MAKERS: dict[str, Callable[[TirExprParser, str, Node], Buffer | Allocation | MutableScalar]] = {
    **dict.fromkeys(("T.alloc_buffer", "T.sblock_alloc_buffer"), alloc),
    "T.alloc_local": _in_scope("local"),
    "T.alloc_shared": _in_scope("shared"),
    **dict.fromkeys(("T.decl_buffer", "T.Buffer", "T.buffer", "T.buffer_decl"), view),
    "T.allocate": allocate,
    "T.allocate_const": allocate_const,
    "T.match_buffer": region,
    **dict.fromkeys(("T.alloc_scalar", "T.local_scalar", "T.shared_scalar"), _scalar),
}
