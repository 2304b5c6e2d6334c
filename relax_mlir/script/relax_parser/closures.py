"""Function values: nested functions, closures, indirect calls."""

import ast
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.tuples import make_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.extension_points import extension
from relax_mlir.script.parser import flow
from relax_mlir.script.parser.annotations import (
    Annotation,
    AnnotationParser,
    Signature,
    stated_type,
)
from relax_mlir.script.parser.arguments import arguments
from relax_mlir.script.parser.env import decorator_kind
from relax_mlir.script.parser.functions import Function
from relax_mlir.script.parser.interfaces import StmtParser
from relax_mlir.script.parser.scope import Scope
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.calls import check_arguments, instantiate, substitute
from relax_mlir.script.relax_parser.expr import ExprParser, Hint


def record_signature(scope: Scope, value: Any, annotation: Annotation | None) -> None:
    """Remember what an annotation says of a function value."""
    if annotation is not None and annotation.signature is not None:
        scope.functions.append((value, annotation.signature))


def signature_of(scope: Scope, value: ir.Value) -> Signature | None:
    """Return what is known of a function value."""
    return next((known for each, known in reversed(scope.functions) if each == value), None)


def reference(p: ExprParser, function: Function, node: Node, name: str | None) -> ir.Value:
    """Return a function of the module as a value; a prim func takes its buffers when called."""
    if function.kind == "extern":
        p.scope.fail(node, f"'{function.name}' is a packed function, which is called, not passed")
    callee = ir.FlatSymbolRefAttr.get(function.name)
    captured = make_tuple([], p.scope.location(node))
    if function.kind == "tir":
        return p.emit("relax.make_closure", [captured], T.object_type(), node, name, callee=callee)
    declared = p.module.signature(function)
    result, pure = declared.result, bool(function.options.get("pure"))
    if function.state != "open":
        result, pure = p.module.result_of(function, node, p.scope)
    value = p.emit("relax.make_closure", [captured], T.object_type(), node, name, callee=callee)
    p.scope.functions.append((value, Signature(declared.types, result, pure)))
    return value


def make_closure(p: ExprParser, node: Node, name: str | None, hint: Hint) -> ir.Value:
    """Parse `R.make_closure(cls.f, (x,))`, a function with values for its last parameters.

    Raises:
        ScriptError: the first argument is no Relax function.
    """
    given = arguments(p.scope, node, ["func", "args"], 2)
    function = p.module.find(p.scope, given["func"])
    if function is None or function.kind != "relax":
        p.scope.fail(given["func"], "expected a Relax function of the module")
    captured = p.fields(given["args"])
    declared = p.module.signature(function)
    count = len(declared.types or ()) - len(captured)
    if count < 0:
        p.scope.fail(given["args"], f"'{function.name}' takes {count + len(captured)} arguments")
    operand = make_tuple(captured, p.scope.location(node))
    callee = ir.FlatSymbolRefAttr.get(function.name)
    return p.emit("relax.make_closure", [operand], T.object_type(), node, name, callee=callee)


def invoke_closure(
    p: ExprParser, node: Node, name: str | None, hint: Hint, pure: bool = False
) -> ir.Value:
    """Parse `R.invoke_closure(f, (x,), sinfo_args=R.Tensor((n,)))`, TVM's spelling of `f(x)`.

    `R.invoke_pure_closure` is that of a function without side effects.

    Raises:
        ScriptError: the first argument is no function.
    """
    given = arguments(p.scope, node, ["closure", "args", "types"], 2)
    value = p.value(given["closure"])
    if str(value.type) != "!relax.object":
        p.scope.fail(given["closure"], f"only functions can be called, got {describe(value.type)}")
    known = signature_of(p.scope, value)
    pure = pure or (known is not None and known.pure)
    result = T.object_type()
    if "types" in given:
        result = stated_type(p.scope, given["types"])
    elif (annotation := hint.get()) is not None:
        result = annotation.type
    p.impure = p.impure or not pure
    attributes = {"pure": ir.UnitAttr.get()} if pure else {}
    operands = [value, make_tuple(p.fields(given["args"]), p.scope.location(node))]
    return p.emit("relax.invoke_closure", operands, result, node, name, **attributes)


