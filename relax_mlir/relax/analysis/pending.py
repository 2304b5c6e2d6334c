"""Expressions that have been written and not emitted: their parts, without recursion."""

from collections.abc import Iterator
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    var,
    view,
)


def is_pending(node: Any) -> bool:
    """Whether a node is written by hand, in no module."""
    if isinstance(node, Var):
        return node.mlir_value is None
    if isinstance(node, SeqExpr):
        return node.mlir_block is None
    if isinstance(node, BindingBlock):
        return not node._ops and getattr(node, "_op", None) is None
    return isinstance(node, (Expr, Binding)) and getattr(node, "mlir_op", None) is None


def children(node: Any) -> list[Any]:
    """Return the parts of an expression, of a binding or of a block in the order of evaluation.

    A binding's variable comes after its value, a function's parameters first.
    """
    op = getattr(node, "mlir_op", None)
    if op is not None and len(op.regions) and type(node) is not If and not _has_parts(node):
        return _with_regions(node, op)
    if isinstance(node, Call):
        return [node.op, *node.args]
    if isinstance(node, Tuple):
        return list(node.fields)
    if isinstance(node, TupleGetItem):
        return [node.tuple_value]
    if isinstance(node, If):
        return [node.cond, node.true_branch, node.false_branch]
    if isinstance(node, Binding):
        bound = node.var
        return [node.value] if bound is None else [node.value, bound]
    if isinstance(node, BindingBlock):
        return list(node.bindings)
    if isinstance(node, SeqExpr):
        body = node.body
        return list(node.blocks) if body is None else [*node.blocks, body]
    if isinstance(node, Function):
        # A declaration has neither.
        is_declared = op is not None and not len(op.regions[0].blocks)
        return [] if is_declared else [*node.params, node.body]
    return []


def _has_parts(node: Any) -> bool:
    return isinstance(node, (Function, Binding, BindingBlock))


def _with_regions(node: Any, op: ir.Operation) -> list[Any]:
    """Return the parts of an operation that no class describes: a lambda, a loop."""
    keep = node._keep
    bodies = [block for region in op.regions for block in region.blocks]
    return [
        *(view(value, keep) for value in op.operands),
        *(var(value, keep) for block in bodies for value in block.arguments),
        *(SeqExpr.of(block, keep) for block in bodies),
    ]


def pending_variables(node: Any) -> Iterator[tuple[Var, bool]]:
    """Yield the variables of an expression and whether each is declared where it stands.

    What is shared is looked at once, so the time is linear in the number of nodes.
    """
    stack: list[tuple[Any, bool]] = [(node, False)]
    seen: set[Any] = set()
    while stack:
        part, bound = stack.pop()
        if isinstance(part, Var):
            yield part, bound
            continue
        if part in seen:
            continue
        seen.add(part)
        declared = list(part.params) if isinstance(part, Function) else []
        if isinstance(part, Binding) and part.var is not None:
            declared = [part.var]
        parts = children(part)
        stack += [(each, any(each is one for one in declared)) for each in reversed(parts)]


def pending_global_vars(node: Any) -> list[GlobalVar]:
    """Return the functions of the module that an expression refers to, in order."""
    result: dict[GlobalVar, None] = {}
    stack = [node]
    seen: set[Any] = set()
    while stack:
        part = stack.pop()
        if part in seen:
            continue
        seen.add(part)
        if isinstance(part, GlobalVar):
            result[part] = None
        stack += reversed(children(part))
    return list(result)
