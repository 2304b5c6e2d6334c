"""Broadcasting functions of two or three tensors."""

from collections.abc import Callable
from typing import Any

from relax_mlir.errors import ExprTypeError
from relax_mlir.te.operation import compute
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar import arithmetic, conversion, intrinsics
from relax_mlir.tir.scalar.dtypes import is_float
from relax_mlir.tir.scalar.nodes import Select
from relax_mlir.tir.scalar.prim_expr import PrimExpr
from relax_mlir.topi.support import at, broadcast_shape, shape_of, tensor

_NAMES = (
    "add", "subtract", "multiply", "divide", "floor_divide", "mod", "floor_mod", "maximum",
    "minimum", "power", "atan2", "log_add_exp", "left_shift", "right_shift", "bitwise_and",
    "bitwise_or", "bitwise_xor", "logical_and", "logical_or", "logical_xor", "equal", "not_equal",
    "less", "less_equal", "greater", "greater_equal",
)  # fmt: skip
_FLOATS = ("power", "atan2", "log_add_exp")
_INTEGERS = ("left_shift", "right_shift", "bitwise_and", "bitwise_or", "bitwise_xor")
# Those that are one operation on numbers stay one that accesses can be read off.
_PLAIN = {"add": "add", "subtract": "sub", "multiply": "mul", "maximum": "max", "minimum": "min",
          "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le", "greater": "gt",
          "greater_equal": "ge"}  # fmt: skip


def _apply(name: str, a: Any, b: Any) -> PrimExpr:
    x, y = conversion.matched(a, b)
    if name in _PLAIN and x.dtype != "bool":
        return arithmetic.binary(_PLAIN[name], x, y)
    if name in _INTEGERS and is_float(x.dtype):
        raise ExprTypeError(f"'{name}' needs integers or bools, got {x.dtype}")
    return intrinsics.binary(f"relax.{name}", x, y, floats=name in _FLOATS)


def _broadcasting(name: str) -> Callable[[Any, Any], Any]:
    def function(lhs: Any, rhs: Any) -> Any:
        operands = (lhs, rhs)
        tensors = [each for each in operands if isinstance(each, Tensor)]
        if not tensors:
            return _apply(name, lhs, rhs)
        shape = broadcast_shape([each.shape for each in tensors], name)

        def element(*indices: Any) -> PrimExpr:
            parts = [at(x, shape, indices) if isinstance(x, Tensor) else x for x in operands]
            return _apply(name, *parts)

        return compute(shape, element, name=f"T_{name}")

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return {name} of the elements of two tensors that broadcast, or numbers."
    return function


FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {name: _broadcasting(name) for name in _NAMES}


def broadcast_to(data: Tensor, shape: Any) -> Tensor:
    """Return a tensor repeated to a shape that it broadcasts to.

    Raises:
        ExprError: it does not.
    """
    dims = shape_of(shape, "broadcast_to")
    dims = broadcast_shape([tensor(data, "broadcast_to").shape, dims], "broadcast_to")
    return compute(dims, lambda *i: at(data, dims, i), name="T_broadcast_to")


def where(condition: Tensor, x: Any, y: Any) -> Tensor:
    """Return elements of `x` where the condition holds (is not 0), else of `y`."""
    operands = (condition, x, y)
    shape = broadcast_shape([t.shape for t in operands if isinstance(t, Tensor)], "where")

    def element(*indices: Any) -> PrimExpr:
        test, a, b = (at(t, shape, indices) if isinstance(t, Tensor) else t for t in operands)
        test = conversion.as_expr(test)
        return Select(test if test.dtype == "bool" else test != 0, a, b)

    return compute(shape, element, name="T_where")
