"""Memory of tensors in lowered programs, `R.memory` and `R.vm`; views of tensors."""

from collections.abc import Sequence
from typing import Any

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.infer import InferError
from relax_mlir.dialects.relax.ops.base import Param, declare
from relax_mlir.dialects.symbolic.expr import SymExpr, product
from relax_mlir.dialects.symbolic.prover import can_prove_less_equal


def _checked_dtype(dtype: str | None) -> str:
    try:
        return T.normalize_dtype(dtype)
    except ValueError as error:
        raise InferError(str(error)) from error


def _storage(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    if T.shape_ndim(types[0]) not in (-1, 1):
        raise InferError(f"size is a shape of one number of bytes, got {T.shape_ndim(types[0])}")
    _checked_dtype(attrs["dtype"])
    return T.object_type()


def _tensor(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    shape = types[-1]
    return T.tensor_type(T.shape_dims(shape), _checked_dtype(attrs["dtype"]), T.shape_ndim(shape))


def _nothing(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return ir.TupleType.get_tuple([])


def _first(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    return types[0]


def _bytes(dims: Sequence[SymExpr] | None, dtype: str) -> SymExpr | None:
    return product(dims) * T.dtype_size(dtype) if dims is not None and dtype else None


def _view(types: Sequence[Any], attrs: dict[str, Any]) -> ir.Type:
    data, shape = types
    dtype = _checked_dtype(attrs["dtype"]) or T.tensor_dtype(data)
    dims, offset = T.tensor_dims(data), attrs["relative_byte_offset"]
    new, ndim = dims, T.tensor_ndim(data)
    if shape is not None:
        new, ndim = T.shape_dims(shape), T.shape_ndim(shape)
    if offset is not None and offset.value is not None and offset.value < 0:
        raise InferError(f"relative_byte_offset cannot be negative, got {offset}")
    if shape is None and attrs["dtype"] is None and offset is not None and offset.value:
        raise InferError(f"all elements from byte {offset} on do not fit; give the view a shape")
    _check_size(_bytes(dims, T.tensor_dtype(data)), _bytes(new, dtype), offset)
    if dims is not None and new is not None and dtype == T.tensor_dtype(data):
        _check_size(product(dims), product(new), None)
    return T.tensor_type(new, dtype, ndim)


def _check_size(source: SymExpr | None, view: SymExpr | None, offset: SymExpr | None) -> None:
    """Raise InferError if a view is certainly larger than what it is a view of."""
    if source is None or view is None:
        return
    end = view if offset is None else view + offset
    if can_prove_less_equal(source + 1, end):
        raise InferError(f"a view of {end} bytes does not fit a tensor of {source}")


_STORAGE, _SHAPE = Param("storage", "any"), Param("shape", "shape")
_OFFSET, _DTYPE = Param("offset", "dim"), Param("dtype", "dtype")

declare(
    "memory_alloc_storage",
    "Memory of that many bytes.",
    [
        Param("size", "shape"),
        Param("virtual_device_index", "int"),
        Param("storage_scope", "str"),
        _DTYPE,
    ],
    _storage,
    pure=False,
)
declare(
    "vm_alloc_storage",
    "Memory of that many bytes, of the virtual machine.",
    [
        _SHAPE,
        Param("runtime_device_index", "int"),
        Param("dtype", "dtype", "uint8"),
        Param("storage_scope", "str", "global"),
    ],
    _storage,
    pure=False,
)
for _group in ("memory", "vm"):
    declare(
        f"{_group}_alloc_tensor",
        "A tensor in a storage, from a byte offset on; its elements are undefined.",
        [_STORAGE, _OFFSET, _SHAPE, _DTYPE, Param("runtime_device_ind", "int", 0)],
        _tensor,
        pure=False,
    )
for _name, _param in (
    ("memory_kill_storage", _STORAGE),
    ("memory_kill_tensor", Param("tensor", "tensor")),
    ("vm_kill_object", Param("obj", "any")),
):
    declare(_name, "The last use of a value is past.", [_param], _nothing, pure=False)
declare(
    "memory_view",
    "The memory of a tensor under another shape or dtype, from a byte offset on.",
    [
        Param("data", "tensor"),
        Param("shape", "shape", None),
        Param("dtype", "dtype", None),
        Param("relative_byte_offset", "dim", None),
    ],
    _view,
)
declare(
    "memory_ensure_zero_offset",
    "The tensor, copied if its elements do not start where its memory does.",
    [Param("data", "tensor")],
    _first,
)
