"""Types and attributes of upstream's dialects as Relax's dtypes, shapes and Python values."""

from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.relax.constants import constant_array, numpy_dtype
from relax_mlir.errors import ExprTypeError
from relax_mlir.ir.attribute_value import attribute_value

_DTYPES = {
    "f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool",
    **{f"{sign}{bits}": f"int{bits}" for sign in ("i", "si") for bits in (8, 16, 32, 64)},
    **{f"ui{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "index": "int64",
}  # fmt: skip
_ARRAYS = (ir.DenseBoolArrayAttr, ir.DenseI32ArrayAttr, ir.DenseI64ArrayAttr)


def dtype_of(type_: ir.Type) -> str:
    """Return the dtype of a number or of a tensor's elements; integers without sign are signed.

    Raises:
        ExprTypeError: Relax has none.
    """
    element = getattr(type_, "element_type", type_)
    name = _DTYPES.get(str(element))
    if name is None:
        raise ExprTypeError(f"Relax has no dtype for {element}")
    return name


def shape_of(type_: ir.Type) -> list[int | None] | None:
    """Return the dimensions of a tensor, None for those that are dynamic; a number's is empty.

    Returns:
        None for a tensor of unknown rank.

    Raises:
        ExprTypeError: it is neither.
    """
    if isinstance(type_, ir.RankedTensorType):
        return [None if type_.is_dynamic_dim(i) else type_.shape[i] for i in range(type_.rank)]
    if isinstance(type_, ir.UnrankedTensorType):
        return None
    if str(type_) in _DTYPES:
        return []
    raise ExprTypeError(f"Relax has no values of type {type_}; programs compute on tensors")


def is_importable(type_: ir.Type) -> bool:
    """Whether values of a type can be values of Relax, or vanish when TOSA is lowered."""
    if str(type_).startswith("!tosa.shape"):
        return True
    try:
        dtype_of(type_)
        shape_of(type_)
    except ExprTypeError:
        return False
    return True


def python_value(attribute: ir.Attribute) -> Any:
    """Return an attribute as a Python value: arrays of elements and symbols as well."""
    if isinstance(attribute, _ARRAYS):
        return list(attribute)
    if isinstance(attribute, (ir.DenseElementsAttr, ir.DenseResourceElementsAttr)):
        return elements(attribute)
    if isinstance(attribute, ir.FlatSymbolRefAttr):
        return attribute.value
    if isinstance(attribute, ir.ArrayAttr):
        return [python_value(each) for each in attribute]
    return attribute_value(attribute)


def elements(attribute: Any) -> np.ndarray:
    """Return the elements of a constant.

    Raises:
        ExprTypeError: numpy has no such numbers, or they are missing.
    """
    dtype = dtype_of(attribute.type)
    if isinstance(attribute, (ir.IntegerAttr, ir.FloatAttr, ir.BoolAttr)):
        return np.asarray(attribute.value).astype(numpy_dtype(dtype))
    if isinstance(attribute.type.element_type, ir.IndexType):
        return np.array(list(attribute), "int64").reshape(attribute.type.shape)
    try:
        return constant_array(attribute)
    except ValueError as error:
        raise ExprTypeError(str(error)) from error
