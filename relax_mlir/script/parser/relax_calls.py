"""Call forms and constructors of the Relax language: call_tir, call_packed, match_cast, const, ..."""

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.errors import did_you_mean
from relax_mlir.script.parser.annotations import AnnotationParser
from relax_mlir.script.parser.dims import DimParser
from relax_mlir.script.parser.relax_expr import ExprParser, Hint, literal

_TYPE_KEYWORDS = ("sinfo_args", "ty_args", "type_args")
_RESULT_KEYWORDS = ("out_sinfo", "out_ty")


def shape_of(p: ExprParser, value: ir.Value, node: ast.AST, name: str | None) -> ir.Value:
    """Create `relax.shape_of`."""
    if not T.is_tensor(value.type):
        p.scope.fail(node, f"only tensors have a shape, this is {describe(value.type)}")
    type_ = T.shape_type(T.tensor_dims(value.type), T.tensor_ndim(value.type))
    return p.emit("relax.shape_of", [value], type_, node, name)


def match_cast(p: ExprParser, value: ir.Value, type_: ir.Type, node: ast.AST, name: str | None) -> ir.Value:
    """Create `relax.match_cast`; certain failure is an error here."""
    if not compatible(type_, value.type):
        p.scope.fail(
            node, f"this cannot succeed: value is {describe(value.type)}, pattern {describe(type_)}"
        )
    return p.emit("relax.match_cast", [value], type_, node, name)


def call_function(p: ExprParser, function: Any, node: ast.Call, name: str | None) -> ir.Value:
    """Create a call of another function of the module."""
    if function.kind == "tir":
        p.scope.fail(
            node.func,
            f"'{function.name}' is a prim func; call it by R.call_tir(cls.{function.name}, "
            "(...), out_sinfo=...)",
        )
    if node.keywords:
        p.scope.fail(node.keywords[0], "functions of the module take positional arguments")
    args = [p.value(arg) for arg in node.args]
    types = p.module.parameter_types(function)
    if len(types) != len(args):
        p.scope.fail(
            node, f"'{function.name}' takes {len(types)} arguments, got {len(args)}"
        )
    for i, (type_, arg) in enumerate(zip(types, args, strict=True)):
        if not compatible(type_, arg.type):
            p.scope.fail(
                node.args[i],
                f"argument {i} of '{function.name}' must be {describe(type_)}, "
                f"got {describe(arg.type)}",
            )
    declared, pure = p.module.result_of(function, node, p.scope)
    result = _instantiate(declared, types, [arg.type for arg in args])
    if not pure:
        if p.in_dataflow:
            p.scope.fail(
                node,
                f"'{function.name}' may have side effects and cannot be called in a dataflow block",
            )
        p.impure = True
    attributes = {"callee": ir.FlatSymbolRefAttr.get(function.name)}
    if pure:
        attributes["pure"] = ir.UnitAttr.get()
    operand = make_tuple(args, p.scope.location(node))
    return p.emit("relax.call", [operand], result, node, name, **attributes)


def _instantiate(result: ir.Type, params: Sequence[ir.Type], args: Sequence[ir.Type]) -> ir.Type:
    """Express a callee's result type in the caller's symbols; what cannot be is left out."""
    known: dict[str, SymExpr] = {}
    for param, arg in zip(params, args, strict=True):
        pair = [
            T.tensor_dims(t) if T.is_tensor(t) else T.shape_dims(t) if isinstance(t, Shape) else None
            for t in (param, arg)
        ]
        for dim, actual in zip(pair[0] or (), pair[1] or (), strict=False):
            if dim.name:
                known.setdefault(dim.name, actual)
    return substitute(result, known)


