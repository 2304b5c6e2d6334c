"""Every expression of a program once, parts before what they are parts of."""

from collections.abc import Callable
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.pending import children
from relax_mlir.relax.expr import Binding, BindingBlock, Expr, binding_of, function_view, functions


def post_order_visit(node: Any, fvisit: Callable[[Expr], Any]) -> None:
    """Call a function on each expression of a program, its parts first; no recursion.

    Each variable and each operation comes once, however often it is used. Bindings and blocks are
    no expressions; what is in them comes in order.

    Args:
        node: IRModule, function, block or expression; also one that has not been emitted.
        fvisit: called with each expression.

    Raises:
        ExprTypeError: it is no part of a program.
    """
    seen: set[Any] = set()
    stack: list[tuple[Any, bool]] = [(each, False) for each in reversed(_roots(node))]
    while stack:
        part, done = stack.pop()
        if done:
            if isinstance(part, Expr):
                fvisit(part)
            continue
        if part in seen:
            continue
        seen.add(part)
        stack.append((part, True))
        stack += [(each, False) for each in reversed(children(part))]


def _roots(node: Any) -> list[Any]:
    if isinstance(node, IRModule):
        return list(functions(node).values())
    if isinstance(node, (ir.Operation, ir.OpView)):
        op = node.operation
        return [function_view(op, node) if op.name == "func.func" else binding_of(op, node)]
    if not isinstance(node, (Expr, Binding, BindingBlock)):
        raise ExprTypeError(f"expected a part of a program, got {type(node).__name__}")
    return [node]
