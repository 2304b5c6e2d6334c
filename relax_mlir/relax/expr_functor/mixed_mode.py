"""`MixedModeVisitor`, `MixedModeMutator`, `post_order_rewrite`: parts first, without recursion."""

import contextlib
from collections.abc import Container
from typing import Any

from relax_mlir.relax.expr import Call, Tuple, TupleGetItem
from relax_mlir.relax.expr_functor.functor import METHODS, method_of
from relax_mlir.relax.expr_functor.mutator import PyExprMutator
from relax_mlir.relax.expr_functor.sharing import in_post_order, is_shareable
from relax_mlir.relax.expr_functor.visitor import PyExprVisitor

# Kinds whose parts are visited before them. Branches and functions are scopes of their own.
_DATAFLOW = (Call, Tuple, TupleGetItem)


class MixedModeVisitor(PyExprVisitor):
    """A visitor that visits parts of calls and tuples that are not emitted yet before them.

    However deep they are nested, Python's stack stays as it is.
    """

    _stack_for = staticmethod(contextlib.nullcontext)

    def _visit_once(self, expr: Any) -> Any:
        for part in _parts_first(expr, self.visit_counter_) if self._visiting else ():
            super()._visit_once(part)
            # That was no use of it.
            self.visit_counter_[part] -= 1
        return super()._visit_once(expr)


class MixedModeMutator(PyExprMutator):
    """A mutator that visits parts of calls and tuples that are not emitted yet before them.

    However deep they are nested, Python's stack stays as it is. Override `rewrite_`.
    """

    def rewrite_(self, pre: Any, post: Any) -> Any:
        """Return what takes the place of a call, a tuple or a field of a tuple.

        Args:
            pre: the expression as it was.
            post: the same of rewritten parts.
        """
        return post

    def visit_call_(self, call: Call) -> Any:
        """Rewrite the call of rewritten parts."""
        return self.rewrite_(call, super().visit_call_(call))

    def visit_tuple_(self, expr: Tuple) -> Any:
        """Rewrite the tuple of rewritten fields."""
        return self.rewrite_(expr, super().visit_tuple_(expr))

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> Any:
        """Rewrite the field of a rewritten tuple."""
        return self.rewrite_(expr, super().visit_tuple_getitem_(expr))

    _stack_for = staticmethod(contextlib.nullcontext)

    def _visit_once(self, expr: Any) -> Any:
        for part in _parts_first(expr, self.memo_) if self._visiting else ():
            super()._visit_once(part)
        return super()._visit_once(expr)


class ExprRewriter:
    """What `post_order_rewrite` does at each expression; override `rewrite_call_`, ....

    Each method is given the expression as it was and the same of rewritten parts, and returns what
    takes its place: by default the latter.
    """

    def rewrite(self, pre: Any, post: Any) -> Any:
        """Rewrite an expression by its kind."""
        return getattr(self, _REWRITES.get(method_of(type(pre)), "rewrite_fallback_"))(pre, post)

    def rewrite_fallback_(self, pre: Any, post: Any) -> Any:
        """Rewrite an expression of a kind without a method of its own."""
        return post


def _keep(self: ExprRewriter, pre: Any, post: Any) -> Any:
    return self.rewrite_fallback_(pre, post)


_REWRITES = {name: name.replace("visit_", "rewrite_", 1) for name in METHODS.values()}
for _name in _REWRITES.values():
    setattr(ExprRewriter, _name, _keep)


class _Rewriting(MixedModeMutator):
    def __init__(self, rewriter: ExprRewriter) -> None:
        super().__init__()
        self._rewriter = rewriter

    def rewrite_(self, pre: Any, post: Any) -> Any:
        return self._rewriter.rewrite(pre, post)

    def visit_var_(self, var: Any) -> Any:
        return self._rewriter.rewrite(var, super().visit_var_(var))

    def visit_constant_(self, expr: Any) -> Any:
        return self._rewriter.rewrite(expr, expr)

    visit_shape_expr_ = visit_constant_
    visit_prim_value_ = visit_constant_
    visit_string_imm_ = visit_constant_
    visit_data_type_imm_ = visit_constant_
    visit_global_var_ = visit_constant_
    visit_extern_func_ = visit_constant_
    visit_op_ = visit_constant_


def post_order_rewrite(expr: Any, rewriter: ExprRewriter) -> Any:
    """Return an expression or a function rewritten from its parts upwards, without recursion.

    Args:
        expr: an expression, or a function, whose bindings are rewritten one after the other.
        rewriter: what is done at each expression.

    Raises:
        ExprTypeError: it is no expression.
    """
    return _Rewriting(rewriter).visit_expr(expr)


def _parts_first(expr: Any, visited: Container[Any]) -> list[Any]:
    """Return the calls and tuples in one that is not emitted yet, parts first, it left out."""
    result = in_post_order(expr, lambda part: isinstance(part, _DATAFLOW) and part not in visited)
    return [part for part in result[:-1] if is_shareable(part) and part not in visited]
