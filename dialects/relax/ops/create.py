"""Tensor creation: filled, ranges, identity and triangular matrices."""

from collections.abc import Callable, Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, InferTypeError, normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.symbolic.expr import SymExpr
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal


def dtype_of(attrs: dict[str, Any], default: str = "") -> str:
    """Return the attribute `dtype` as TVM's long name, the default where it is left out.

    Raises:
        InferError: there is no such dtype.
    """
    try:
        return T.normalize_dtype(attrs["dtype"]) or default
    except ValueError as error:
        raise InferError(str(error)) from error


def _of_shape(shape: ir.Type, dtype: str) -> ir.Type:
    return T.tensor_type(T.shape_dims(shape), dtype, T.shape_ndim(shape))


def _like(x: ir.Type, dtype: str) -> ir.Type:
    return T.tensor_type(T.tensor_dims(x), dtype, T.tensor_ndim(x))


def _scalar(type_: ir.Type, what: str) -> str:
    """Return the dtype of a tensor without dimensions."""
    if T.tensor_ndim(type_) > 0:
        raise InferError(f"{what} must be a scalar, got {T.tensor_ndim(type_)} dimensions")
    return T.tensor_dtype(type_)


def _full(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return _of_shape(types[0], dtype_of(attrs, _scalar(types[1], "fill_value")))


def _full_like(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    _scalar(types[1], "fill_value")
    return _like(types[0], dtype_of(attrs, T.tensor_dtype(types[0])))


def _number_dtype(values: Sequence[Any]) -> str:
    return "float32" if any(isinstance(value, float) for value in values) else "int64"


def range_bounds(attrs: dict[str, Any]) -> tuple[Any, Any, Any]:
    """Return start, end and step of an `arange`, whose only bound is its end."""
    start, end = attrs["start"], attrs["end"]
    return (SymExpr.const(0), start, attrs["step"]) if end is None else (start, end, attrs["step"])


def range_size(start: Any, end: Any, step: Any) -> SymExpr | None:
    """Return the number of elements of a range, None where it is known at run time only.

    Raises:
        InferError: the step is 0, or the size is no number.
    """
    values: list[Any] = [
        item.value if isinstance(item, SymExpr) else item for item in (start, end, step)
    ]
    if values[2] == 0:
        raise InferError("the step of a range cannot be 0")
    if None not in values:
        first, last, by = values
        size = -((first - last) // by)
        if not -(2**63) <= size < 2**63:
            raise InferError(f"a range from {first} to {last} by {by} has no size")
        return SymExpr.const(max(0, int(size)))
    if any(isinstance(value, float) for value in values) or values[2] is None:
        return None
    distance = end - start if values[2] > 0 else start - end
    if not can_prove_less_equal(0, distance):
        distance = distance.max(0)
    return distance if abs(values[2]) == 1 else distance.ceildiv(abs(values[2]))


def _arange(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    bounds = range_bounds(attrs)
    dtype = dtype_of(attrs, _number_dtype(bounds))
    if dtype == "bool":
        raise InferError("a range of bools has no meaning: make one of int32 and cast it")
    size = range_size(*bounds)
    return T.tensor_type(None if size is None else [size], dtype, 1)


def _eye(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    rows = attrs["n"]
    columns = rows if attrs["m"] is None else attrs["m"]
    return T.tensor_type([rows, columns], dtype_of(attrs))


def _matrix(what: str) -> Callable[[Sequence[Any], dict[str, Any]], ir.Type]:
    def rule(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
        ndim = T.tensor_ndim(types[0])
        if ndim in (0, 1) or (what == "eye_like" and ndim not in (-1, 2)):
            raise InferError(f"{what} needs a matrix, got {ndim} dimensions")
        if what == "eye_like":
            return _like(types[0], dtype_of(attrs, T.tensor_dtype(types[0])))
        return types[0]

    return rule


def _one_hot(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    indices, depth = types[0], attrs["depth"]
    dtype = T.tensor_dtype(indices)
    if dtype and "int" not in dtype:
        raise InferTypeError(f"indices must be integers, got {dtype}")
    for name in ("on_value", "off_value"):
        value = attrs[name]
        if isinstance(value, SymExpr) and not value.is_const:
            raise InferError(f"{name} must be a number, got {value}")
    if depth.is_const and depth.value < 1:
        raise InferError(f"depth must be at least 1, got {depth}")
    result = _number_dtype([attrs["on_value"], attrs["off_value"]])
    ndim, dims = T.tensor_ndim(indices), T.tensor_dims(indices)
    if ndim < 0:
        return T.tensor_type(None, result)
    (axis,) = normalize_axes([attrs["axis"]], ndim + 1)
    if dims is None:
        return T.tensor_type(None, result, ndim + 1)
    return T.tensor_type([*dims[:axis], depth, *dims[axis:]], result)


def _stated_dtype(number: Any) -> str:
    """Return the dtype that a number is written with, `""` for Python's and for symbols."""
    if isinstance(getattr(number, "sym", number), SymExpr):
        return ""
    try:
        return str(getattr(number, "dtype", ""))
    except TypeError:
        # A scalar of Relax, which is no tensor.
        return ""


def _check_one_hot(attrs: dict[str, Any]) -> None:
    dtypes = [_stated_dtype(attrs[name]) for name in ("on_value", "off_value")]
    if all(dtypes) and dtypes[0] != dtypes[1]:
        raise InferError(f"on_value and off_value must have one dtype, got {' and '.join(dtypes)}")


_DTYPE = Param("dtype", "dtype", None)
_K = Param("k", "dim", 0)

declare(
    "full",
    "A tensor of one value, of its dtype by default.",
    [Param("shape", "shape"), Param("fill_value", "tensor"), _DTYPE],
    _full,
)
declare(
    "full_like",
    "A tensor of one value with the shape of another.",
    [Param("x", "tensor"), Param("fill_value", "tensor"), _DTYPE],
    _full_like,
)
for _name, _what in (("zeros", "zeros"), ("ones", "ones")):
    declare(
        _name,
        f"A tensor of {_what} of a shape and a dtype.",
        [Param("shape", "shape"), Param("dtype", "dtype")],
        lambda types, attrs: _of_shape(types[0], dtype_of(attrs)),
    )
    declare(
        f"{_name}_like",
        f"A tensor of {_what} with the shape of another, and its dtype unless one is given.",
        [Param("x", "tensor"), _DTYPE],
        lambda types, attrs: _like(types[0], dtype_of(attrs, T.tensor_dtype(types[0]))),
    )
declare(
    "scalar_like",
    "A number as a scalar of the dtype of a tensor.",
    [Param("x", "tensor"), Param("value", "number")],
    lambda types, attrs: T.tensor_type([], T.tensor_dtype(types[0])),
)
declare(
    "arange",
    "The numbers from start to end, end excluded; from 0 to start where end is left out.",
    [Param("start", "number"), Param("end", "number", None), Param("step", "number", 1), _DTYPE],
    _arange,
)
declare(
    "eye",
    "A matrix with ones on a diagonal, square by default.",
    [Param("n", "dim"), Param("m", "dim", None), _K, Param("dtype", "dtype", "float32")],
    _eye,
)
declare(
    "eye_like",
    "A matrix with ones on a diagonal and the shape of another.",
    [Param("x", "tensor"), _K, _DTYPE],
    _matrix("eye_like"),
)
declare(
    "tril",
    "The lower triangles of matrices, zeros above the diagonal k.",
    [Param("x", "tensor"), _K],
    _matrix("tril"),
)
declare(
    "triu",
    "The upper triangles of matrices, zeros below the diagonal k.",
    [Param("x", "tensor"), _K],
    _matrix("triu"),
)
declare(
    "one_hot",
    "A new axis along which one place has on_value; none where an index is outside of depth.",
    [
        Param("indices", "tensor", numbers="int64"),
        Param("on_value", "number"),
        Param("off_value", "number"),
        Param("depth", "dim"),
        Param("axis", "int", -1),
    ],
    _one_hot,
    check=_check_one_hot,
)


def _hamming_window(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    dtype, size = dtype_of(attrs, "float32"), attrs["window_size"]
    if "float" not in dtype:
        raise InferTypeError(f"a window has a floating-point dtype, got {dtype}")
    if can_prove_less_equal(size, 0):
        raise InferError(f"window_size must be at least 1, got {size}")
    return T.tensor_type([size], dtype)


declare(
    "hamming_window",
    "`alpha - beta * cos(2 pi i / (n - 1))`, with n in place of n - 1 if periodic.",
    [
        Param("window_size", "dim"),
        Param("periodic", "bool", True),
        Param("alpha", "float", 0.54),
        Param("beta", "float", 0.46),
        Param("dtype", "dtype", "float32"),
    ],
    _hamming_window,
)
