"""Operations of lowered programs: `R.vm.kill(x)` and `R.builtin.alloc_tensor(shape, dtype)`."""

import ast
import functools
from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Shape
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.vm.ops import OPERATIONS, ShapeHeap, Storage, VmOp
from relax_mlir.errors import did_you_mean, wrong_count
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.arguments import TYPE_KEYWORDS, arguments
from relax_mlir.script.parser.literals import literal, static_arguments
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.expr import ExprParser, Hint

# Kind of an attribute of the VM dialect -> what a literal must be, and the attribute of it.
_ATTRIBUTES: dict[str, tuple[type, Any]] = {
    **dict.fromkeys(("str", "dtype", "kind"), (str, lambda text: ir.StringAttr.get(text))),
    **dict.fromkeys(
        ("count", "ndim"),
        (int, lambda n: ir.IntegerAttr.get(ir.IntegerType.get_signless(64), n)),
    ),
    "slots": (list, lambda items: ir.DenseI64ArrayAttr.get(items)),
    "words": (list, lambda items: ir.ArrayAttr.get([ir.StringAttr.get(i) for i in items])),
}


def alloc_tensor(p: ExprParser, node: Node, name: str | None, hint: Hint) -> ir.Value | None:
    """Parse `R.builtin.alloc_tensor(R.shape([n, 4]), "float32")`, memory that is not yet set.

    Raises:
        ScriptError: the first argument is no shape, or the call is in a dataflow block.
    """
    names = ["shape", "dtype", "runtime_device_index", "storage_scope"]
    given = arguments(p.scope, node, names, 2)
    outside_dataflow(p, node)
    dtype = AnnotationParser(p.scope).dtype(given["dtype"])
    shape = p.shape(p.evaluate(given["shape"]), given["shape"])
    result = T.tensor_type(T.shape_dims(shape.type), dtype, T.shape_ndim(shape.type))
    attribute = ir.StringAttr.get(dtype)
    return p.emit("relax.alloc_tensor", [shape], result, node, name, dtype=attribute)


def _vm_operation(
    cls: type[VmOp], p: ExprParser, node: Node, name: str | None, hint: Hint
) -> ir.Value | None:
    """Parse `R.vm.kill(x)` and the like: operands by position, attributes by name.

    The type of a result that is a tensor, a shape or an integer is its variable's annotation.

    Returns:
        The result, None for an operation without one.

    Raises:
        ScriptError: its arguments are wrong, or it is in a dataflow block.
    """
    outside_dataflow(p, node)
    operands = _operands(p, cls, node)
    attributes = _attributes(p, cls, node)
    results = [_result(p, kind, hint, node) for kind in cls.RESULTS]
    written = [k for k in node.keywords if k.arg in TYPE_KEYWORDS]
    if cls.OPTIONAL_RESULT:
        declared = AnnotationParser(p.scope).parse(written[0].value) if written else hint.get()
        results = results if declared is None else [declared.type]
    made = ir.Operation.create(
        cls.OPERATION_NAME,
        results=results,
        operands=operands,
        attributes=attributes,
        loc=p.scope.location(node, name),
    )
    return made.result if results else None


# What the operations of the VM dialect are called in script -> their parsers.
VM_CALLS: dict[str, Callable[..., Any]] = {
    f"vm.{name}": functools.partial(_vm_operation, cls) for name, cls in OPERATIONS.items()
}


def outside_dataflow(p: ExprParser, node: Node) -> None:
    """Raise a ScriptError for an operation with side effects in a dataflow block."""
    what = ast.unparse(node.func)
    if p.in_dataflow:
        p.scope.fail(node, f"{what} has a side effect; move it outside the dataflow block")
    p.impure = True


def _operands(p: ExprParser, cls: type[VmOp], node: Node) -> list[ir.Value]:
    """Return the operands; a tuple among them is the arguments that the others leave."""
    values = [p.value(arg) for arg in node.args]
    others = sum(kind != "tuple" for kind in cls.OPERANDS)
    spare = len(values) - others
    if spare < 0 or (spare and others == len(cls.OPERANDS)):
        p.scope.fail(node, wrong_count(ast.unparse(node.func), others, len(values)))
    operands: list[ir.Value] = []
    for kind in cls.OPERANDS:
        if kind == "tuple":
            operands.append(make_tuple(values[:spare], p.scope.location(node)))
            values = values[spare:]
        else:
            operands.append(values.pop(0))
    return operands


def _attributes(p: ExprParser, cls: type[VmOp], node: Node) -> dict[str, ir.Attribute]:
    needed: dict[str, str] = dict(cls.ATTRIBUTES)
    kinds = needed | dict(cls.OPTIONAL_ATTRIBUTES)
    what = ast.unparse(node.func)
    result: dict[str, ir.Attribute] = {}
    for keyword in node.keywords:
        # `**options` has no name.
        name = keyword.arg or "**"
        if cls.OPTIONAL_RESULT and name in TYPE_KEYWORDS:
            continue
        kind = kinds.get(name)
        if kind is None:
            p.scope.fail(keyword, f"{what} has no argument '{name}'{did_you_mean(name, kinds)}")
        if kind == "static":
            result[name] = static_arguments(p.scope, keyword.value)
            continue
        type_, attribute = _ATTRIBUTES[kind]
        value = literal(p.scope, keyword.value)
        try:
            if not isinstance(value, type_):
                raise TypeError
            result[name] = attribute(value)
        except TypeError:
            p.scope.fail(keyword.value, f"'{name}' of {what} is no {value!r}")
    for required in needed:
        if required not in result:
            p.scope.fail(node, f"{what} needs argument '{required}'")
    return result


def _result(p: ExprParser, kind: str, hint: Hint, node: Node) -> ir.Type:
    if kind == "storage":
        return Storage.get()
    if kind == "heap":
        return ShapeHeap.get()
    declared = hint.get()
    if declared is None:
        what = ast.unparse(node.func)
        p.scope.fail(node, f"what {what} gives needs a type: 'x: R.Tensor(...) = {what}(...)'")
    if kind == "tensor" and not T.is_tensor(declared.type):
        p.scope.fail(hint.node, f"expected the type of a tensor, got {describe(declared.type)}")
    if kind == "shape or int" and str(declared.type) != "i64" \
            and not isinstance(declared.type, Shape):  # fmt: skip
        p.scope.fail(hint.node, f"expected a shape or integer, got {describe(declared.type)}")
    return declared.type
