"""Calls of operations: `R.concat((x, y), axis=1)`."""

import ast
import copy
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import describe
from relax_mlir.dialects.relax.op_names import ALIASES, dialect_name
from relax_mlir.dialects.relax.ops.base import COMPUTE_OPS, REQUIRED, Param, build
from relax_mlir.dialects.relax.ops.params import SYMBOLIC_KINDS
from relax_mlir.dialects.relax.tuples import field_types, is_tuple
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import did_you_mean, hint_of, wrong_count
from relax_mlir.script.parser import tables
from relax_mlir.script.parser.dims import DimParser, check_size
from relax_mlir.script.parser.interfaces import ExprParser, NullValue
from relax_mlir.script.parser.literals import literal, scalar_literal
from relax_mlir.script.parser.source import Node
from relax_mlir.script.relax_parser.logic import integers


def operation(p: ExprParser, written: str, node: Node, name: str | None) -> ir.Value:
    """Create the operation that `R.<written>(...)` calls.

    Raises:
        ScriptError: there is no such operation, or its arguments are wrong.
    """
    op = dialect_name(written)
    if op not in COMPUTE_OPS:
        known = [*COMPUTE_OPS, *ALIASES, *tables.BUILTINS]
        near = did_you_mean(written, known) or did_you_mean(op, known)
        p.scope.fail(node.func, f"there is no operation R.{written}{near}")
    cls = COMPUTE_OPS[op]
    given = _bind(p, cls.PARAMS, node)
    operands: list[tuple[Param, Node | None, Any]] = []
    attrs = {}
    for param in cls.PARAMS:
        place = given.get(param.name)
        if place is None:
            if param.default is REQUIRED:
                p.scope.fail(node, f"R.{written} needs argument '{param.name}'")
            if param.is_operand:
                operands.append((param, None, param.default))
        elif param.is_operand:
            operands.append((param, place, _operand(p, param, place)))
        else:
            attrs[param.name] = _attribute(p, param, place)
    dtypes = [_dtype(raw) for param, _, raw in operands if not param.numbers]
    dtype = next(filter(None, dtypes), "")
    if not cls.PURE:
        if p.in_dataflow:
            p.scope.fail(
                node,
                f"{ast.unparse(node.func)} has a side effect; move it outside the dataflow block",
            )
        p.impure = True
    values = [_value(p, param, place, raw, dtype) for param, place, raw in operands]
    try:
        return build(op, values, attrs, p.scope.location(node, name))
    except (ValueError, TypeError) as error:
        p.scope.fail(node, f"{ast.unparse(node.func)}: {error}")


def method(p: ExprParser, node: Node, name: str | None) -> ir.Value | None:
    """Create the operation that `x.sum(axis=0)` calls; None where there is none of that name.

    Raises:
        ScriptError: its arguments are wrong.
    """
    if not isinstance(node.func, ast.Attribute):
        return None
    op = ALIASES.get(node.func.attr, node.func.attr)
    params = COMPUTE_OPS[op].PARAMS if op in COMPUTE_OPS else ()
    if not params or params[0].kind != "tensor":
        return None
    call = ast.Call(node.func, [node.func.value, *node.args], node.keywords)
    return operation(p, op, ast.copy_location(call, node), name)


def _operand(p: ExprParser, param: Param, node: Node) -> Any:
    """Return an operand as Python has it: a value, a number, or a list of them."""
    if param.default is None and isinstance(node, ast.Constant) and node.value is None:
        return None
    raw = p.evaluate(node)
    if param.default is None and isinstance(raw, NullValue):
        return None
    if param.kind == "shape" and isinstance(raw, (tuple, list)):
        return _dims(p, raw, node)
    return raw


def _dims(p: ExprParser, raw: Any, node: Node) -> list[SymExpr]:
    dims: list[SymExpr] = []
    for item in integers(p, raw, node):
        if isinstance(item, bool) or not isinstance(item, (int, SymExpr)):
            p.scope.fail(node, "a shape is a tuple of integers and symbols")
        dim = SymExpr.of(item)
        DimParser(p.scope).check_bound(node, dim)
        if dim != -1:
            check_size(p.scope, node, dim)
        dims.append(dim)
    return dims


def _dtype(raw: Any) -> str:
    """Return the dtype that numbers next to this operand take."""
    if isinstance(raw, (tuple, list)):
        return next(filter(None, map(_dtype, raw)), "")
    if not isinstance(raw, ir.Value):
        return ""
    types = field_types(raw.type) if is_tuple(raw.type) else [raw.type]
    return next(filter(None, (T.tensor_dtype(t) for t in types if T.is_tensor(t))), "")


