"""Calls of prim funcs by prim funcs, and tensors in a workspace: the form of outlining."""

import ast
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.tir.builder import Buffer, buffer_type
from relax_mlir.dialects.tir.layout import INT4
from relax_mlir.dialects.tir.scalar import cast, is_float
from relax_mlir.errors import wrong_count
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser.expr.parser import TirExprParser
from relax_mlir.script.tir_parser.layout import buffer_dtype

func: ModuleType = submodule("dialects.func")
memref: ModuleType = submodule("dialects.memref")


def part(p: TirExprParser, base: Buffer, name: str, node: Node, offset: Node | None) -> Buffer:
    """Parse `T.decl_buffer((n, 4), "float32", data=workspace.data, elem_offset=n * 16)`.

    Raises:
        ScriptError: the workspace is no row of bytes, or shape, dtype or offset are wrong.
    """
    element = ir.MemRefType(base.value.type).element_type
    if len(base.dims) != 1 or str(element) != "i8":
        place = offset or node
        p.scope.fail(place, "elem_offset needs the data of a buffer of bytes with one dimension")
    given: dict[str, Node] = dict(zip(("shape", "dtype"), node.args, strict=False))
    given |= {k.arg: k.value for k in node.keywords}
    reader = AnnotationParser(p.scope)
    dims = reader.shape(given["shape"]) if "shape" in given else None
    if not isinstance(dims, list):
        p.scope.fail(node, "T.decl_buffer needs a shape")
    dtype = buffer_dtype(reader, given.get("dtype"))
    first = SymExpr.const(0) if offset is None else reader.dims.dim(offset)
    size = T.dtype_size(dtype)
    start = p.builder.symbol(first * size if size else first // 2)
    sizes = [p.builder.symbol(dim).value for dim in dims if not dim.is_const]
    with p.scope.location(node, name):
        view = memref.ViewOp(buffer_type(dims, dtype), base.value, start.value, sizes).result
    if dtype in INT4:
        view.owner.attributes["tir.dtype"] = ir.StringAttr.get(dtype)
    return Buffer(p.builder, name, dims, dtype, view)


def call(p: TirExprParser, module: Any, function: Any, node: Node) -> None:
    """Parse `cls.matmul(A, B, C)`, a call of another prim func of the module.

    Raises:
        ScriptError: the function is no prim func or calls this one, or the arguments do not fit it.
    """
    name = function.name
    if function.kind != "tir":
        p.scope.fail(node, f"'{name}' is a Relax function; a prim func cannot call it")
    place = ir.InsertionPoint.current.block.owner.operation
    if place.name != "func.func":
        p.scope.fail(node, "call prim funcs outside loops, branches and blocks")
    module.ensure(function)
    if function.op is None:
        p.scope.fail(node, f"'{name}' calls itself; a prim func cannot be recursive")
    types = list(function.op.attributes["function_type"].value.inputs)
    if node.keywords or len(node.args) != len(types):
        p.scope.fail(node, wrong_count(f"'{name}'", len(types), len(node.args)))
    pairs = zip(node.args, types, strict=True)
    func.CallOp([], name, [_argument(p, arg, type_, name) for arg, type_ in pairs])


def _argument(p: TirExprParser, node: Node, type_: ir.Type, function: str) -> ir.Value:
    if isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(type_, ir.MemRefType):
        # As TVM passes buffers for parameters that are handles.
        node = node.value
    raw = p.evaluate(node)
    if not isinstance(type_, ir.MemRefType):
        scalar = p.to_scalar(raw, node, "int64")
        if is_float(scalar.dtype):
            p.scope.fail(node, f"'{function}' needs an integer here, got {scalar.dtype}")
        return cast(scalar, "int64").value
    if not isinstance(raw, Buffer):
        p.scope.fail(node, f"'{function}' needs a buffer here")
    value = raw.value
    if value.type == type_:
        return value
    if not _castable(ir.MemRefType(value.type), type_):
        p.scope.fail(node, f"'{function}' needs {type_}, '{ast.unparse(node)}' is {value.type}")
    return memref.CastOp(type_, value).result


def _castable(given: ir.MemRefType, wanted: ir.MemRefType) -> bool:
    """Whether a buffer of one type may be passed for another: sizes may be known to one only."""
    if given.rank != wanted.rank or given.element_type != wanted.element_type:
        return False
    known = [
        (given.get_dim_size(i), wanted.get_dim_size(i))
        for i in range(given.rank)
        if not given.is_dynamic_dim(i) and not wanted.is_dynamic_dim(i)
    ]
    if not all(a == b for a, b in known):
        return False
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    steps = [type_.get_strides_and_offset() for type_ in (given, wanted)]
    if _is_row_major(wanted) and not _is_row_major(given):
        # A buffer without gaps may still say its strides; one known at run time only may have some.
        return dynamic not in steps[0][0] and steps[0] == steps[1]
    pairs = zip((*steps[0][0], steps[0][1]), (*steps[1][0], steps[1][1]), strict=True)
    return all(a == b or dynamic in (a, b) for a, b in pairs)


def _is_row_major(type_: ir.MemRefType) -> bool:
    """Whether a type is a buffer without gaps, written as no layout at all."""
    return type_.affine_map == ir.AffineMap.get_identity(type_.rank)