def define(statements: StmtParser, node: ast.FunctionDef) -> None:
    """Parse a function inside a function; it sees what is around it.

    Raises:
        ScriptError: it is no Relax function, or wrong.
    """
    scope, expr = statements.scope, statements.expr
    kinds = [decorator_kind(scope.env, each) for each in node.decorator_list]
    if kinds != ["relax"]:
        scope.fail(node, f"'{node.name}' needs @R.function; prim funcs belong to the module")
    recursive = node.name in flow.loaded(node.body)
    op = ir.Operation.create(
        "relax.lambda",
        results=[T.object_type()],
        attributes={"recursive": ir.UnitAttr.get()} if recursive else {},
        regions=1,
        loc=scope.location(node, node.name),
    )
    in_dataflow, impure = expr.in_dataflow, expr.impure
    expr.in_dataflow = expr.impure = False
    with scope.nested("function"):
        signature = _body(statements, node, op, recursive)
    signature.pure = not expr.impure
    expr.in_dataflow, expr.impure = in_dataflow, impure
    scope.functions.append((op.result, signature))
    scope.bind(node.name, op.result)


def _body(
    statements: StmtParser, node: ast.FunctionDef, op: ir.Operation, recursive: bool
) -> Signature:
    parameters = extension("script.parameters")
    scope = statements.scope
    outer = {name: SymExpr.var(name) for name, bound in scope.symbols.items() if bound}
    annotations = parameters(scope, node)
    inner = {name: SymExpr.var(name) for name, bound in scope.symbols.items() if bound}
    types = [annotation.type for annotation in annotations]
    result = None
    if node.returns is not None:
        with scope.guarded(node.returns):
            result = substitute(
                AnnotationParser(scope, define=True).parse(node.returns).type, inner
            )
    elif recursive:
        scope.fail(
            node, f"'{node.name}' calls itself, so it must declare what it returns: '-> ...'"
        )
    own = [T.object_type()] if recursive else []
    names = [*([node.name] if recursive else []), *(arg.arg for arg in node.args.args)]
    locations = [scope.location(node, name) for name in names]
    block = op.regions[0].blocks.append(*own, *types, arg_locs=locations)
    known = len(scope.functions)
    for name, argument in zip(names, block.arguments, strict=True):
        scope.bind(name, argument)
    for annotation, argument in zip(annotations, list(block.arguments)[len(own) :], strict=True):
        record_signature(scope, argument, annotation)
        if annotation.integer is not None:
            scope.fail(node, f"a parameter of '{node.name}' cannot be R.Prim(value=...)")
    if recursive:
        scope.functions.append((block.arguments[0], Signature(types, result, False)))
    body = extension("script.StmtParser")(statements.expr)
    with ir.InsertionPoint(block):
        value = body.body(node.body)
        body.write_attributes(op)
        if node.returns is not None:
            with scope.guarded(node.returns):
                declared = AnnotationParser(scope).parse(node.returns).type
                value = body.refine(value, declared, node.returns, node.returns, None)
        location = scope.location(node.body[-1])
        ir.Operation.create("relax.yield", operands=[value], loc=location)
    returned = signature_of(scope, value)
    del scope.functions[known:]
    # Symbols that the body alone binds mean nothing to a caller.
    return Signature(types, substitute(value.type, {**outer, **inner}), False, returned)


def call(p: ExprParser, value: ir.Value, node: Node, name: str | None, hint: Hint) -> ir.Value:
    """Call a function value; what nobody declared is whatever the variable is annotated with.

    Raises:
        ScriptError: it is no function, or the arguments do not fit it.
    """
    if str(value.type) != "!relax.object":
        p.scope.fail(node.func, f"only functions can be called, this is {describe(value.type)}")
    if node.keywords:
        p.scope.fail(node.keywords[0], "function values take positional arguments")
    args = [p.value(arg) for arg in node.args]
    signature = signature_of(p.scope, value)
    declared = hint.get()
    result, pure = declared.type if declared is not None else T.object_type(), False
    if signature is not None:
        pure = signature.pure
        if signature.types is not None:
            check_arguments(p, ast.unparse(node.func), signature.types, args, node)
            if signature.result is not None:
                types = [arg.type for arg in args]
                result = instantiate(signature.result, signature.types, types)
    if not pure:
        if p.in_dataflow:
            what = ast.unparse(node.func)
            p.scope.fail(
                node, f"'{what}' may have side effects and cannot be called in a dataflow block"
            )
        p.impure = True
    attributes = {"pure": ir.UnitAttr.get()} if pure else {}
    operands = [value, make_tuple(args, p.scope.location(node))]
    made = p.emit("relax.invoke_closure", operands, result, node, name, **attributes)
    if signature is not None and signature.returned is not None:
        p.scope.functions.append((made, signature.returned))
    return made


def callee(p: ExprParser, node: Node) -> ir.Value | None:
    """Return the function value that a call names, None when what it names is no value."""
    if isinstance(node, ast.Name):
        result: Any = p.scope.values.get(node.id)
        return result if isinstance(result, ir.Value) else None
    if isinstance(node, ast.Subscript) or (
        isinstance(node, ast.Call) and callee(p, node.func) is not None
    ):
        result = p.evaluate(node)
        return result if isinstance(result, ir.Value) else None
    return None
