"""Destination-passing calls: `call_tir` in TVM's form and in the short form."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.errors import did_you_mean
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.script.parser.annotations import AnnotationParser, stated_type
from relax_mlir.script.parser.arguments import TYPE_KEYWORDS, arguments
from relax_mlir.script.parser.env import MISSING
from relax_mlir.script.parser.functions import not_there
from relax_mlir.script.parser.literals import literal
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.call_order import buffers_first
from relax_mlir.script.relax_parser.expr import ExprParser, Hint

_GRADIENT = ("te_grad_name", "te_grad_kwargs")


@dataclass
class _Target:
    """What a destination-passing call calls: a prim func of the module, or a packed function."""

    prim: Any = None
    packed: str = ""


def extern_func(p: ExprParser, node: Node) -> Any:
    """Return the packed function that an `R.ExternFunc` is, here or as a member; else None."""
    func: Any = p.scope.values.get(node.id) if isinstance(node, ast.Name) else None
    member = p.module.find(p.scope, node) if func is None else None
    if member is not None and member.kind == "extern":
        p.module.ensure(member)
        return extension("ir.function_view")(member.op)
    if isinstance(node, ast.Call) and p.scope.path(node.func) == "R.ExternFunc":
        func = p.evaluate(node)
    return func if isinstance(func, extension("script.ExternFunc")) else None


def _target(p: ExprParser, node: Node, packed: bool) -> _Target | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        prim = None if packed else p.module.functions.get(node.value)
        return (
            _Target(prim) if prim is not None and prim.kind == "tir" else _Target(packed=node.value)
        )
    func = extern_func(p, node)
    if func is not None:
        return _Target(packed=func.global_symbol)
    function = p.module.find(p.scope, node)
    if function is None:
        return None
    if function.kind != "tir":
        p.scope.fail(
            node, f"'{function.name}' is a Relax function; call it as {function.name}(...)"
        )
    return _Target(function)


def _check_defined(p: ExprParser, node: Node) -> None:
    """Raise a ScriptError for a name that nothing defines, before guessing the form of the call."""
    if isinstance(node, ast.Name):
        known = p.scope.lookup_or(node, MISSING) is not MISSING or p.scope.path(node) is not None
        if not known and p.module.find(p.scope, node) is None:
            if node.id in p.scope.ended:
                p.scope.undefined(node, node.id)
            near = did_you_mean(node.id, [*p.module.names, *p.scope.values])
            p.scope.fail(node, f"undefined variable '{node.id}'{near}")
        return
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return
    base = node.value
    if not p.module.is_module(p.scope, base):
        if p.scope.lookup_or(base, MISSING) is MISSING and p.scope.path(base) is None:
            p.scope.undefined(base, base.id)
        return
    if p.module.is_module(p.scope, node.value) and p.module.find(p.scope, node) is None:
        near = not_there(node.attr, p.module.names)
        p.scope.fail(node, f"undefined function '{ast.unparse(node)}'{near}")


def _is_many(p: ExprParser, node: Node) -> bool:
    """Whether a shape argument spells several shapes rather than the dimensions of one."""
    if not isinstance(node, (ast.Tuple, ast.List)) or not node.elts:
        return False
    first = node.elts[0]
    if isinstance(first, ast.Name):
        value: Any = p.scope.values.get(first.id)
        return isinstance(value, ir.Value) and isinstance(value.type, Shape)
    return isinstance(first, (ast.Tuple, ast.List))


def call_tir(
    p: ExprParser,
    node: Node,
    name: str | None,
    hint: Hint,
    packed: bool = False,
    inplace: bool = False,
    gradient: dict[str, ir.Attribute] | None = None,
) -> Any:
    """Parse `R.call_tir`, `R.call_dps_packed` when `packed`, or what may overwrite arguments.

    Raises:
        ScriptError: the call is wrong.
    """
    first = node.args[0] if node.args else None
    _check_defined(p, first)
    modern = first is None or inplace or _target(p, first, packed) is not None
    if inplace:
        names = ["func", "args", "inplace_indices", "result", "tir_vars"]
    elif modern:
        names = ["func", "args", "result", "tir_vars"]
    else:
        names = ["shape", "func", "args", "tir_vars", "dtype"]
    given = arguments(p.scope, node, names, 4 if inplace else 3)
    _check_defined(p, given["func"])
    target = _target(p, given["func"], packed)
    if target is None:
        near = did_you_mean(ast.unparse(given["func"]), p.module.names)
        p.scope.fail(given["func"], f"expected a prim func or the name of a packed function{near}")
    if target.prim is not None:
        passed = given["args"]
        target.prim, given["args"], integers = buffers_first(
            p, given["func"], target.prim, passed, given.get("tir_vars")
        )
        if inplace and given["args"] is not passed:
            p.scope.fail(passed, "an in-place call takes its integers by tir_vars=")
        given.update({} if integers is None else {"tir_vars": integers})
    args = p.fields(given["args"])
    if target.prim is not None:
        scalars = [T.is_scalar(arg.type) for arg in args]
        args = [
            build("scalar_to_tensor", [arg], {}, p.scope.location(given["args"])) if scalar else arg
            for arg, scalar in zip(args, scalars, strict=True)
        ]
    if modern:
        shapes, results, many = _modern_outputs(p, given["result"])
    else:
        shapes, results, many = _design_outputs(p, given, target, args, hint)
    attributes: dict[str, ir.Attribute] = {}
    new = results
    if inplace:
        indices = _indices(p, given["inplace_indices"])
        attributes["inplace_indices"] = ir.DenseI64ArrayAttr.get(indices)
        new = [each for each, index in zip(results, indices, strict=False) if index < 0]
    if target.prim is not None:
        types = [*(arg.type for arg in args), *new]
        _check_call(p, node, target.prim, types, len(args), given.get("tir_vars"))
    if "tir_vars" in given:
        raw = given["tir_vars"]
        dims = AnnotationParser(p.scope).shape(raw)
        if isinstance(dims, ir.Value):
            dims = T.shape_dims(dims.type)
        if dims is None:
            p.scope.fail(raw, "the symbolic integers must be a tuple of expressions")
        attributes["tir_vars"] = Dims.of(dims)
    loc = p.scope.location(node)
    out_shape = make_tuple(shapes, loc) if many else shapes[0]
    result = ir.TupleType.get_tuple(results) if many else results[0]
    op = "relax.call_dps_packed"
    attributes.update(gradient or {})
    if target.prim is not None:
        op, attributes["callee"] = "relax.call_tir", ir.FlatSymbolRefAttr.get(target.prim.name)
    else:
        attributes["func"] = ir.StringAttr.get(target.packed)
    op += "_inplace" if inplace else ""
    return p.emit(op, [out_shape, make_tuple(args, loc)], result, node, name, **attributes)


def _indices(p: ExprParser, node: Node) -> list[int]:
    """Read `inplace_indices`, one number or a list of them."""
    value = literal(p.scope, node)
    values = value if isinstance(value, (list, tuple)) else [value]
    if not values or not all(type(each) is int for each in values):
        p.scope.fail(node, "inplace_indices has a number for each output")
    return list(values)


def check_buffers(p: ExprParser, node: Node, prim: Any, types: Sequence[ir.Type]) -> None:
    """Raise a ScriptError where a tensor can never be what a prim func's buffer declares."""
    if not p.module.checked:
        return
    for i, (type_, (name, dims, dtype)) in enumerate(
        zip(types, p.module.buffers(prim), strict=True)
    ):
        if not T.is_tensor(type_):
            continue
        known = T.tensor_dims(type_) or ()
        ndim = T.tensor_ndim(type_)
        fits = T.tensor_dtype(type_) in ("", dtype) and ndim in (-1, len(dims))
        if not fits or any(
            a.is_const and b.is_const and a != b for a, b in zip(known, dims, strict=False)
        ):
            declared = describe(T.tensor_type(dims, dtype))
            p.scope.fail(
                node, f"buffer {i} of '{prim.name}', '{name}', is {declared}, got {describe(type_)}"
            )


