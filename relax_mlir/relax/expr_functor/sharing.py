"""Expressions that are not emitted yet: each used in many places, and nested without end."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relax_mlir.errors import ExprError
from relax_mlir.relax.analysis.pending import children, is_pending
from relax_mlir.relax.expr import Call, Expr, Function, If, SeqExpr, Tuple, TupleGetItem, Var

# Kinds with parts. Others are visited wherever they are used.
_COMPOUND = frozenset({Call, Tuple, TupleGetItem, If, SeqExpr, Function})
# Calls of Python for one level of expressions: `visit_expr`, the method and those it overrides.
_FRAMES = 12
# Before 3.11 each call of Python takes some of the stack of C, which the process cannot exceed.
_MAX_FRAMES = 12_000 if sys.version_info < (3, 11) else 10_000_000


def is_shareable(expr: Any) -> bool:
    """Whether an expression is not emitted yet and has parts, so that it is visited once."""
    return type(expr) in _COMPOUND and is_pending(expr)


def in_post_order(expr: Any, has_parts: Callable[[Any], bool] = lambda _: True) -> list[Any]:
    """Return an expression and its parts that are not emitted yet, each once, parts first.

    Bindings and blocks are among them, variables are not.

    Args:
        expr: the expression.
        has_parts: whether the parts of one are looked at.
    """
    result: dict[Any, None] = {}
    stack: list[tuple[Any, bool]] = [(expr, False)]
    while stack:
        part, done = stack.pop()
        if done:
            result[part] = None
        elif part not in result:
            stack.append((part, True))
            parts = children(part) if has_parts(part) else []
            stack += [(each, False) for each in reversed(parts) if _is_inner(each)]
    return list(result)


def _is_inner(part: Any) -> bool:
    return not isinstance(part, Var) and is_pending(part)


@contextmanager
def stack_for(expr: Expr) -> Iterator[None]:
    """Let Python's stack be as deep as an expression is nested.

    Raises:
        ExprError: it is nested too deep for any.
    """
    depth: dict[Any, int] = {}
    for each in in_post_order(expr):
        depth[each] = 1 + max((depth.get(part, 0) for part in children(each)), default=0)
    before = sys.getrecursionlimit()
    frames = min(_FRAMES * depth[expr], _MAX_FRAMES)
    if frames > _FRAMES * 20:
        sys.setrecursionlimit(before + frames)
    try:
        yield
    except RecursionError as error:
        raise ExprError(
            f"{depth[expr]} expressions are nested in one another, too deep to be visited: derive "
            "from MixedModeVisitor or MixedModeMutator, or bind parts to variables"
        ) from error
    finally:
        sys.setrecursionlimit(before)
