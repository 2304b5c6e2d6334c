"""Calls and constructors of Relax: call_packed, match_cast, const and others."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.derive import derived_type, word_of
from relax_mlir.dialects.relax.dialect import Dims, Shape
from relax_mlir.dialects.relax.infer import compatible, describe
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import did_you_mean, wrong_count
from relax_mlir.extension_points import extension
from relax_mlir.ir.attribute_value import python_attribute
from relax_mlir.script.parser.annotations import AnnotationParser, stated_type
from relax_mlir.script.parser.arguments import TYPE_KEYWORDS, arguments
from relax_mlir.script.parser.dims import DimParser, captured_value
from relax_mlir.script.parser.interfaces import NullValue
from relax_mlir.script.parser.literals import literal, scalar_literal, static_arguments
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser import lowered, memory
from relax_mlir.script.relax_parser.dps import (
    INPLACE,
    call_dps_packed,
    call_tir,
    call_tir_with_grad,
    extern_func,
)
from relax_mlir.script.relax_parser.expr import ExprParser, Hint
from relax_mlir.script.relax_parser.logic import integers
from relax_mlir.script.relax_parser.operations import operation

# What an attribute of a call of a packed function cannot be called.
_RESERVED = ("func", "static_args", "inplace_indices", "pure")


def shape_of(p: ExprParser, value: ir.Value, node: Node, name: str | None) -> ir.Value:
    """Create `relax.shape_of`."""
    if not T.is_tensor(value.type):
        p.scope.fail(node, f"only tensors have a shape, this is {describe(value.type)}")
    type_ = T.shape_type(T.tensor_dims(value.type), T.tensor_ndim(value.type))
    return p.emit("relax.shape_of", [value], type_, node, name)


def match_cast(
    p: ExprParser, value: ir.Value, type_: ir.Type, node: Node, name: str | None
) -> ir.Value:
    """Create `relax.match_cast`; certain failure is an error here."""
    if not compatible(type_, value.type):
        p.scope.fail(
            node, f"this cannot succeed: value is {describe(value.type)}, pattern {describe(type_)}"
        )
    return p.emit("relax.match_cast", [value], type_, node, name)


def match_prim(p: ExprParser, value: ir.Value, expr: SymExpr, node: Node) -> ir.Value:
    """Create `relax.match_prim`, which binds a symbol to an integer or asserts what it is."""
    ir.Operation.create(
        "relax.match_prim",
        operands=[value],
        attributes={"value": Dims.of([expr])},
        loc=p.scope.location(node),
    )
    if p.scope.integer_of(value) is None:
        p.scope.integers.append((value, expr))
    return value


def call_function(p: ExprParser, function: Any, node: Node, name: str | None) -> ir.Value | None:
    """Create a call of another function of the module, which gives None for a prim func."""
    if function.kind == "tir":
        return memory.call_prim_func(p, function, node)
    if node.keywords:
        p.scope.fail(node.keywords[0], "functions of the module take positional arguments")
    args = [p.value(arg) for arg in node.args]
    types = p.module.parameter_types(function)
    check_arguments(p, function.name, types, args, node)
    declared, pure = p.module.result_of(function, node, p.scope)
    result = instantiate(declared, types, [arg.type for arg in args])
    if not pure:
        if p.in_dataflow:
            p.scope.fail(
                node,
                f"'{function.name}' may have side effects and cannot be called in a dataflow block",
            )
        p.impure = True
    attributes: dict[str, ir.Attribute] = {"callee": ir.FlatSymbolRefAttr.get(function.name)}
    if pure:
        attributes["pure"] = ir.UnitAttr.get()
    operand = make_tuple(args, p.scope.location(node))
    return p.emit("relax.call", [operand], result, node, name, **attributes)


def check_arguments(
    p: ExprParser, what: str, types: Sequence[ir.Type], args: Sequence[ir.Value], node: Node
) -> None:
    """Check the arguments of a call against the types of the parameters.

    Raises:
        ScriptError: another number of them, or one does not fit.
    """
    if len(types) != len(args):
        p.scope.fail(node, wrong_count(f"'{what}'", len(types), len(args)))
    for i, (type_, arg) in enumerate(zip(types, args, strict=True)):
        if not compatible(type_, arg.type, same_symbols=False):
            p.scope.fail(
                node.args[i],
                f"argument {i} of '{what}' must be {describe(type_)}, got {describe(arg.type)}",
            )


def instantiate(result: ir.Type, params: Sequence[ir.Type], args: Sequence[ir.Type]) -> ir.Type:
    """Express a callee's result type in the caller's symbols; what cannot be is left out."""
    known: dict[str, SymExpr] = {}
    for param, arg in zip(params, args, strict=True):
        pair = [
            T.tensor_dims(t)
            if T.is_tensor(t)
            else T.shape_dims(t)
            if isinstance(t, Shape)
            else None
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


def _shape_of_call(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["x"], 1)
    return shape_of(p, p.value(given["x"]), node, name)


def _const(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["value", "dtype"], 1)
    dtype = AnnotationParser(p.scope).dtype(given.get("dtype"))
    return p.constant(literal(p.scope, given["value"]), node, name, dtype)


def _make_tuple(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    values = [p.value(arg) for arg in node.args]
    return make_tuple(values, p.scope.location(node, name))


def _make_shape(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    values = arguments(p.scope, node, ["values"], 1)["values"]
    raw = p.evaluate(values)
    return p.shape(integers(p, raw, values) if isinstance(raw, (list, tuple)) else raw, node, name)


def _prim_value(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    value = arguments(p.scope, node, ["value"], 1)["value"]
    # Other numbers than integers are tensors without dimensions, as where they stand alone.
    scalar = scalar_literal(p.scope, value)
    if isinstance(value, ast.Call) and p.scope.path(value.func) == "T.int32":
        return p.value(value, name)
    if isinstance(value, (ast.Compare, ast.BoolOp)):
        return p.value(value, name)
    raw = DimParser(p.scope).integer(value) if scalar is None else scalar
    return p.materialize(raw, node, name)


def _tuple_get_item(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["tuple_value", "index"], 2)
    index = literal(p.scope, given["index"])
    if type(index) is not int:
        p.scope.fail(given["index"], "the index of a tuple is an integer")
    return p.field(p.value(given["tuple_value"]), index, node, name)


def _extern_func(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["global_symbol", "ty"], 1)
    symbol = literal(p.scope, given["global_symbol"])
    if not isinstance(symbol, str):
        p.scope.fail(given["global_symbol"], "the name of a packed function is a string")
    known = AnnotationParser(p.scope).parse(given["ty"]).signature if "ty" in given else None
    if known is None:
        return extension("script.ExternFunc")(symbol)
    made = extension("script.ExternFunc").typed(symbol, known.types, known.result, known.pure)
    made.ty.derive_func = known.derive or None
    return made


def _emit(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["value"], 1)
    return p.value(given["value"], name, hint)


def _match_cast(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["value", "type"], 2)
    value = p.value(given["value"])
    reader = AnnotationParser(p.scope, define=True)
    annotation = reader.parse(given["type"])
    reader.dims.finish()
    if annotation.integer is not None and str(value.type) == "i64":
        return match_prim(p, value, annotation.integer, node)
    return match_cast(p, value, annotation.type, node, name)


def _match_shape(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    given = arguments(p.scope, node, ["value", "pattern"], 2)
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


def _call_packed(
    p: ExprParser, node: Node, name: str | None, hint: Hint, pure: bool = False
) -> Any:
    if not node.args:
        p.scope.fail(node, f"{ast.unparse(node.func)} needs the name of the function")
    target = extern_func(p, node.args[0])
    func = _packed_name(p, node.args[0]) if target is None else target.global_symbol
    pure = pure or (target is not None and target.ty.purity)
    types = None
    attributes: dict[str, ir.Attribute] = {"func": ir.StringAttr.get(func)}
    given, texts = _trailing_texts(p, node.args[1:])
    if texts:
        attributes["static_args"] = ir.ArrayAttr.get([ir.StringAttr.get(text) for text in texts])
    for keyword in node.keywords:
        if keyword.arg == "static_args":
            attributes["static_args"] = static_arguments(p.scope, keyword.value)
            continue
        if keyword.arg not in TYPE_KEYWORDS:
            near = did_you_mean(str(keyword.arg), (*TYPE_KEYWORDS, *_RESERVED))
            if near or keyword.arg in _RESERVED:
                p.scope.fail(keyword, f"R.call_packed has no argument '{keyword.arg}'{near}")
            attributes[str(keyword.arg)] = python_attribute(literal(p.scope, keyword.value))
            continue
        types = keyword.value
    args = [_word(p, arg, None, hint) if _is_text(p, arg) else p.value(arg) for arg in given]
    known = None if target is None else _returned(p, target, args, given, node)
    declared = hint.get()
    if types is not None:
        result = stated_type(p.scope, types)
    elif known is not None:
        result = known
    elif declared is not None:
        result = _unchecked(declared.type)
    else:
        result = T.object_type()
    if p.in_dataflow and not pure:
        # A packed function that returns a shape is a shape function, which has no effects.
        if not isinstance(result, Shape):
            p.scope.fail(
                node,
                f"R.call_packed may have side effects and cannot stand in a dataflow block; if "
                f"'{func}' has none, use R.call_pure_packed",
            )
        pure = True
    p.impure = p.impure or not pure
    operand = make_tuple(args, p.scope.location(node))
    op = "relax.call_pure_packed" if pure else "relax.call_packed"
    return p.emit(op, [operand], result, node, name, **attributes)


def _returned(
    p: ExprParser, target: Any, args: Sequence[ir.Value], given: Sequence[Node], node: Node
) -> ir.Type | None:
    """Return what a packed function of a declared type returns for arguments, None if not known."""
    declared = target.ty
    if declared.derive_func:
        known = [(arg.type, word_of(arg)) for arg in args]
        with p.scope.guarded(node):
            return derived_type(declared.derive_func, known)
    if str(declared.ret.to_mlir()) == "!relax.object":
        return None
    if declared.params is None:
        return declared.ret.to_mlir()
    types = [each.to_mlir() for each in declared.params]
    call = ast.copy_location(ast.Call(node.func, list(given), []), node)
    check_arguments(p, target.name_hint, types, args, call)
    return instantiate(declared.ret.to_mlir(), types, [arg.type for arg in args])


def _call_builtin(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Create a call of a builtin of the VM, which knows the machine that runs it."""
    args = node.args[1] if len(node.args) == 2 else None
    if not isinstance(args, (ast.List, ast.Tuple)):
        p.scope.fail(node, "R.call_builtin_with_ctx takes a builtin's name and its arguments")
    return call_packed(p, node, node.args[0], args.elts, name, hint)


