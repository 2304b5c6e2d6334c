"""Properties of a tensor in memory as numbers, `R.inspect`."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare

_RESULTS = {
    "tensor_dtype_code": ("uint8", "DLPack's code of the kind of dtype: 0 int, 1 uint, 2 float."),
    "tensor_dtype_bits": ("uint8", "The size of an element in bits."),
    "tensor_dtype_lanes": ("uint16", "How many numbers an element has: 1."),
    "tensor_ndim": ("int32", "The number of dimensions."),
    "tensor_byte_offset": ("uint64", "The bytes from the start of the memory to the elements."),
    "tensor_elem_offset": ("uint64", "The elements from the start of the memory to the first."),
}
_OF_AXIS = {
    "tensor_shape_i": "The size of a dimension.",
    "tensor_stride_i": "The elements from one index of a dimension to the next.",
}


def _property(dtype: str) -> Any:
    return lambda types, attrs: T.element_type(dtype)


def _of_axis(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    if str(types[1]) != "i64":
        raise InferError(f"axis must be an int64, got {types[1]}")
    return T.element_type("int64")


for _name, (_dtype, _doc) in _RESULTS.items():
    declare(f"inspect_{_name}", _doc, [Param("x", "tensor")], _property(_dtype))
for _name, _doc in _OF_AXIS.items():
    declare(f"inspect_{_name}", _doc, [Param("x", "tensor"), Param("axis", "prim")], _of_axis)
