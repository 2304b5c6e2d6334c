"""Repeat, tile, flip, roll and pad."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, normalize_axes
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.symbolic.expr import SymExpr, product

PAD_MODES = ("constant", "reflect", "replicate", "circular")


def _tile(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, repeats = types[0], attrs["repeats"]
    if any(count < 0 for count in repeats):
        raise InferError(f"repeats cannot be negative, got {repeats}")
    ndim, dtype, dims = T.tensor_ndim(x), T.tensor_dtype(x), T.tensor_dims(x)
    if dims is None:
        return T.tensor_type(None, dtype, max(ndim, len(repeats)) if ndim >= 0 else -1)
    rank = max(ndim, len(repeats))
    padded = [SymExpr.const(1)] * (rank - ndim) + dims
    counts = [1] * (rank - len(repeats)) + repeats
    return T.tensor_type([d * c for d, c in zip(padded, counts, strict=True)], dtype)


def _repeat(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, repeats, axis = types[0], attrs["repeats"], attrs["axis"]
    if repeats < 0:
        raise InferError(f"repeats cannot be negative, got {repeats}")
    ndim, dtype, dims = T.tensor_ndim(x), T.tensor_dtype(x), T.tensor_dims(x)
    if axis is None:
        return T.tensor_type(None if dims is None else [product(dims) * repeats], dtype, 1)
    if ndim < 0:
        return T.tensor_type(None, dtype)
    (axis,) = normalize_axes([axis], ndim)
    if dims is None:
        return T.tensor_type(None, dtype, ndim)
    dims[axis] = dims[axis] * repeats
    return T.tensor_type(dims, dtype)


def _flip(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    if T.tensor_ndim(types[0]) >= 0:
        normalize_axes([attrs["axis"]], T.tensor_ndim(types[0]))
    return types[0]


def roll_shifts(attrs: dict[str, Any], ndim: int) -> dict[int, int]:
    """Return by how much each axis is rolled; axis given as numpy takes it.

    Raises:
        InferError: shifts and axes do not go together, or an axis is out of range.
    """
    shifts, axes = attrs["shift"], attrs["axis"]
    axes = axes if isinstance(axes, list) else [axes]
    shifts = shifts if isinstance(shifts, list) else [shifts] * len(axes)
    if len(shifts) == 1:
        shifts = shifts * len(axes)
    if len(shifts) != len(axes):
        raise InferError(f"needs a shift per axis, got {len(shifts)} for {len(axes)}")
    result: dict[int, int] = {}
    for axis, shift in zip(axes, shifts, strict=True):
        (at,) = normalize_axes([axis], ndim)
        result[at] = result.get(at, 0) + shift
    return result


def _roll(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    if attrs["axis"] is None:
        if isinstance(attrs["shift"], list) and len(attrs["shift"]) != 1:
            raise InferError("several shifts need an axis each")
    elif T.tensor_ndim(types[0]) >= 0:
        roll_shifts(attrs, T.tensor_ndim(types[0]))
    return types[0]


def pad_pairs(attrs: dict[str, Any]) -> list[tuple[int, int]]:
    """Return how many elements come before and after each axis."""
    widths = attrs["pad_width"]
    return list(zip(widths[::2], widths[1::2], strict=True))


def _pad(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    x, widths, mode = types[0], attrs["pad_width"], attrs["pad_mode"]
    if mode not in PAD_MODES:
        raise InferError(f"pad_mode must be one of {', '.join(PAD_MODES)}, got '{mode}'")
    ndim, dtype, dims = T.tensor_ndim(x), T.tensor_dtype(x), T.tensor_dims(x)
    if len(widths) % 2 or (ndim >= 0 and len(widths) != 2 * ndim):
        wanted = "an even number of" if ndim < 0 else 2 * ndim
        raise InferError(f"pad_width needs {wanted} integers, got {len(widths)}")
    if any(width < 0 for width in widths):
        raise InferError(f"pad_width cannot be negative, got {widths}")
    if dims is None:
        return T.tensor_type(None, dtype, len(widths) // 2)
    pairs = pad_pairs(attrs)
    for dim, (before, after) in zip(dims, pairs, strict=True):
        if mode != "constant" and dim == 0 and before + after:
            raise InferError(f"nothing to pad a dimension of 0 with in pad_mode '{mode}'")
    return T.tensor_type([d + sum(pair) for d, pair in zip(dims, pairs, strict=True)], dtype)


declare(
    "tile",
    "The whole tensor so many times along each axis, the last one last.",
    [Param("x", "tensor"), Param("repeats", "ints")],
    _tile,
)
declare(
    "repeat",
    "Each element so many times along an axis, by default of the flattened tensor.",
    [Param("data", "tensor"), Param("repeats", "int"), Param("axis", "int", None)],
    _repeat,
)
declare(
    "flip",
    "The elements along an axis in reverse.",
    [Param("data", "tensor"), Param("axis", "int")],
    _flip,
)
declare(
    "roll",
    "The elements moved along axes, those beyond the end to the beginning.",
    [Param("x", "tensor"), Param("shift", "int_or_ints"), Param("axis", "int_or_ints", None)],
    _roll,
)
declare(
    "pad",
    "More elements before and after each axis.",
    [
        Param("data", "tensor"),
        Param("pad_width", "ints"),
        Param("pad_mode", "str", "constant"),
        Param("pad_value", "float", 0.0),
    ],
    _pad,
)
