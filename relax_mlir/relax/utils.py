"""Variables, shapes and scalars by short names, copies of functions, under TVM's names."""

from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_lock import lock_of
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.extension_points import extension
from relax_mlir.ir.single_function import single
from relax_mlir.relax.builder.names import Names
from relax_mlir.relax.expr import ExternFunc, Function, Type, Var
from relax_mlir.tir.scalar.conversion import const
from relax_mlir.tir.scalar.prim_expr import PrimExpr


def copy_with_new_vars(func: Function) -> Function:
    """Return a copy of a function, alone in a module, with variables and symbols of its own.

    Symbols get names that the function has not: `n` is `n_1` in the copy, or `n_11`, ....
    """
    module = func._alone()
    made = module[module.function_names[0]]
    op = single(made)
    substitute = extension("relax.substitute_in_function")
    with lock_of(op.context), op.context, ir.Location.unknown():
        symbols = substitute(op, {})
        names = Names(symbols)
        fresh = {name: SymExpr.var(names.fresh(f"{name}_1")) for name in sorted(symbols)}
        substitute(op, fresh)
    return made


def var(name: str, shape: Any = None, dtype: Any = None, ty: Any = None) -> Var:
    """Return a variable, as the design document writes it: `rx.var("x", shape=[n, m])`.

    Args:
        name: of the variable.
        shape: of a tensor; Relay's programs have the type here.
        dtype: of a tensor, float32 as in Relay where there is a shape.
        ty: the type, where there is no shape.
    """
    # A type of a script, R.Tensor((2,), "float32"), has a path.
    if isinstance(shape, Type) or "script_path" in getattr(shape, "__dict__", ()):
        shape, ty = None, shape
    return Var(name, ty, shape=shape, dtype=dtype or "float32")


def prim_value(value: Any) -> Any:
    """Return a scalar expression of `tir`: Python's numbers as int64 and float64, others as is.

    Raises:
        ExprTypeError: it is an expression of tensors, or no number.
    """
    if isinstance(value, (bool, int, np.integer)):
        return const(int(value), "bool" if isinstance(value, bool) else "int64")
    if isinstance(value, (float, np.floating)):
        return const(float(value), "float64")
    if not isinstance(value, (PrimExpr, SymExpr)):
        raise ExprTypeError(f"Cannot convert {type(value).__name__} {value!r} to a scalar")
    return value


def extern(name: str, ty: Any = None) -> ExternFunc:
    """Return the packed function of a name, found when the program runs."""
    return ExternFunc(name, ty)
