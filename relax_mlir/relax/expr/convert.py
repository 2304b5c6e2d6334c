"""What people write where an expression belongs: numbers, arrays, symbols, tuples."""

from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.errors import ExprTypeError
from relax_mlir.relax.expr.base import Expr
from relax_mlir.relax.expr.values import Constant, PrimValue, ShapeExpr, StringImm, Tuple, const
from relax_mlir.script.markers import Marker


def convert(value: Any, dtype: str = "") -> Any:
    """Return the expression for a value.

    Args:
        value: an expression; a symbolic integer; a number or array, which becomes a constant; a
            string; a tuple or list, a shape when all of it are integers and symbols.
        dtype: the dtype of a number's constant, that of the tensor beside it.

    Raises:
        ExprTypeError: it means nothing in a Relax program.
        ExprError: a number that the dtype does not have.
    """
    if isinstance(value, Expr):
        return value
    if isinstance(value, (np.ndarray, np.generic)):
        return const(value, dtype if isinstance(value, np.generic) and dtype else None)
    if isinstance(value, (bool, int, float)):
        return const(value, dtype or None)
    if isinstance(value, SymExpr):
        return PrimValue(value)
    if isinstance(value, str):
        return StringImm(value)
    if isinstance(value, (list, tuple)):
        if value and all(is_integer(item) for item in value):
            return ShapeExpr(value)
        return Tuple(value)
    if isinstance(value, ir.Value):
        from relax_mlir.relax.expr.views import view

        return view(value)
    data = _array(value)
    if data is not None:
        return Constant(data)
    if isinstance(value, Marker):
        return _called(value)
    raise ExprTypeError(f"a Python {type(value).__name__} has no meaning in a Relax program")


def is_integer(value: Any) -> bool:
    """Whether something can be a dimension."""
    return isinstance(value, (SymExpr, PrimValue)) or (
        isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    )


def _array(value: Any) -> np.ndarray | None:
    """Return the elements of a tensor of another library, None for anything else."""
    if not hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return None
    try:
        return np.from_dlpack(value) if hasattr(value, "__dlpack__") else np.asarray(value)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise ExprTypeError(
            f"a Python {type(value).__name__} cannot be a constant: {error}"
        ) from error


def _called(marker: Marker) -> Expr:
    """Return the call that `R.nn.relu(x)` is outside of scripts: that of `relax.op.nn.relu(x)`.

    Raises:
        ExprTypeError: it is no operation, or not called.
    """
    from relax_mlir.dialects.relax.op_names import ALIASES, NAMESPACES
    from relax_mlir.relax import op

    language, _, path = marker.script_path.partition(".")
    name = path.rsplit(".", 1)[-1]
    written = path in (name, f"nn.{name}", f"{NAMESPACES.get(name, '')}{name}", *ALIASES)
    if language != "R" or not written or name not in dir(op) or name in op.GROUPS:
        raise ExprTypeError(f"{marker.script_path} means something only inside a script function")
    if marker.script_call is None or marker.script_subscript:
        raise ExprTypeError(f"{marker.script_path} is a function; call it")
    args, keywords = marker.script_call
    return convert(getattr(op, name)(*args, **keywords))
