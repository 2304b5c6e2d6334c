"""`relax.op.inspect`: properties of tensors in memory."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import (
    tensor_byte_offset,
    tensor_dtype_bits,
    tensor_dtype_code,
    tensor_dtype_lanes,
    tensor_elem_offset,
    tensor_ndim,
    tensor_shape_i,
    tensor_stride_i,
)

__all__ = [
    "tensor_byte_offset",
    "tensor_dtype_bits",
    "tensor_dtype_code",
    "tensor_dtype_lanes",
    "tensor_elem_offset",
    "tensor_ndim",
    "tensor_shape_i",
    "tensor_stride_i",
]