def call_packed(
    p: ExprParser, node: Node, func: Node, args: Sequence[Node], name: str | None, hint: Hint
) -> Any:
    """Create a call of a packed function; other arguments are keywords of the node."""
    call = ast.Call(node.func, [func, *args], node.keywords)
    return _call_packed(p, ast.copy_location(call, node), name, hint)


def _call_py_func(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.call_py_func("f", (x,), out_ty=R.Tensor((3,)))`, a call of an `I.pyfunc`."""
    given = arguments(p.scope, node, ["func", "args", "result"], 2)
    func, args = given["func"], given["args"]
    func = func.args[0] if isinstance(func, ast.Call) and _is_text(p, func) else func
    values = args.elts if isinstance(args, ast.Tuple) else [args]
    types = [ast.keyword("ty_args", given["result"])] if "result" in given else []
    call = ast.copy_location(ast.Call(node.func, [func, *values], types), node)
    return _call_packed(p, call, name, hint)


def _packed_name(p: ExprParser, node: Node) -> str:
    func = literal(p.scope, node)
    if not isinstance(func, str):
        p.scope.fail(node, "the name of a packed function is a string")
    return func


def _trailing_texts(p: ExprParser, nodes: Sequence[Node]) -> tuple[list[Node], list[str]]:
    """Return the arguments of a packed function, and the texts behind them."""
    count = len(nodes)
    while count and _is_text(p, nodes[count - 1]):
        count -= 1
    return list(nodes[:count]), [literal(p.scope, node) for node in nodes[count:]]


def _is_text(p: ExprParser, node: Node) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Call) and p.scope.path(node.func) in ("R.str", "R.dtype")


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


def _call_pure_packed(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    return _call_packed(p, node, name, hint, pure=True)


def _builtin(func: str) -> Callable[..., Any]:
    def call(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
        if p.in_dataflow:
            p.scope.fail(
                node,
                f"{ast.unparse(node.func)} has a side effect; move it outside the dataflow block",
            )
        words: dict[str, Node] = {keyword.arg or "": keyword.value for keyword in node.keywords}
        for keyword in node.keywords:
            if keyword.arg not in ("format", "format_args"):
                p.scope.fail(keyword, f"{ast.unparse(node.func)} takes values and 'format'")
        p.impure = True
        given = [*node.args, *([words["format_args"]] if "format_args" in words else [])]
        # What the message is made of may stand in a list, as TVM has it.
        items = [e for arg in given for e in (arg.elts if isinstance(arg, ast.List) else [arg])]
        operand = make_tuple([p.value(item) for item in items], p.scope.location(node))
        attributes: dict[str, ir.Attribute] = {"func": ir.StringAttr.get(func)}
        if "format" in words:
            message = literal(p.scope, words["format"])
            if not isinstance(message, str):
                p.scope.fail(words["format"], "'format' is a string")
            if message:
                attributes["static_args"] = ir.ArrayAttr.get([ir.StringAttr.get(message)])
        return p.emit("relax.call_packed", [operand], T.object_type(), node, name, **attributes)

    return call


def _null_value(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.null_value()`; TVM prints `_` of it for arguments that were left out."""
    return NullValue() if name == "_" else null_value(p, node, name)


def null_value(p: ExprParser, node: Node, name: str | None) -> ir.Value:
    """Create the call that gives nothing."""
    func = ir.StringAttr.get("vm.builtin.null_value")
    nothing = make_tuple([], p.scope.location(node))
    return p.emit("relax.call_pure_packed", [nothing], T.object_type(), node, name, func=func)


def _emit_te(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.emit_te(topi.add, x, y)`: a call of the prim func that a te function makes.

    Raises:
        ScriptError: the first argument is no Python function.
    """
    if not node.args or not callable(captured_value(p.scope, node.args[0])):
        p.scope.fail(node, "R.emit_te takes a te function first, as in R.emit_te(topi.add, x, y)")
    return p.materialize(p.call_python(p.module.builder.call_te, node), node, name)


def _emit_with_type(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.emit_with_type("relax.add", (x, y))`: a call of an operation by its full name.

    Raises:
        ScriptError: there is no such operation.
    """
    given = arguments(p.scope, node, ["op", "args", "ty_args"], 2)
    op = str(literal(p.scope, given["op"])).removeprefix("relax.")
    args = given["args"].elts if isinstance(given["args"], ast.Tuple) else [given["args"]]
    special, call = SPECIAL.get(op), ast.copy_location(ast.Call(node.func, args, []), node)
    return operation(p, op, call, name) if special is None else special(p, call, name, hint)


def _word(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    """Parse `R.str("text")`, for functions that take texts."""
    text = node.args[0] if isinstance(node, ast.Call) and len(node.args) == 1 else node
    words = ir.ArrayAttr.get([ir.StringAttr.get(str(literal(p.scope, text)))])
    func, nothing = ir.StringAttr.get("vm.builtin.word"), make_tuple([], p.scope.location(node))
    return p.emit(
        "relax.call_pure_packed", [nothing], T.object_type(), node, name, func=func,
        static_args=words,
    )  # fmt: skip


def _is_type(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    p.scope.fail(node, f"{ast.unparse(node.func)} is a type, not a value")


def _is_statement(p: ExprParser, node: Node, name: str | None, hint: Hint) -> Any:
    p.scope.fail(node, f"{ast.unparse(node.func)} is a statement of its own, not a value")


SPECIAL: dict[str, Callable[..., Any]] = {
    "call_tir": call_tir,
    "call_tir_dyn": call_tir,
    "call_tir_with_grad": call_tir_with_grad,
    "call_dps_packed": call_dps_packed,
    **INPLACE,
    "call_packed": _call_packed,
    "call_pure_packed": _call_pure_packed,
    "call_builtin_with_ctx": _call_builtin,
    "call_py_func": _call_py_func,
    "match_cast": _match_cast,
    "match_shape": _match_shape,
    "shape_of": _shape_of_call,
    "const": _const,
    "tuple": _make_tuple,
    "shape": _make_shape,
    "ShapeExpr": _make_shape,
    "prim_value": _prim_value,
    "ExternFunc": _extern_func,
    "TupleGetItem": _tuple_get_item,
    "emit": _emit,
    "emit_te": _emit_te,
    "emit_with_ty": _emit_with_type,
    "emit_with_type": _emit_with_type,
    "print": _builtin("vm.builtin.print"),
    "assert_op": _builtin("vm.builtin.assert_op"),
    "null_value": _null_value,
    "builtin.alloc_tensor": lowered.alloc_tensor,
    **lowered.VM_CALLS,
    **memory.MEMORY_CALLS,
    "str": _word,
    "dtype": _word,
    "Tensor": _is_type,
    "Shape": _is_type,
    "Object": _is_type,
    "Tuple": _is_type,
    "Prim": _is_type,
    "output": _is_statement,
    "outputs": _is_statement,
    "dataflow": _is_statement,
}