def _value(p: ExprParser, param: Param, place: Node | None, raw: Any, dtype: str) -> Any:
    """Return what `build` takes for an operand."""
    if place is None or raw is None:
        return raw
    dtype = param.numbers or dtype
    if param.kind == "shape":
        # A pattern for reshape is for the operation to make sense of.
        is_pattern = isinstance(raw, list) and any(dim == 0 or dim == -1 for dim in raw)
        return raw if is_pattern else p.shape(raw, place)
    if isinstance(raw, ir.Value) or (param.kind == "prim" and isinstance(raw, (int, SymExpr))):
        return raw
    if param.kind == "tensors":
        if not isinstance(raw, (tuple, list)):
            p.scope.fail(place, f"{param.name} must be a tuple of tensors")
        places = place.elts if isinstance(place, (ast.Tuple, ast.List)) else [place] * len(raw)
        one = Param(param.name, "tensor")
        pairs = zip(places, raw, strict=False)
        return [_value(p, one, where, item, dtype) for where, item in pairs]
    if isinstance(raw, SymExpr) and raw.is_const:
        raw = raw.value
    if isinstance(raw, (int, float)):
        # A dtype that only run time knows is for the operation to ask.
        return p.constant(raw, place, None, dtype) if dtype else raw
    return p.materialize(raw, place)


def _attribute(p: ExprParser, param: Param, node: Node) -> Any:
    if isinstance(node, ast.Call) and p.scope.path(node.func) == "R.tuple" and not node.args:
        # So TVM writes what is left out.
        return None
    if isinstance(node, ast.Name) and isinstance(p.scope.values.get(node.id), NullValue):
        return None
    if param.kind in SYMBOLIC_KINDS:
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        if param.kind == "dims" and isinstance(node, (ast.Tuple, ast.List)):
            return [integer(p, item) for item in node.elts]
        return integer(p, node)
    if param.kind == "index_map":
        return _index_map(p, node)
    value = _text(p, node) or literal(p.scope, node)
    return [value] if param.kind == "ints" and isinstance(value, int) else value


def _text(p: ExprParser, node: Node) -> str | None:
    """Return the text that a variable of the program has, as after `dtype = R.dtype("int8")`."""
    value = p.scope.values.get(node.id) if isinstance(node, ast.Name) else None
    made: Any = getattr(value, "owner", None)
    if getattr(made, "name", None) != "relax.call_pure_packed":
        return None
    is_word = made.attributes["func"].value == "vm.builtin.word"
    return made.attributes["static_args"][0].value if is_word else None


def _index_map(p: ExprParser, node: Node) -> Any:
    """Return the text of a lambda, with what it names around it, or what a name stands for."""
    if isinstance(node, ast.Call) and p.scope.path(node.func) == "T.index_map" and node.args:
        return _index_map(p, node.args[0])
    if not isinstance(node, ast.Lambda):
        return literal(p.scope, node)
    names = {arg.arg for arg in node.args.args}

    class Known(ast.NodeTransformer):
        def visit_Name(self, name: ast.Name) -> ast.AST:
            return name if name.id in names else ast.Constant(literal(p.scope, name))

        def visit_Call(self, call: ast.Call) -> ast.AST:
            return ast.Constant(literal(p.scope, call))

    return ast.unparse(Known().visit(copy.deepcopy(node)))


def integer(p: ExprParser, node: Node) -> Any:
    """Return a symbolic integer, or the Python value that stands in its place."""
    if isinstance(node, ast.Call) and p.scope.path(node.func) == "R.prim_value" and node.args:
        scalar = scalar_literal(p.scope, node.args[0])
        return DimParser(p.scope).integer(node.args[0]) if scalar is None else scalar
    scalar = scalar_literal(p.scope, node)
    if scalar is not None:
        return scalar
    raw = p.evaluate(node)
    if isinstance(raw, ir.Value):
        known = p.scope.symbol_of(raw, node.id if isinstance(node, ast.Name) else "i", node)
        if known is None:
            p.scope.fail(node, f"expected an integer or a symbol, got {describe(raw.type)}")
        return known
    if isinstance(raw, SymExpr):
        DimParser(p.scope).check_bound(node, raw)
    if isinstance(raw, (tuple, list)):
        return list(raw)
    return raw


def _bind(p: ExprParser, params: tuple[Param, ...], node: Node) -> dict[str, Node]:
    """Match arguments to parameters by position and keyword."""
    names = [param.name for param in params]
    args: list[Node] = list(node.args)
    what = ast.unparse(node.func)
    if len(args) > len(names):
        if params[-1].kind == "ints":
            # R.permute_dims(x, 1, 0)
            keep = len(names) - 1
            args = [*args[:keep], ast.copy_location(ast.Tuple(args[keep:], ast.Load()), node)]
        else:
            p.scope.fail(args[len(names)], wrong_count(what, len(names), len(args)))
    given = dict(zip(names, args, strict=False))
    for keyword in node.keywords:
        if keyword.arg is None:
            p.scope.fail(keyword, f"write the arguments of {what} one by one, not as '**'")
        if keyword.arg not in names:
            near = hint_of(keyword.arg, names)
            p.scope.fail(keyword, f"{what} has no argument '{keyword.arg}'{near}")
        if keyword.arg in given:
            p.scope.fail(keyword, f"argument '{keyword.arg}' is given twice")
        given[keyword.arg] = keyword.value
    return given
