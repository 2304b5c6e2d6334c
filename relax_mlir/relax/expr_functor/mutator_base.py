"""`ExprMutatorBase`: a functor that makes expressions of expressions."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.errors import ExprTypeError
from relax_mlir.relax.analysis.pending import children
from relax_mlir.relax.expr import Call, Expr, If, SeqExpr, Tuple, TupleGetItem, Type, Var
from relax_mlir.relax.expr_functor.functor import ExprFunctor, method_of
from relax_mlir.relax.expr_functor.sharing import is_shareable, stack_for


class ExprMutatorBase(ExprFunctor):
    """Rewrites expressions; override `visit_call_`, `visit_tuple_`, ....

    What a method returns takes the place of the expression. Where no part changed the result is
    the very same object. An expression that is not emitted yet is rewritten once, however often it
    is used, and its result shared.

    Functions and blocks are what a builder writes: `PyExprMutator` rewrites them.

    Attributes:
        memo_: what the last visit made of each expression that is not emitted yet and has parts.
    """

    memo_: dict[Expr, Any]
    _own_methods: type[Any]

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Begin with an empty memo, also where `__init__` does not call this one."""
        made = super().__new__(cls)
        made.memo_, made._visiting = {}, False
        return made

    def visit_expr(self, expr: Any) -> Any:
        """Return what takes the place of an expression.

        Raises:
            ExprTypeError: it is none.
            ExprError: expressions are nested too deep for Python's stack.
        """
        return self._visit_once(expr) if is_shareable(expr) else super().visit_expr(expr)

    def mutate(self, expr: Any) -> Any:
        """Return `visit_expr(expr)`."""
        return self.visit_expr(expr)

    _stack_for = staticmethod(stack_for)

    def _visit_once(self, expr: Expr) -> Any:
        if not self._visiting:
            self.memo_ = {}
            self._visiting = True
            try:
                with self._stack_for(expr):
                    return self._visit_once(expr)
            finally:
                self._visiting = False
        if expr not in self.memo_:
            self.memo_[expr] = super().visit_expr(expr)
        return self.memo_[expr]

    def visit_expr_post_order(self, expr: Any) -> Any:
        """Return an expression with its parts visited: the same object when none changed."""
        if isinstance(expr, _COMPOUND):
            return self._with_parts(expr)
        # What the class does where nobody overrides the method.
        name = "visit_var_" if isinstance(expr, Var) else method_of(type(expr))
        return getattr(self._own_methods, name)(self, expr)

    def visit_type(self, ty: Type) -> Type:
        """Return what takes the place of a type that the program states; a hook for overrides."""
        return ty

    def _with_parts(self, expr: Any) -> Any:
        parts = children(expr)
        return self._rebuilt(expr, parts, [self.visit_expr(part) for part in parts])

    def _rebuilt(self, expr: Any, parts: Sequence[Any], visited: Sequence[Any]) -> Any:
        """Return an expression of new parts: the same object when all are the old ones."""
        stated = list(expr.sinfo_args) if isinstance(expr, Call) else []
        types = [self.visit_type(each) for each in stated]
        if types == stated and all(new is old for new, old in zip(visited, parts, strict=True)):
            return expr
        if isinstance(expr, Call):
            return Call(visited[0], visited[1:], expr.attrs, types)
        if isinstance(expr, If):
            return If(*visited)
        return Tuple(visited) if isinstance(expr, Tuple) else TupleGetItem(visited[0], expr.index)

    # Expressions with parts

    def visit_call_(self, call: Call) -> Any:
        """Visit what is called, and the arguments."""
        return self.visit_expr_post_order(call)

    def visit_tuple_(self, expr: Tuple) -> Any:
        """Visit the fields."""
        return self.visit_expr_post_order(expr)

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> Any:
        """Visit the tuple."""
        return self.visit_expr_post_order(expr)

    def visit_if_(self, expr: If) -> Any:
        """Visit the condition, then both branches."""
        return self.visit_expr_post_order(expr)

    def visit_seq_expr_(self, expr: SeqExpr) -> Any:
        """Visit the value of a sequence without bindings.

        Raises:
            ExprTypeError: it has bindings.
        """
        if expr.blocks:
            raise ExprTypeError(
                f"{type(self).__name__} rewrites expressions; derive from PyExprMutator to rewrite "
                "bindings"
            )
        body = self.visit_expr(expr.body)
        return expr if body is expr.body else SeqExpr([], body)

    # Leaves

    def visit_var_(self, var: Any) -> Any:
        """Return the variable."""
        return var

    def visit_dataflow_var_(self, var: Any) -> Any:
        """As `visit_var_`."""
        return self.visit_var_(var)

    def visit_constant_(self, expr: Any) -> Any:
        """Return the constant."""
        return expr

    visit_shape_expr_ = visit_constant_
    visit_prim_value_ = visit_constant_
    visit_string_imm_ = visit_constant_
    visit_data_type_imm_ = visit_constant_
    visit_global_var_ = visit_constant_
    visit_extern_func_ = visit_constant_
    visit_op_ = visit_constant_
    visit_prim_func_ = visit_constant_


_COMPOUND = (Call, Tuple, TupleGetItem, If)
ExprMutatorBase._own_methods = ExprMutatorBase
