"""The pass `conv3d-to-conv2d`: windows one slice deep go over each slice by itself."""

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.conv_geometry import pads, per_axis
from relax_mlir.dialects.relax.ops.base import build
from relax_mlir.lowering.relax_to_tir.decompose import reshape
from relax_mlir.lowering.walk import defining_op
from relax_mlir.transform.rewriting.convolutions import (
    attributes,
    is_dense,
    rewrite_convolutions,
)

# What there are Winograd kernels for: others gain nothing from two dimensions.
_WINDOW, _DTYPE = (1, 3, 3), "float32"
# Windows of fewer channels have too few FMAs for what two transposes cost.
_LEAST_CHANNELS = 16
_SLICES_FIRST = [0, 2, 1, 3, 4]


def conv3d_to_conv2d(module: ir.Operation) -> None:
    """Write a convolution of NCDHW by constant windows of 1x3x3 as one of N*D images.

    Slices are transposed to images and back, and Winograd convolution computes them, which takes
    less than half of the time.
    """
    rewrite_convolutions(module, _rewrite, "relax.conv3d")


def _rewrite(conv: ir.Operation, written: set[ir.Value]) -> bool:
    data, weight = conv.operands
    shapes = T.all_dims(value.type for value in (data, weight, conv.results[0]))
    if shapes is None or not is_dense(conv) or defining_op(weight, "relax.constant") is None:
        return False
    if T.tensor_dtype(data.type) != _DTYPE:
        return False
    attrs, ((n, channels, depth, *image), kernel, result) = attributes(conv), shapes
    around = pads(attrs["padding"], 3)
    steps = [*per_axis(attrs["strides"], 3, "strides"), *per_axis(attrs["dilation"], 3, "dilation")]
    if attrs["data_layout"] != "NCDHW" or attrs["kernel_layout"] != "OIDHW":
        return False
    if kernel[2:] != [*_WINDOW] or any(step != 1 for step in steps) or any(around[0]):
        return False
    if min(kernel[0].value or 0, kernel[1].value or 0) < _LEAST_CHANNELS:
        return False
    (top, bottom), (left, right) = around[1:]
    with ir.InsertionPoint(conv), conv.location:
        slices = build("permute_dims", [data], {"axes": _SLICES_FIRST})
        images = reshape(slices, [n * depth, channels, *image])
        windows = reshape(weight, [*kernel[:2], *_WINDOW[1:]])
        given = {"padding": [top, left, bottom, right], "out_dtype": attrs["out_dtype"]}
        made = build("conv2d", [images, windows], given)
        slices = reshape(made, [result[i] for i in _SLICES_FIRST])
        made = build("permute_dims", [slices], {"axes": _SLICES_FIRST})
    if made.type != conv.results[0].type:
        return False
    conv.results[0].replace_all_uses_with(made)
    return True
