"""`PyExprVisitor`: sees every expression and binding of a program, in order."""

from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.ir.module import IRModule
from relax_mlir.relax.analysis.pending import children
from relax_mlir.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    MatchCast,
    Op,
    PrimFunc,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
    function_view,
    functions,
)
from relax_mlir.relax.expr_functor.functor import ExprFunctor, bounded_depth
from relax_mlir.relax.expr_functor.sharing import is_shareable, stack_for


class PyExprVisitor(ExprFunctor):
    """Visits expressions; override `visit_call_`, `visit_var_binding_`, ....

    Each method's default visits the parts, so an override calls `super()` or visits them itself.
    Bindings come one after the other: depth of recursion is that of branches in branches, however
    many bindings there are. An expression that is not emitted yet is visited once, however often
    it is used.

    Attributes:
        visit_counter_: how often the last visit met each expression that is not emitted yet and
            has parts.
    """

    visit_counter_: dict[Expr, int]

    def __new__(cls, *_: Any, **__: Any) -> Any:
        """Begin with an empty counter, also where `__init__` does not call this one."""
        made = super().__new__(cls)
        made.visit_counter_, made._visiting = {}, False
        return made

    def visit_expr(self, expr: Any) -> Any:
        """Visit an expression, a function or all functions of a module.

        Returns:
            What the method for its kind returns; None for an expression that was visited already.

        Raises:
            ExprTypeError: it is none.
            ExprError: expressions are nested too deep for Python's stack.
        """
        if is_shareable(expr):
            return self._visit_once(expr)
        if isinstance(expr, IRModule):
            for func in functions(expr).values():
                self.visit_expr(func)
            return None
        if isinstance(expr, (ir.Operation, ir.OpView)) and expr.operation.name == "func.func":
            expr = function_view(expr)
        return super().visit_expr(expr)

    _stack_for = staticmethod(stack_for)

    def _visit_once(self, expr: Expr) -> Any:
        if not self._visiting:
            self.visit_counter_ = {}
            self._visiting = True
            try:
                with self._stack_for(expr):
                    return self._visit_once(expr)
            finally:
                self._visiting = False
        if expr in self.visit_counter_:
            self.visit_counter_[expr] += 1
            return None
        self.visit_counter_[expr] = 1
        return super().visit_expr(expr)

    def visit_binding(self, binding: Binding) -> None:
        """Visit a binding by its kind."""
        if isinstance(binding, MatchCast):
            self.visit_match_cast_(binding)
        else:
            self.visit_var_binding_(binding)

    def visit_binding_block(self, block: BindingBlock) -> None:
        """Visit a block by its kind."""
        if isinstance(block, DataflowBlock):
            self.visit_dataflow_block_(block)
        else:
            self.visit_binding_block_(block)

    def visit_var_def(self, var: Var) -> None:
        """Visit a variable where it is bound, by its kind."""
        if isinstance(var, DataflowVar):
            self.visit_dataflow_var_def_(var)
        else:
            self.visit_var_def_(var)

    # Bindings

    def visit_var_binding_(self, binding: Binding) -> None:
        """Visit the value, then the variable."""
        self.visit_expr(binding.value)
        var = binding.var
        if var is not None:
            self.visit_var_def(var)

    def visit_match_cast_(self, binding: MatchCast) -> None:
        """Visit the value, then the variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    def visit_binding_block_(self, block: BindingBlock) -> None:
        """Visit the bindings in order."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_dataflow_block_(self, block: DataflowBlock) -> None:
        """Visit the bindings in order."""
        for binding in block.bindings:
            self.visit_binding(binding)

    def visit_var_def_(self, var: Var) -> None:
        """Visit the binding place of a variable."""

    def visit_dataflow_var_def_(self, var: DataflowVar) -> None:
        """Visit the binding place of a variable of a dataflow block; as `visit_var_def_`."""
        self.visit_var_def_(var)

    # Expressions with parts

    def visit_function_(self, func: Function) -> None:
        """Visit the parameters, then the body; a declaration has neither.

        Raises:
            ExprError: branches or loops in it are nested too deep for Python's stack.
        """
        op = func.mlir_op
        if op is not None and not len(op.regions[0].blocks):
            return
        with bounded_depth(func):
            for param in func.params:
                self.visit_var_def(param)
            self.visit_expr(func.body)

    def visit_seq_expr_(self, expr: SeqExpr) -> None:
        """Visit the blocks, then the value."""
        for block in expr.blocks:
            self.visit_binding_block(block)
        body = expr.body
        if body is not None:
            self.visit_expr(body)

    def visit_if_(self, expr: If) -> None:
        """Visit the condition, then both branches."""
        self.visit_expr(expr.cond)
        self.visit_expr(expr.true_branch)
        self.visit_expr(expr.false_branch)

    def visit_call_(self, call: Call) -> None:
        """Visit what is called, then the arguments."""
        op = call.mlir_op
        if op is not None and len(op.regions):
            self.visit_expr_fallback_(call)
            return
        # Both at once: each is read from MLIR.
        callee, args = (call.op, call.args) if op is None else call._parts()
        self.visit_expr(callee)
        for arg in args:
            self.visit_expr(arg)

    def visit_tuple_(self, expr: Tuple) -> None:
        """Visit the fields."""
        for field in expr.fields:
            self.visit_expr(field)

    def visit_tuple_getitem_(self, expr: TupleGetItem) -> None:
        """Visit the tuple."""
        self.visit_expr(expr.tuple_value)

    def visit_expr_fallback_(self, expr: Any) -> None:
        """Visit the parts of an expression of another kind: a loop, a lambda."""
        own = getattr(expr, "mlir_op", None)
        for part in children(expr):
            if own is not None and isinstance(part, Var) and _binds(own, part):
                self.visit_var_def(part)
            else:
                self.visit_expr(part)

    # Leaves

    def visit_var_(self, var: Var) -> None:
        """Visit a use of a variable."""

    def visit_dataflow_var_(self, var: DataflowVar) -> Any:
        """Visit a use of a variable of a dataflow block; as `visit_var_`."""
        return self.visit_var_(var)

    def visit_constant_(self, expr: Constant) -> None:
        """Visit a constant."""

    def visit_shape_expr_(self, expr: ShapeExpr) -> None:
        """Visit a shape."""

    def visit_prim_value_(self, expr: PrimValue) -> None:
        """Visit a symbolic integer."""

    def visit_string_imm_(self, expr: StringImm) -> None:
        """Visit a string."""

    def visit_data_type_imm_(self, expr: DataTypeImm) -> None:
        """Visit a dtype."""

    def visit_global_var_(self, expr: GlobalVar) -> None:
        """Visit the name of a function of the module."""

    def visit_extern_func_(self, expr: ExternFunc) -> None:
        """Visit the name of a packed function."""

    def visit_op_(self, expr: Op) -> None:
        """Visit an operation's name."""

    def visit_prim_func_(self, func: PrimFunc) -> None:
        """Visit a prim func, which has no parts of Relax."""


def _binds(op: ir.Operation, var: Var) -> bool:
    """Whether a variable is one that each turn of a loop, or call of a lambda, binds."""
    value = var.mlir_value
    if value is None or not isinstance(value.owner, ir.Block):
        return False
    return bool(value.owner.owner.operation == op)
