"""`relax.op.inspect`: properties of tensors in memory."""

# Made by .ci/stubs, do not edit.

from relax_mlir.relax.op import inspect_tensor_byte_offset as tensor_byte_offset
from relax_mlir.relax.op import inspect_tensor_dtype_bits as tensor_dtype_bits
from relax_mlir.relax.op import inspect_tensor_dtype_code as tensor_dtype_code
from relax_mlir.relax.op import inspect_tensor_dtype_lanes as tensor_dtype_lanes
from relax_mlir.relax.op import inspect_tensor_elem_offset as tensor_elem_offset
from relax_mlir.relax.op import inspect_tensor_ndim as tensor_ndim
from relax_mlir.relax.op import inspect_tensor_shape_i as tensor_shape_i
from relax_mlir.relax.op import inspect_tensor_stride_i as tensor_stride_i

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