def substitute(type_: ir.Type, known: dict[str, SymExpr]) -> ir.Type:
    """Replace the symbols of a type; dimensions over symbols that are not known become unknown."""
    if isinstance(type_, ir.TupleType):
        fields = [substitute(type_.get_type(i), known) for i in range(type_.num_types)]
        return ir.TupleType.get_tuple(fields)
    tensor = T.is_tensor(type_)
    if not tensor and not isinstance(type_, Shape):
        return type_
    dims = T.tensor_dims(type_) if tensor else T.shape_dims(type_)
    if dims is None:
        return type_
    if all(dim.symbols <= set(known) for dim in dims):
        dims = [dim.substitute(known) for dim in dims]
        return T.tensor_type(dims, T.tensor_dtype(type_)) if tensor else T.shape_type(dims)
    if tensor:
        return T.tensor_type(None, T.tensor_dtype(type_), len(dims))
    return T.shape_type(None, len(dims))


def _arguments(
    p: ExprParser, node: ast.Call, names: Sequence[str], required: int
) -> dict[str, ast.AST]:
    what = ast.unparse(node.func)
    if len(node.args) > len(names):
        p.scope.fail(
            node.args[len(names)], f"{what} takes at most {len(names)} arguments, got {len(node.args)}"
        )
    given = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        key = keyword.arg
        if key in _RESULT_KEYWORDS and "result" in names:
            key = "result"
        if key in _TYPE_KEYWORDS and "types" in names:
            key = "types"
        if key not in names:
            near = did_you_mean(str(key), names)
            p.scope.fail(keyword, f"{what} has no argument '{keyword.arg}'{near}")
        if key in given:
            p.scope.fail(keyword, f"argument '{key}' is given twice")
        given[key] = keyword.value
    for missing in list(names)[:required]:
        if missing not in given:
            p.scope.fail(node, f"{what} needs argument '{missing}'")
    return given


def _shape_of_call(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["x"], 1)
    return shape_of(p, p.value(given["x"]), node, name)


def _const(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["value", "dtype"], 1)
    dtype = AnnotationParser(p.scope).dtype(given.get("dtype"))
    return p.constant(literal(p.scope, given["value"]), node, name, dtype)


