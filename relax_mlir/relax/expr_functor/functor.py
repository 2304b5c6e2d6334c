"""`ExprFunctor`: from an expression to the method for its kind."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.errors import ExprError, ExprTypeError
from relax_mlir.relax.expr import (
    Call,
    Constant,
    DataflowVar,
    DataTypeImm,
    Expr,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    Op,
    PrimFunc,
    PrimValue,
    SeqExpr,
    ShapeExpr,
    StringImm,
    Tuple,
    TupleGetItem,
    Var,
)

# Kind of expression -> the method that a visitor or mutator has for it, as TVM's are called.
METHODS: dict[type[Any], str] = {
    Call: "visit_call_",
    Var: "visit_var_",
    DataflowVar: "visit_dataflow_var_",
    Constant: "visit_constant_",
    Tuple: "visit_tuple_",
    TupleGetItem: "visit_tuple_getitem_",
    ShapeExpr: "visit_shape_expr_",
    PrimValue: "visit_prim_value_",
    StringImm: "visit_string_imm_",
    DataTypeImm: "visit_data_type_imm_",
    GlobalVar: "visit_global_var_",
    ExternFunc: "visit_extern_func_",
    Op: "visit_op_",
    If: "visit_if_",
    SeqExpr: "visit_seq_expr_",
    Function: "visit_function_",
    PrimFunc: "visit_prim_func_",
}


@contextmanager
def bounded_depth(func: Function) -> Iterator[None]:
    """Say what is wrong where Python's stack ends: it holds some hundred branches in branches.

    Raises:
        ExprError: it did.
    """
    try:
        yield
    except RecursionError as error:
        op = func.mlir_op
        name = "lambda"
        if op is not None and "sym_name" in op.attributes:
            name = ir.StringAttr(op.attributes["sym_name"]).value
        raise ExprError(
            f"branches or loops of function '{name}' are nested too deep to be visited: put inner "
            "ones into functions of their own, or raise sys.setrecursionlimit"
        ) from error


def method_of(kind: type[Any]) -> str:
    """Return the name of the method for a class of expressions.

    Raises:
        ExprTypeError: it is no class of expressions.
    """
    if kind is type(None):
        raise ExprTypeError(
            "found a null node while visiting a program; what made it gave None for an expression"
        )
    for base in kind.__mro__:
        name = METHODS.get(base)
        if name is not None:
            return METHODS.setdefault(kind, name)
    if issubclass(kind, Expr):
        return METHODS.setdefault(kind, "visit_expr_fallback_")
    raise ExprTypeError(f"expected an expression, got {kind.__name__}")


class ExprFunctor:
    """A function of expressions with a method for each kind: `visit_call_`, `visit_var_`, ....

    `visit_expr` gives what the method for the kind of an expression returns, and hands further
    arguments on. A kind without a method is one of `visit_expr_default_`, which refuses it.
    """

    def visit_expr(self, expr: Any, *args: Any) -> Any:
        """Return what the method for the kind of an expression returns.

        Raises:
            ExprTypeError: it is no expression, or there is no method for its kind.
        """
        return getattr(self, method_of(type(expr)))(expr, *args)

    def __call__(self, expr: Any, *args: Any) -> Any:
        """Return what `visit_expr` does."""
        return self.visit_expr(expr, *args)

    def visit_expr_default_(self, expr: Any, *args: Any) -> Any:
        """Refuse an expression of a kind that the class has no method for.

        Raises:
            ExprTypeError: always.
        """
        name = method_of(type(expr))
        raise ExprTypeError(
            f"{type(self).__name__} has no default for a {type(expr).__name__}: define {name}, or "
            "visit_expr_default_ for all kinds"
        )


def _default(self: ExprFunctor, expr: Any, *args: Any) -> Any:
    return self.visit_expr_default_(expr, *args)


for _name in (*METHODS.values(), "visit_expr_fallback_"):
    setattr(ExprFunctor, _name, _default)