def _check_call(
    p: ExprParser, node: Node, prim: Any, types: Sequence[ir.Type], args: int, variables: Node
) -> None:
    if not p.module.checked:
        return
    buffers, outputs = p.module.buffer_count(prim), len(types) - args
    if buffers != args + outputs:
        p.scope.fail(
            node,
            f"'{prim.name}' takes {buffers} buffers, the call passes {args} and {outputs} "
            f"output{'s' if outputs != 1 else ''}",
        )
    check_buffers(p, node, prim, types)
    integers = p.module.integer_count(prim)
    if integers and variables is None:
        p.scope.fail(
            node, f"'{prim.name}' takes {integers} integers after its buffers: add tir_vars="
        )


def _modern_outputs(p: ExprParser, node: Node) -> tuple[list[ir.Value], list[ir.Type], bool]:
    many = isinstance(node, (ast.List, ast.Tuple))
    nodes = node.elts if many else [node]
    shapes, results = [], []
    for item in nodes:
        type_ = AnnotationParser(p.scope).parse(item).type
        shape = _shape_name(p, item)
        if not T.is_tensor(type_):
            p.scope.fail(item, f"the output must be a tensor, got {describe(type_)}")
        dims = T.tensor_dims(type_)
        if shape is None and dims is None:
            p.scope.fail(item, "the shape of the output must be known")
        results.append(type_)
        shapes.append(shape if shape is not None else p.shape(dims, item))
    return shapes, results, many