def _make_tuple(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    values = [p.value(arg) for arg in node.args]
    return make_tuple(values, p.scope.location(node, name))


def _make_shape(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["values"], 1)
    return p.shape(p.evaluate(given["values"]), node, name)


def _prim_value(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["value"], 1)
    return p.materialize(DimParser(p.scope).integer(given["value"]), node, name)


def _emit(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["value"], 1)
    return p.value(given["value"], name, hint)


def _match_cast(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["value", "type"], 2)
    value = p.value(given["value"])
    reader = AnnotationParser(p.scope, define=True)
    type_ = reader.parse(given["type"]).type
    reader.dims.finish()
    return match_cast(p, value, type_, node, name)


def _match_shape(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    given = _arguments(p, node, ["value", "pattern"], 2)
    value = p.value(given["value"])
    reader = AnnotationParser(p.scope, define=True)
    shape = reader.shape(given["pattern"])
    reader.dims.finish()
    if not isinstance(shape, list):
        p.scope.fail(given["pattern"], "the pattern must be a tuple of dimensions")
    if T.is_tensor(value.type):
        type_ = T.tensor_type(shape, T.tensor_dtype(value.type))
    elif isinstance(value.type, Shape):
        type_ = T.shape_type(shape)
    else:
        p.scope.fail(given["value"], f"expected a tensor or a shape, got {describe(value.type)}")
    return match_cast(p, value, type_, node, name)


@dataclass
class _Target:
    """What a destination-passing call calls: a prim func of the module, or a packed function."""

    prim: Any = None
    packed: str = ""


def _target(p: ExprParser, node: ast.AST, packed: bool) -> _Target | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        prim = None if packed else p.module.functions.get(node.value)
        return _Target(prim) if prim is not None and prim.kind == "tir" else _Target(packed=node.value)
    if isinstance(node, ast.Call) and p.scope.path(node.func) == "R.ExternFunc":
        return _Target(packed=str(literal(p.scope, node.args[0])))
    function = p.module.find(p.scope, node)
    if function is None:
        return None
    if function.kind != "tir":
        p.scope.fail(node, f"'{function.name}' is a Relax function; call it as {function.name}(...)")
    return _Target(function)


def _is_many(p: ExprParser, node: ast.AST) -> bool:
    """Whether a shape argument spells several shapes rather than the dimensions of one."""
    if not isinstance(node, (ast.Tuple, ast.List)) or not node.elts:
        return False
    first = node.elts[0]
    if isinstance(first, ast.Name):
        value = p.scope.values.get(first.id)
        return isinstance(value, ir.Value) and isinstance(value.type, Shape)
    return isinstance(first, (ast.Tuple, ast.List))


def _call_tir(p: ExprParser, node: ast.Call, name: str | None, hint: Hint, packed: bool = False) -> Any:
    first = node.args[0] if node.args else None
    modern = first is None or _target(p, first, packed) is not None
    if modern:
        names = ["func", "args", "result", "tir_vars"]
    else:
        names = ["shape", "func", "args", "tir_vars", "dtype"]
    given = _arguments(p, node, names, 3)
    target = _target(p, given["func"], packed)
    if target is None:
        near = did_you_mean(ast.unparse(given["func"]), p.module.names)
        p.scope.fail(given["func"], f"expected a prim func or the name of a packed function{near}")
    args = p.fields(given["args"])
    if modern:
        shapes, results, many = _modern_outputs(p, given["result"])
    else:
        shapes, results, many = _design_outputs(p, given, target, args, hint)
    if target.prim is not None:
        _check_count(p, node, target.prim, len(args), len(shapes), given.get("tir_vars"))
    attributes: dict[str, ir.Attribute] = {}
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
    if target.prim is not None:
        op, attributes["callee"] = "relax.call_tir", ir.FlatSymbolRefAttr.get(target.prim.name)
    else:
        attributes["func"] = ir.StringAttr.get(target.packed)
    return p.emit(op, [out_shape, make_tuple(args, loc)], result, node, name, **attributes)


def _check_count(
    p: ExprParser, node: ast.AST, prim: Any, args: int, outputs: int, variables: ast.AST | None
) -> None:
    buffers = p.module.buffer_count(prim)
    if buffers != args + outputs:
        p.scope.fail(
            node,
            f"'{prim.name}' takes {buffers} buffers, the call passes {args} and {outputs} "
            f"output{'s' if outputs != 1 else ''}",
        )
    integers = p.module.integer_count(prim)
    if integers and variables is None:
        p.scope.fail(node, f"'{prim.name}' takes {integers} integers after its buffers: add tir_vars=")


def _modern_outputs(p: ExprParser, node: ast.AST) -> tuple[list[ir.Value], list[ir.Type], bool]:
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


def _shape_name(p: ExprParser, node: ast.AST) -> ir.Value | None:
    """Return the shape value that `R.Tensor(lv3, dtype=...)` names, so that it is not made again."""
    if isinstance(node, ast.Call):
        shape = next((k.value for k in node.keywords if k.arg == "shape"), None)
        shape = node.args[0] if node.args else shape
    elif isinstance(node, ast.Subscript):
        shape = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) else node.slice
    else:
        return None
    if isinstance(shape, ast.Name):
        value = p.scope.values.get(shape.id)
        if isinstance(value, ir.Value) and isinstance(value.type, Shape):
            return value
    return None


def _design_outputs(
    p: ExprParser, given: dict[str, ast.AST], target: _Target, args: list[ir.Value], hint: Hint
) -> tuple[list[ir.Value], list[ir.Type], bool]:
    """Read the design document's order, where the dtype is derived: annotation, callee, argument."""
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


def _call_dps_packed(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    return _call_tir(p, node, name, hint, packed=True)


def _call_packed(p: ExprParser, node: ast.Call, name: str | None, hint: Hint, pure: bool = False) -> Any:
    if not node.args:
        p.scope.fail(node, f"{ast.unparse(node.func)} needs the name of the function")
    func = literal(p.scope, node.args[0])
    if not isinstance(func, str):
        p.scope.fail(node.args[0], "the name of a packed function is a string")
    types = None
    for keyword in node.keywords:
        if keyword.arg not in _TYPE_KEYWORDS:
            near = did_you_mean(str(keyword.arg), _TYPE_KEYWORDS)
            p.scope.fail(keyword, f"R.call_packed has no argument '{keyword.arg}'{near}")
        types = keyword.value
    declared = hint.get()
    if types is not None:
        items = types.elts if isinstance(types, (ast.List, ast.Tuple)) else [types]
        fields = [AnnotationParser(p.scope).parse(item).type for item in items]
        result = fields[0] if len(fields) == 1 else ir.TupleType.get_tuple(fields)
    elif declared is not None:
        result = _unchecked(declared.type)
    else:
        result = T.object_type()
    if p.in_dataflow and not pure:
        # The design document's opaque shape function: W2 of R09.
        if not isinstance(result, Shape):
            p.scope.fail(
                node,
                f"R.call_packed may have side effects and cannot stand in a dataflow block; if "
                f"'{func}' has none, use R.call_pure_packed",
            )
        pure = True
    p.impure = p.impure or not pure
    args = [p.value(arg) for arg in node.args[1:]]
    operand = make_tuple(args, p.scope.location(node))
    op = "relax.call_pure_packed" if pure else "relax.call_packed"
    return p.emit(op, [operand], result, node, name, func=ir.StringAttr.get(func))


def _unchecked(type_: ir.Type) -> ir.Type:
    """Return what is believed of a packed function's result by its annotation alone.

    The kind of value is; ranks, dtypes and dimensions are checked by a match_cast.
    """
    if T.is_tensor(type_):
        return T.tensor_type()
    if isinstance(type_, Shape):
        return T.shape_type()
    if isinstance(type_, ir.TupleType):
        fields = [_unchecked(type_.get_type(i)) for i in range(type_.num_types)]
        return ir.TupleType.get_tuple(fields)
    return type_


def _call_pure_packed(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    return _call_packed(p, node, name, hint, pure=True)


def _builtin(func: str) -> Callable[..., Any]:
    def call(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
        if p.in_dataflow:
            p.scope.fail(
                node, f"{ast.unparse(node.func)} has a side effect; move it outside the dataflow block"
            )
        for keyword in node.keywords:
            p.scope.fail(keyword, f"{ast.unparse(node.func)} takes only values")
        p.impure = True
        operand = make_tuple([p.value(arg) for arg in node.args], p.scope.location(node))
        attribute = ir.StringAttr.get(func)
        return p.emit("relax.call_packed", [operand], T.object_type(), node, name, func=attribute)

    return call


def _is_type(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    p.scope.fail(node, f"{ast.unparse(node.func)} is a type, not a value")


def _is_statement(p: ExprParser, node: ast.Call, name: str | None, hint: Hint) -> Any:
    p.scope.fail(node, f"{ast.unparse(node.func)} is a statement of its own, not a value")


SPECIAL: dict[str, Callable[..., Any]] = {
    "call_tir": _call_tir,
    "call_tir_dyn": _call_tir,
    "call_dps_packed": _call_dps_packed,
    "call_packed": _call_packed,
    "call_pure_packed": _call_pure_packed,
    "match_cast": _match_cast,
    "match_shape": _match_shape,
    "shape_of": _shape_of_call,
    "const": _const,
    "tuple": _make_tuple,
    "shape": _make_shape,
    "ShapeExpr": _make_shape,
    "prim_value": _prim_value,
    "emit": _emit,
    "print": _builtin("vm.builtin.print"),
    "assert_op": _builtin("vm.builtin.assert_op"),
    "Tensor": _is_type,
    "Shape": _is_type,
    "Object": _is_type,
    "Tuple": _is_type,
    "Prim": _is_type,
    "output": _is_statement,
    "outputs": _is_statement,
    "dataflow": _is_statement,
}
