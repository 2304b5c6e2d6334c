"""Calls of C functions: `T.call_extern("float32", "hypotf", x, y)`."""

import ast
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from relax_mlir.dialects.bindings import ir, submodule
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.tir import externs
from relax_mlir.dialects.tir import scalar as S
from relax_mlir.dialects.tir.builder import Buffer
from relax_mlir.dialects.tir.scalar import Scalar
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.source import Node
from relax_mlir.script.tir_parser import memory
from relax_mlir.script.tir_parser.expr.parser import TirExprParser
from relax_mlir.script.tir_parser.expr.tables import UNARY

memref: ModuleType = submodule("dialects.memref")

# What C's functions of math, here without the suffix for single precision, are here.
_C_BINARY = {"pow": "pow", "atan2": "atan2", "copysign": "copysign", "fmod": "truncmod"}
_C_UNARY = {name: UNARY[name] for name in (
    "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
    "exp", "exp2", "log", "log2", "log10", "log1p", "sqrt", "erf", "floor", "ceil", "trunc",
    "nearbyint", "fabs",
) if name in UNARY}  # fmt: skip
_C_SUFFIX = {"float32": "f", "float64": ""}
_NOTHING = ("void", "")


def call_extern(p: TirExprParser, node: Node) -> Any:
    """Parse a call of a C function; those of math are the language's own.

    Returns:
        The result, None for a function of `"void"`.

    Raises:
        ScriptError: the dtype, the name or an argument is wrong.
    """
    heads = literal_strings(node.args[:2])
    if len(heads) != 2 or node.keywords:
        p.scope.fail(
            node, f"{ast.unparse(node.func)} takes the dtype of the result, a name, and arguments"
        )
    dtype, name = heads
    known = _of_math(p, node, dtype, name)
    if known is not None:
        return known
    if not (name.isidentifier() and name.isascii()):
        p.scope.fail(node.args[1], f"'{name}' is no name of a C function")
    if dtype not in _NOTHING:
        dtype = _dtype(p, node.args[0], dtype)
    given = [_argument(p, arg) for arg in node.args[2:]]
    return externs.call_extern(name, given, "" if dtype in _NOTHING else dtype)


def literal_strings(nodes: Sequence[Node]) -> list[str]:
    """Return the strings among the first arguments of a call."""
    values = [getattr(node, "value", None) for node in nodes]
    return [value for value in values if isinstance(value, str)]


def _dtype(p: TirExprParser, node: Node, text: str) -> str:
    if text == "handle":
        p.scope.fail(node, "a C function that returns an address has no place for it here")
    try:
        return T.normalize_dtype(text) or p.scope.fail(node, "expected a dtype or 'void'")
    except ValueError as error:
        p.scope.fail(node, str(error))


def _argument(p: TirExprParser, node: Node) -> Scalar | Buffer | ir.Value:
    """Return what is passed."""
    if isinstance(node, ast.Call) and p.scope.path(node.func) == "T.address_of":
        p.count(node, 1)
        return _element(p, node.args[0])
    if isinstance(node, ast.Call):
        pointer = _access(p, node)
        if pointer is not None:
            return pointer
    if isinstance(node, ast.Attribute) and node.attr == "data":
        return p.buffer(node.value)
    result = p.scope.lookup_or(node, MISSING) if isinstance(node, ast.Name) else MISSING
    if isinstance(result, memory.Allocation):
        return result.buffer
    if isinstance(result, Buffer):
        p.scope.fail(node, f"pass the address of a buffer, '{ast.unparse(node)}.data'")
    return p.scalar(node)


def _access(p: TirExprParser, node: Node) -> Buffer | ir.Value | None:
    """Return what `A.access_ptr("r", offset=4)` or `T.tvm_access_ptr` points to, None for others.

    Only the offset, in elements, means something: nobody asks what the address is used for.
    """
    if isinstance(node.func, ast.Attribute) and node.func.attr == "access_ptr":
        place = node.func.value
        given = arguments(
            p.scope, node, ("access_mask", "ptr_type", "content_lanes", "offset", "extent"), 1
        )
    elif p.scope.path(node.func) == "T.tvm_access_ptr":
        given = arguments(p.scope, node, ("ptype", "data", "offset", "extent", "rw_mask"), 5)
        place = given["data"]
        place = place.value if isinstance(place, ast.Attribute) and place.attr == "data" else place
    else:
        return None
    buffer = p.buffer(place)
    offset = given.get("offset")
    if offset is None or (isinstance(offset, ast.Constant) and offset.value == 0):
        return buffer
    index = ast.copy_location(ast.Subscript(place, offset, ast.Load()), node)
    return _part(p.builder.linear(buffer), (p.to_scalar(p.evaluate(offset), index, "index"),))


def _element(p: TirExprParser, node: Node) -> ir.Value:
    """Return the part of a buffer that is one element."""
    if not isinstance(node, ast.Subscript):
        p.scope.fail(node, "T.address_of takes an element of a buffer, A[i, j]")
    buffer = p.buffer(node.value)
    return _part(buffer, p.indices(node, buffer))


def _part(buffer: Buffer, places: tuple[Scalar, ...]) -> ir.Value:
    indices = buffer.place(places)
    type_ = ir.MemRefType(buffer.value.type)
    rank, dynamic = type_.rank, ir.ShapedType.get_dynamic_size()
    steps = type_.get_strides_and_offset()[0]
    start = ir.ShapedType.get_dynamic_stride_or_offset() if rank else 0
    layout = ir.StridedLayoutAttr.get(start, steps)
    part = ir.MemRefType.get([1] * rank, type_.element_type, layout)
    return memref.SubViewOp(
        part, buffer.value, [each.value for each in indices], [], [],
        static_offsets=[dynamic] * rank, static_sizes=[1] * rank, static_strides=[1] * rank,
    ).result  # fmt: skip


def _of_math(p: TirExprParser, node: Node, dtype: str, name: str) -> Scalar | None:
    """Return a call of a function of C's math library, None for any other."""
    suffix = _C_SUFFIX.get(dtype)
    known = {f"{each}{suffix}": each for each in (*_C_UNARY, *_C_BINARY)}
    if suffix is None or name not in known:
        return None
    kind, places = known[name], node.args[2:]
    count = 1 if kind in _C_UNARY else 2
    if len(places) != count:
        p.scope.fail(
            node.func, f"{name} takes {count} argument{'s' * (count > 1)}, got {len(places)}"
        )
    values = [p.to_scalar(p.evaluate(place), place, dtype) for place in places]
    for value, place in zip(values, places, strict=True):
        if value.dtype != dtype:
            p.scope.fail(place, f"{name} takes {dtype}, got {value.dtype}")
    if kind in _C_UNARY:
        return S.unary(_C_UNARY[kind], values[0])
    return S.binary(_C_BINARY[kind], *values)