def _shape_name(p: ExprParser, node: Node) -> ir.Value | None:
    """Return the shape value that `R.Tensor(lv3, dtype=...)` names; it is not made again."""
    if isinstance(node, ast.Call):
        shape = next((k.value for k in node.keywords if k.arg == "shape"), None)
        shape = node.args[0] if node.args else shape
    elif isinstance(node, ast.Subscript):
        shape = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
    else:
        return None
    if isinstance(shape, ast.Name):
        value: Any = p.scope.values.get(shape.id)
        if isinstance(value, ir.Value) and isinstance(value.type, Shape):
            return value
    return None


def _design_outputs(
    p: ExprParser, given: dict[str, Node], target: _Target, args: list[ir.Value], hint: Hint
) -> tuple[list[ir.Value], list[ir.Type], bool]:
    """Read the design document's order: the dtype is the annotation's, callee's or argument's."""
    node = given["shape"]
    many = _is_many(p, node)
    nodes = node.elts if many else [node]
    shapes = [p.shape(p.evaluate(item), item) for item in nodes]
    declared = hint.get()
    types: list[ir.Type | None] = [declared.type if declared else None]
    if many:
        types = [None] * len(nodes)
        if declared and isinstance(declared.type, ir.TupleType):
            types = [declared.type.get_type(i) for i in range(declared.type.num_types)]
    explicit = AnnotationParser(p.scope).dtype(given.get("dtype"))
    results = []
    for i, shape in enumerate(shapes):
        annotated = types[i] if i < len(types) else None
        dtype = explicit or (
            T.tensor_dtype(annotated) if annotated is not None and T.is_tensor(annotated) else ""
        )
        if not dtype and target.prim is not None:
            dtype = p.module.output_dtype(target.prim, i - len(shapes))
        if not dtype:
            known = [T.tensor_dtype(a.type) for a in args if T.is_tensor(a.type)]
            dtype = next((d for d in known if d), "float32")
        results.append(T.tensor_type(T.shape_dims(shape.type), dtype, T.shape_ndim(shape.type)))
    return shapes, results, many


def call_tir_with_grad(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.call_tir_with_grad`: a `call_tir` that says which te function is its gradient.

    Raises:
        ScriptError: the call is wrong.
    """
    words = {k.arg: k.value for k in node.keywords if k.arg in _GRADIENT}
    if "te_grad_name" not in words:
        p.scope.fail(node, "R.call_tir_with_grad needs argument 'te_grad_name'")
    gradient = {str(key): python_attribute(literal(p.scope, each)) for key, each in words.items()}
    rest = [keyword for keyword in node.keywords if keyword.arg not in _GRADIENT]
    call = ast.copy_location(ast.Call(node.func, node.args, rest), node)
    return call_tir(p, call, name, hint, gradient=gradient)


def call_dps_packed(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.call_dps_packed`, whose callee is never a prim func of the module."""
    return call_tir(p, node, name, hint, packed=True)


def _call_inplace_packed(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.call_inplace_packed(func, *args, inplace_indices=..., sinfo_args=...)`."""
    func = literal(p.scope, node.args[0]) if node.args else None
    if not isinstance(func, str):
        p.scope.fail(node, "R.call_inplace_packed needs the name of the function first")
    given = {keyword.arg: keyword.value for keyword in node.keywords}
    for keyword in node.keywords:
        if keyword.arg not in ("inplace_indices", *TYPE_KEYWORDS):
            near = did_you_mean(str(keyword.arg), ["inplace_indices", *TYPE_KEYWORDS])
            p.scope.fail(keyword, f"R.call_inplace_packed has no argument '{keyword.arg}'{near}")
    if "inplace_indices" not in given:
        p.scope.fail(node, "R.call_inplace_packed needs argument 'inplace_indices'")
    args = [p.value(arg) for arg in node.args[1:]]
    indices = _indices(p, given["inplace_indices"])
    types = next((given[key] for key in TYPE_KEYWORDS if key in given), None)
    declared = hint.get()
    if types is not None:
        result = stated_type(p.scope, types)
    elif declared is not None:
        result = declared.type
    else:
        result = args[indices[0]].type if 0 <= indices[0] < len(args) else T.object_type()
    return p.emit(
        "relax.call_inplace_packed",
        [make_tuple(args, p.scope.location(node))],
        result,
        node,
        name,
        func=ir.StringAttr.get(func),
        inplace_indices=ir.DenseI64ArrayAttr.get(indices),
    )


INPLACE = {
    "call_tir_inplace": partial(call_tir, inplace=True),
    "call_dps_packed_inplace": partial(call_tir, packed=True, inplace=True),
    "call_inplace_packed": _call_inplace_packed,
}
