"""Operations that slide a window over images: convolution and pooling.

Attributes with defaults are not declared to MLIR, so that text may leave them out.
"""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ext, ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError, expect_tensor, join_dtypes
from relax_mlir.dialects.relax.ops.base import ComputeOp, Param, define
from relax_mlir.dialects.relax.symbolic import SymExpr
from relax_mlir.dialects.relax.windows import four_pads, layout_axes, pair, window_count


def _image(type_: ir.Type, what: str) -> list[SymExpr] | None:
    expect_tensor(type_, what)
    if T.tensor_ndim(type_) not in (-1, 4):
        raise InferError(f"{what} must have 4 dimensions, got {T.tensor_ndim(type_)}")
    return T.tensor_dims(type_)


class Conv2dBase(ComputeOp):
    """Cross-correlation of images with kernels, padded by zeros."""

    PARAMS = (
        Param("data", "tensor"),
        Param("weight", "tensor"),
        Param("strides", "ints", [1, 1]),
        Param("padding", "ints", [0, 0]),
        Param("dilation", "ints", [1, 1]),
        Param("groups", "int", 1),
        Param("data_layout", "str", "NCHW"),
        Param("kernel_layout", "str", "OIHW"),
        Param("out_layout", "str", ""),
        Param("out_dtype", "str", ""),
    )
    data: ext.Operand[Any]
    weight: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        data, weight = _image(types[0], "data"), _image(types[1], "weight")
        dtype = join_dtypes(types)
        try:
            dtype = T.normalize_dtype(attrs["out_dtype"]) or dtype
        except ValueError as error:
            raise InferError(str(error)) from error
        n, c, h, w = layout_axes(attrs["data_layout"], "NCHW")
        o, i, kh, kw = layout_axes(attrs["kernel_layout"], "OIHW")
        order = layout_axes(attrs["out_layout"] or attrs["data_layout"], "NCHW")
        strides, dilation = pair(attrs["strides"], "strides"), pair(attrs["dilation"], "dilation")
        top, left, bottom, right = four_pads(attrs["padding"])
        groups = attrs["groups"]
        if groups < 1:
            raise InferError(f"groups must be positive, got {groups}")
        if weight is not None and weight[o].is_const and weight[o].value % groups:
            raise InferError(f"{weight[o]} output channels do not divide into {groups} groups")
        if data is None or weight is None:
            return T.tensor_type(None, dtype, 4)
        if data[c].is_const and weight[i].is_const and data[c] != weight[i] * groups:
            raise InferError(
                f"data has {data[c]} channels, weight takes {weight[i]} for each of {groups} groups"
            )
        sizes = [
            data[n],
            weight[o],
            window_count(data[h], weight[kh], strides[0], dilation[0], top + bottom),
            window_count(data[w], weight[kw], strides[1], dilation[1], left + right),
        ]
        dims = [SymExpr.const(0)] * 4
        for position, size in zip(order, sizes, strict=True):
            dims[position] = size
        return T.tensor_type(dims, dtype)


class Pool2dBase(ComputeOp):
    """Combine the elements of a window that slides over images."""

    PARAMS = (
        Param("data", "tensor"),
        Param("pool_size", "ints", [1, 1]),
        Param("strides", "ints", [1, 1]),
        Param("padding", "ints", [0, 0]),
        Param("dilation", "ints", [1, 1]),
        Param("ceil_mode", "bool", False),
        Param("count_include_pad", "bool", False),
        Param("layout", "str", "NCHW"),
        Param("out_layout", "str", ""),
    )
    data: ext.Operand[Any]
    result: ext.Result[Any]

    @classmethod
    def infer(cls, types: Sequence[ir.Type], attrs: dict[str, Any]) -> ir.Type:
        data, dtype = _image(types[0], "data"), T.tensor_dtype(types[0])
        n, c, h, w = layout_axes(attrs["layout"], "NCHW")
        order = layout_axes(attrs["out_layout"] or attrs["layout"], "NCHW")
        size, strides = pair(attrs["pool_size"], "pool_size"), pair(attrs["strides"], "strides")
        dilation, pads = pair(attrs["dilation"], "dilation"), four_pads(attrs["padding"])
        if data is None:
            return T.tensor_type(None, dtype, 4)
        ceil_mode = attrs["ceil_mode"]
        sizes = [data[n], data[c]]
        for axis, dim in enumerate((data[h], data[w])):
            window = SymExpr.const(size[axis])
            around = pads[axis] + pads[axis + 2]
            sizes.append(
                window_count(dim, window, strides[axis], dilation[axis], around, ceil_mode)
            )
        dims = [SymExpr.const(0)] * 4
        for position, extent in zip(order, sizes, strict=True):
            dims[position] = extent
        return T.tensor_type(dims, dtype)


define(Conv2dBase, "conv2d", "Two-dimensional convolution.")
define(Pool2dBase, "max_pool2d", "Largest element of every window.")
define(Pool2dBase, "avg_pool2d", "Mean of every window.")
