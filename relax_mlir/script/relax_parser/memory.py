"""TVM's names of lowered operations: `R.memory.*`, `R.vm.alloc_storage`, calls of prim funcs."""

import ast
import math
from collections.abc import Callable
from functools import partial
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.vm.ops import Storage
from relax_mlir.errors import wrong_count
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.literals import literal
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.dps import check_buffers
from relax_mlir.script.relax_parser.expr import ExprParser, Hint
from relax_mlir.script.relax_parser.lowered import VM_CALLS, outside_dataflow


def _alloc_storage(
    names: tuple[str, ...], p: ExprParser, node: Node, name: str | None, hint: Hint
) -> ir.Value:
    """Parse `R.memory.alloc_storage(R.shape([n]), 0, "global", "float32")`, n numbers of a dtype.

    Raises:
        ScriptError: the size is no shape of one dimension.
    """
    outside_dataflow(p, node)
    given = arguments(p.scope, node, names, 1)
    dtype = AnnotationParser(p.scope).dtype(given.get("dtype")) or "uint8"
    size = AnnotationParser(p.scope).shape(given[names[0]])
    dims = T.shape_dims(size.type) if isinstance(size, ir.Value) else size
    if dims is None:
        p.scope.fail(given[names[0]], "the size of a storage must be known here")
    operand = p.shape([math.prod(dims, start=SymExpr.of(T.dtype_size(dtype)))], node)
    return p.emit(
        "vm.alloc_storage", [operand], Storage.get(), node, name,
        device=ir.StringAttr.get("cpu"),
    )  # fmt: skip


def _alloc_tensor(p: ExprParser, node: Node, name: str | None, hint: Hint) -> ir.Value:
    """Parse `R.memory.alloc_tensor(storage, 0, R.shape([n, 4]), "float32")`.

    Raises:
        ScriptError: the first argument is no storage, or the offset no constant.
    """
    outside_dataflow(p, node)
    names = ["storage", "offset", "shape", "dtype", "runtime_device_ind"]
    given = arguments(p.scope, node, names, 4)
    storage = p.value(given["storage"])
    if not isinstance(storage.type, Storage):
        p.scope.fail(given["storage"], f"expected a storage, got {describe(storage.type)}")
    offset = literal(p.scope, given["offset"])
    if type(offset) is not int or offset < 0:
        p.scope.fail(given["offset"], "the offset in a storage is a constant")
    dtype = AnnotationParser(p.scope).dtype(given["dtype"])
    shape = p.shape(p.evaluate(given["shape"]), given["shape"])
    result = T.tensor_type(T.shape_dims(shape.type), dtype, T.shape_ndim(shape.type))
    return p.emit(
        "vm.alloc_tensor", [storage, shape], result, node, name,
        offset=ir.IntegerAttr.get(ir.IntegerType.get_signless(64), offset),
        dtype=ir.StringAttr.get(dtype),
    )  # fmt: skip


def _vm_alloc_storage(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.vm.alloc_storage` in TVM's form, or as it is printed: bytes on a device."""
    if any(keyword.arg == "device" for keyword in node.keywords):
        return VM_CALLS["vm.alloc_storage"](p, node, name, hint)
    names = ("shape", "runtime_device_index", "dtype", "storage_scope")
    return _alloc_storage(names, p, node, name, hint)


def _vm_alloc_tensor(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.vm.alloc_tensor` in TVM's form, or as it is printed: the shape as an operand."""
    shaped = len(node.args) > 2 or any(keyword.arg == "shape" for keyword in node.keywords)
    parse = _alloc_tensor if shaped else VM_CALLS["vm.alloc_tensor"]
    return parse(p, node, name, hint)


def _call_tir_dyn(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.vm.call_tir_dyn(cls.f, (x, y, shape))`, or as it is printed: the function last."""
    given = node.args[1] if len(node.args) == 2 else None
    if not isinstance(given, (ast.Tuple, ast.List)) or not given.elts:
        return VM_CALLS["vm.call_tir_dyn"](p, node, name, hint)
    outside_dataflow(p, node)
    function = p.module.find(p.scope, node.args[0])
    func = literal(p.scope, node.args[0]) if function is None else function.name
    if not isinstance(func, str):
        p.scope.fail(node.args[0], "expected a function of the module or the name of one")
    *args, last = given.elts
    place = p.scope.location(node)
    ir.Operation.create(
        "vm.call_tir_dyn",
        operands=[
            make_tuple([p.value(arg) for arg in args], place),
            p.shape(p.evaluate(last), last),
        ],
        attributes={"func": ir.StringAttr.get(func)},
        loc=place,
    )
    return make_tuple([], place)


def _kill(p: ExprParser, node: Node, name: str | None, hint: Hint) -> None:
    outside_dataflow(p, node)
    given = arguments(p.scope, node, ["value"], 1)
    loc = p.scope.location(node)
    ir.Operation.create("vm.kill", operands=[p.value(given["value"])], loc=loc)


# What TVM calls operations on memory -> their parsers.
MEMORY_CALLS: dict[str, Callable[..., Any]] = {
    "memory.alloc_storage": partial(
        _alloc_storage, ("size", "virtual_device_index", "storage_scope", "dtype")
    ),
    "vm.alloc_storage": _vm_alloc_storage,
    "memory.alloc_tensor": _alloc_tensor,
    "vm.call_tir_dyn": _call_tir_dyn,
    "vm.alloc_tensor": _vm_alloc_tensor,
    **dict.fromkeys(("memory.kill_storage", "memory.kill_tensor", "vm.kill_object"), _kill),
}


def call_prim_func(p: ExprParser, function: Any, node: Node) -> None:
    """Parse `cls.exp(x, y)`, a prim func with all its buffers, those that it writes among them.

    Raises:
        ScriptError: the arguments do not fit, or the call is in a dataflow block.
    """
    buffers = p.module.buffer_count(function)
    count = buffers + p.module.integer_count(function)
    if len(node.args) != count or node.keywords:
        p.scope.fail(
            node.func,
            f"'{function.name}' is a prim func; call it by R.call_tir(cls.{function.name}, "
            f"(...), out_sinfo=...), or with all {count} of its arguments: "
            f"{wrong_count('it', count, len(node.args))}",
        )
    outside_dataflow(p, node)
    args = [p.value(arg) for arg in node.args]
    check_buffers(p, node, function, [arg.type for arg in args[:buffers]])
    ir.Operation.create(
        "vm.call",
        operands=[make_tuple(args, p.scope.location(node))],
        attributes={"func": ir.StringAttr.get(function.name)},
        loc=p.scope.location(node),
    )


def is_effect(node: Node, path: str | None) -> bool:
    """Whether a call gives nothing: it stands alone, or binds a variable that is not used."""
    return isinstance(node, ast.Call) and (path is None or path.startswith(("R.vm.", "R.memory.")))
