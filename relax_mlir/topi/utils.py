"""Helpers for authors of operators: sizes, shapes, row-major indices."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.sizes import size_of
from relax_mlir.errors import ExprError, missing
from relax_mlir.te.tensor import Tensor
from relax_mlir.tir.scalar.axes import plain
from relax_mlir.tir.scalar.prim_expr import FloatImm, IntImm
from relax_mlir.topi.support import size
from relax_mlir.topi.unsupported import UNSUPPORTED


class InvalidShapeError(ValueError):
    """A shape that an operator cannot take."""


def get_const_int(expr: Any) -> int:
    """Return a size that is a number.

    Raises:
        ExprError: it is none.
    """
    result = expr.value if isinstance(expr, IntImm) else getattr(size_of(expr), "value", None)
    if result is None:
        raise ExprError(f"an integer is needed, got {expr!r}")
    return int(result)


def get_const_float(expr: Any) -> float:
    """Return a floating-point constant as a number.

    Raises:
        ExprError: it is none.
    """
    if isinstance(expr, (int, float)):
        return float(expr)
    if isinstance(expr, (FloatImm, IntImm)):
        return float(expr.value)
    raise ExprError(f"a number is needed, got {expr!r}")


def equal_const_int(expr: Any, value: int) -> bool:
    """Whether a size is a certain number."""
    result = size_of(expr)
    return result is not None and result.value == value


def get_const_tuple(in_tuple: Sequence[Any]) -> tuple[Any, ...]:
    """Return sizes with those that are numbers as such, symbolic ones as they are."""
    result = [(each, size_of(each)) for each in in_tuple]
    return tuple(each if own is None else plain(own) for each, own in result)


def get_float_tuple(in_tuple: Sequence[Any]) -> tuple[float, ...]:
    """Return constants as numbers.

    Raises:
        ExprError: one is none.
    """
    return tuple(get_const_float(each) for each in in_tuple)


def get_shape(src_shape: Sequence[Any], src_layout: str, dst_layout: str) -> tuple[Any, ...]:
    """Return a shape with its sizes in the order of another layout's letters.

    Raises:
        ExprError: the layouts have not the same letters, or not one for each size.
    """
    if sorted(src_layout) != sorted(dst_layout) or len(src_shape) != len(src_layout):
        raise ExprError(f"{list(src_shape)} of {src_layout} has no layout {dst_layout}")
    return tuple(get_const_tuple([src_shape[src_layout.index(x)] for x in dst_layout]))


def prod(x: Sequence[Any]) -> Any:
    """Return the product of sizes; 1 of none."""
    return size([plain(SymExpr.of(each)) for each in x])


def simplify(expr: Any) -> Any:
    """Return a size as a number where it is one; sizes are simplified as they are made."""
    result = size_of(expr)
    return expr if result is None else plain(result)


def ceil_div(a: Any, b: Any) -> Any:
    """Return a quotient rounded up."""
    from relax_mlir.tir.scalar.functions import ceildiv

    return ceildiv(a, b)


def ravel_index(indices: Sequence[Any], shape: Sequence[Any]) -> Any:
    """Return the number of an element in row-major order."""
    result: Any = 0
    for index, dim in zip(indices, shape, strict=True):
        result = index if isinstance(result, int) and result == 0 else result * dim + index
    return result


def unravel_index(idx: Any, shape: Sequence[Any]) -> list[Any]:
    """Return the indices of the element of a number in row-major order."""
    result = []
    for dim in reversed(list(shape)):
        result.append(idx % dim)
        idx = idx // dim
    return result[::-1]


def within_index(b: Any, e: Any, s: Any, i: Any) -> Any:
    """Return whether an index is one of those from `b` to before `e` in steps of `s`."""
    from relax_mlir.tir.scalar import functions

    ascending = functions.all(s > 0, i >= b, i < e) if not isinstance(s, int) else None
    if ascending is None:
        inside = (i >= b, i < e) if s > 0 else (i <= b, i > e)
        return functions.all(*inside, (i - b) % abs(s) == 0)
    back = functions.all(s < 0, i <= b, i > e)
    return functions.all(functions.any(ascending, back), (i - b) % s == 0)


def make_idx(b: Any, e: Any, s: Any, z: Any, i: Any) -> Any:
    """Return which of the indices from `b` in steps of `s` an index is, inside of `z` of them."""
    from relax_mlir.tir.scalar import functions

    return functions.max(functions.min((i - b) // s, z - 1), 0)


def is_empty_shape(shape: Sequence[Any]) -> bool:
    """Whether a tensor of a shape has no elements for certain."""
    return any(equal_const_int(dim, 0) for dim in shape)


def is_dynamic_shape(shape: Sequence[Any]) -> bool:
    """Whether a size is no number."""
    sizes = [size_of(dim) for dim in shape]
    return any(size is None or size.value is None for size in sizes)


def swap(arr: Sequence[Any], axis: int) -> list[Any]:
    """Return a list with an element and the last one in each other's place."""
    result = list(arr)
    result[axis], result[-1] = result[-1], result[axis]
    return result


def get_max_power2_factor(n: int, max_value: int | None = None) -> int:
    """Return the largest power of two that divides a number, of at most `max_value`."""
    result = 1
    while n and n % (result * 2) == 0 and (max_value is None or result * 2 <= max_value):
        result *= 2
    return result


def const_vector(vector: Any, name: str = "const_vector") -> Tensor:
    """Return a tensor of the numbers of an array of one dimension."""
    return _constant(vector, name)


def const_matrix(matrix: Any, name: str = "const_matrix") -> Tensor:
    """Return a tensor of the numbers of an array of two dimensions."""
    return _constant(matrix, name)


def _constant(array: Any, name: str) -> Tensor:
    import numpy as np

    from relax_mlir.te.operation import compute
    from relax_mlir.tir.scalar.conversion import const
    from relax_mlir.tir.scalar.nodes import Select

    values = np.asarray(array)
    if values.size == 0:
        raise ExprError(f"'{name}' has no numbers")

    def element(*i: Any) -> Any:
        place = ravel_index(i, values.shape)
        flat = values.ravel()
        result = const(flat[0].item(), str(values.dtype))
        for number, value in enumerate(flat[1:], 1):
            result = Select(place == number, const(value.item(), str(values.dtype)), result)
        return result

    return compute(values.shape, element, name=name)


def __getattr__(name: str) -> Any:
    reasons = UNSUPPORTED["topi.utils"]
    raise AttributeError(missing("topi.utils", name, reasons, globals()), name=name)
