"""Visitors of statements, and substitution of variables."""

import copy
import importlib
from collections.abc import Callable, Mapping
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError, missing
from relax_mlir.tir.scalar.conversion import as_expr
from relax_mlir.tir.scalar.dtypes import SIZE
from relax_mlir.tir.scalar.nodes import Call, ProducerLoad, Reduce
from relax_mlir.tir.scalar.prim_expr import Leaf, PrimExpr, Size
from relax_mlir.tir.view.statements import statement

_UNSUPPORTED = {
    "ir_transform": "a transform.prim_func_pass changes operations in place, and tir.Schedule "
    "splits, reorders and vectorizes loops (docs/passes.md)",
    "renew_defs": "IRModule.clone gives a copy with variables of its own",
    **dict.fromkeys(
        ("StmtVisitor", "StmtMutator", "StmtExprVisitor", "StmtExprMutator"),
        "post_order_visit calls a function for each statement",
    ),
}


def __getattr__(name: str) -> Any:
    raise AttributeError(missing("tir.stmt_functor", name, _UNSUPPORTED, globals()))


def post_order_visit(stmt: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call a function for each statement, or each part of an expression, inner ones first.

    Args:
        stmt: a module of prim funcs, a function, a statement, or a scalar expression.
        fvisit: called with each: a `tir.For`, a `tir.Block`, a `tir.BufferStore`, ..., other
            operations as they are; parts of expressions as expressions.

    Raises:
        ExprTypeError: it is none of these, or `fvisit` is no function.
    """
    _visit(stmt, lambda _: True, fvisit)


def pre_order_visit(stmt: Any, fvisit: Callable[[Any], Any]) -> None:
    """Call a function for each statement, or part of an expression, outer ones first.

    Args:
        stmt: as for `post_order_visit`.
        fvisit: as there; what is inside of one is left out where it gives False.

    Raises:
        ExprTypeError: as there.
    """
    _visit(stmt, fvisit, lambda _: None)


def _visit(stmt: Any, before: Callable[[Any], Any], after: Callable[[Any], Any]) -> None:
    for function in (before, after):
        if not callable(function):
            raise ExprTypeError(f"fvisit is a function of a statement, got {function!r}")
    if isinstance(stmt, (PrimExpr, SymExpr)):
        stack: list[tuple[Any, bool]] = [(stmt, False)]
        while stack:
            node, left = stack.pop()
            if left:
                after(node)
            elif before(node) is not False:
                inner = _parts(node)
                stack += [(node, True), *((each, False) for each in reversed(inner))]
        return
    for operation in _operations(stmt):
        operations = [(operation, False)]
        while operations:
            op, left = operations.pop()
            if left:
                after(statement(op, stmt))
            elif before(statement(op, stmt)) is not False:
                operations += [(op, True), *((each, False) for each in _inner(op)[::-1])]


def _parts(node: Any) -> list[Any]:
    if isinstance(node, Reduce):
        return list(node.reduction.source)
    return list(node.operands) if isinstance(node, PrimExpr) else []


def _inner(operation: ir.Operation) -> list[ir.Operation]:
    # What a block begins with is its second region.
    regions = list(operation.regions)[:: -1 if operation.name == "tir.block" else 1]
    return [view.operation for r in regions for block in r.blocks for view in block.operations]


def _operations(stmt: Any) -> list[ir.Operation]:
    """Return the operations to visit: those in a module's or a function's body, or itself."""
    if hasattr(stmt, "mlir_module"):
        functions = [view.operation for view in stmt.mlir_module.body.operations]
        return [op for f in functions if "tir.prim_func" in f.attributes for op in _inner(f)]
    if isinstance(stmt, ir.Region):
        return [view.operation for block in stmt.blocks for view in block.operations]
    operation: Any = getattr(stmt, "mlir_op", None) or getattr(stmt, "operation", None)
    if not isinstance(operation, ir.Operation):
        raise ExprTypeError(
            "tir.stmt_functor visits a module of prim funcs, a function, a statement or a scalar "
            f"expression, got {type(stmt).__name__}"
        )
    return _inner(operation) if operation.name == "func.func" else [operation]


def substitute(node: Any, vmap: Mapping[Any, Any]) -> Any:
    """Return an expression, or a prim func, with something in the place of variables.

    Args:
        node: a scalar expression or a symbolic integer; a prim func, whose symbols become numbers
            as by its `specialize`.
        vmap: by variable what stands in its place: expressions and numbers.

    Raises:
        ExprTypeError: it is neither, or something stands in the place of what is no variable.
    """
    if not isinstance(vmap, Mapping):
        raise ExprTypeError(f"substitute takes a dict by variable, got {vmap!r}")
    if hasattr(node, "specialize"):
        return node.specialize(vmap)
    for key in vmap:
        if not isinstance(key, Leaf) and getattr(key, "name", None) is None:
            raise ExprTypeError(f"substitute replaces variables, got {key!r}")
    names = {str(key): value for key, value in vmap.items() if isinstance(key, SymExpr)}
    leaves = {id(key): value for key, value in vmap.items() if isinstance(key, Leaf)}
    if isinstance(node, SymExpr):
        return _size(node, names)
    if not isinstance(node, PrimExpr):
        raise ExprTypeError(
            f"substitute takes a scalar expression or a prim func, got {type(node).__name__}"
        )
    return _replaced(node, names, leaves)


def _size(expr: SymExpr, names: dict[str, Any]) -> Any:
    values = {name: value for name, value in names.items() if name in expr.symbols}
    if all(isinstance(value, (int, SymExpr)) for value in values.values()):
        return expr.substitute(values)

    def symbol(name: str) -> PrimExpr:
        return as_expr(values.get(name, SymExpr.var(name)), SIZE)

    def divide(kind: str, lhs: PrimExpr, rhs: PrimExpr) -> PrimExpr:
        functions = importlib.import_module("relax_mlir.tir.scalar.functions")
        made = {"floordiv": lambda: lhs // rhs, "mod": lambda: lhs % rhs}
        made |= {"max": lambda: functions.max(lhs, rhs), "min": lambda: functions.min(lhs, rhs)}
        return made[kind]() if kind in made else functions.ceildiv(lhs, rhs)

    return expr.fold(symbol, lambda number: as_expr(number, SIZE), divide)


def _replaced(node: PrimExpr, names: dict[str, Any], leaves: dict[int, Any]) -> PrimExpr:
    if id(node) in leaves:
        return as_expr(leaves[id(node)], node.dtype)
    if isinstance(node, Size) and not names.keys() & node.expr.symbols:
        return node
    if isinstance(node, Size):
        return as_expr(_size(node.expr, names), node.dtype)
    if isinstance(node, Reduce):
        raise ExprTypeError(
            "substitute replaces nothing in a reduction: replace in what te.sum takes"
        )
    inside = [_replaced(each, names, leaves) for each in node.operands]
    if all(new is old for new, old in zip(inside, node.operands, strict=True)):
        return node
    made = copy.copy(node)
    if isinstance(node, (Call, ProducerLoad)):
        setattr(made, "args" if isinstance(node, Call) else "indices", tuple(inside))
        return made
    by_node = {id(old): new for old, new in zip(node.operands, inside, strict=True)}
    for name in _slots(node):
        value = getattr(node, name)
        if isinstance(value, PrimExpr):
            setattr(made, name, by_node[id(value)])
    return made


def _slots(node: PrimExpr) -> list[str]:
    result = [getattr(cls, "__slots__", ()) for cls in type(node).__mro__]
    return [name for slots in result for name in slots]
