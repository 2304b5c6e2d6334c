"""Constant tensors: numpy arrays stored as MLIR resource blobs of the module."""

import itertools
import re
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.dialects.bindings import ir
from relax_mlir.dialects.context_memory import count_constant
from relax_mlir.dialects.relax import types as T
from relax_mlir.dialects.relax.background_copy import finish_copy, start_copy

# MLIR keeps the blob alive through the buffer it was made from; this only finds the array again.
_ARRAYS: "weakref.WeakKeyDictionary[ir.Context, dict[str, np.ndarray]]" = (
    weakref.WeakKeyDictionary()
)
_COUNTER = itertools.count()
# Vectors that begin elsewhere lie in two lines of the cache each.
LINE = 64
# How MLIR prints a constant whose bytes are stored outside of the module: by their name.
RESOURCE = re.compile(r"dense_resource<([^>]+)>")
_BLOB = re.compile(r':\s*"0x([0-9A-Fa-f]*)"')
_BITS = re.compile(r'^dense<"0x([0-9A-Fa-f]*)">')
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+]?[0-9][-+0-9.eE]*")


def numpy_dtype(dtype: str) -> np.dtype:
    """Return numpy's dtype of a TVM dtype name; bfloat16 needs the package `ml_dtypes`.

    Raises:
        TypeError: numpy has no such dtype.
    """
    if dtype == "bfloat16":
        try:
            import ml_dtypes
        except ImportError as error:
            raise TypeError(
                "numpy has no bfloat16 of its own: pip install ml_dtypes for bfloat16 constants"
            ) from error
        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(dtype)


def aligned(array: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """Return an array, a copy if need be, that begins where a line of the cache does.

    It is contiguous, or smaller than a line. In `copy_in_background` a large copy is filled later.

    Args:
        array: any shape.
        more: smaller arrays to follow along its first dimension.
    """
    fits = array.ctypes.data % LINE == 0 and array.flags.c_contiguous
    if not more and (fits or array.nbytes < LINE):
        return array
    parts = (array, *more)
    length = sum(each.size for each in parts)
    copy = aligned_room(length, array.dtype).reshape(-1, *array.shape[1:])
    end = len(copy)
    # The first, which has the address of the whole, is copied last.
    for part in reversed(parts):
        start_copy(copy[end - len(part) : end], part)
        end -= len(part)
    return copy


def aligned_room(size: int, dtype: np.dtype) -> np.ndarray:
    """Return so many elements that have no value yet, where a line of the cache begins."""
    size *= dtype.itemsize
    room = np.empty(size + LINE, np.uint8)
    start = -room.ctypes.data % LINE
    return room[start : start + size].view(dtype)


def constant_attribute(array: np.ndarray, name: str | None = None) -> ir.Attribute:
    """Return a `dense_resource` attribute over a contiguous array; the elements are not copied.

    The caller must not write to the array afterwards. Arrays that are not contiguous or not in
    native byte order are copied first.

    Args:
        array: any shape, a dtype Relax has.
        name: hint for the blob's name.

    Raises:
        ValueError: the dtype is none that Relax has.
    """
    array = np.asarray(array)
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).reshape(array.shape)
    type_ = T.tensor_type(array.shape, str(array.dtype))
    key = f"{name or 'constant'}_{next(_COUNTER)}"
    # A 0-d or empty array has no buffer MLIR accepts, and bool elements are bits in an i1 blob's
    # textual form but bytes in memory: small and bool constants are therefore plain attributes.
    if array.size <= 1 or array.dtype == np.bool_:
        return _dense(finish_copy(array), type_)
    data = np.frombuffer(array.reshape(-1).view(np.uint8), dtype=np.uint8)
    attribute = ir.DenseResourceElementsAttr.get_from_buffer(
        data.data, key, type_, array.dtype.alignment, False
    )
    given = resource_name(attribute)
    assert given is not None, "MLIR prints a resource by its name"
    _ARRAYS.setdefault(ir.Context.current, {})[given] = array
    count_constant(ir.Context.current, array.nbytes)
    return attribute


def constant_op(attribute: ir.Attribute, loc: ir.Location | None = None) -> ir.Value:
    """Create a `relax.constant` of what `constant_attribute` gave, at the insertion point."""
    return ir.Operation.create(
        "relax.constant", results=[attribute.type], attributes={"value": attribute}, loc=loc
    ).result


def _dense(array: np.ndarray, type_: ir.Type) -> ir.Attribute:
    dtype = T.tensor_dtype(type_)
    if dtype == "bool":
        text = _nested(array, lambda value: "true" if value else "false")
    elif "float" in dtype:
        bits = array.view(f"uint{8 * array.dtype.itemsize}")
        text = _nested(bits, lambda value: f"0x{int(value):0{2 * array.dtype.itemsize}X}")
    else:
        text = _nested(array, lambda value: str(int(value)))
    return ir.Attribute.parse(f"dense<{text if array.size else ''}> : {type_}")


def _nested(array: np.ndarray, spell: Callable[[Any], str]) -> str:
    if array.ndim == 0:
        return spell(array[()])
    return f"[{', '.join(_nested(item, spell) for item in array)}]"


def constant_array(attribute: ir.Attribute, *, filled: bool = True) -> np.ndarray:
    """Return the elements of a constant's attribute as a numpy array.

    No copy is made for constants created in this process. A resource is bytes: attributes of
    other types may be made of the same one.

    Args:
        attribute: the constant's `value`.
        filled: whether to wait for a copy in the background (`copy_in_background`).

    Raises:
        ValueError: the attribute holds no elements (an elided or missing resource), or another
            number of bytes than its type needs.
    """
    type_ = attribute.type
    shape = list(type_.shape)
    dtype = numpy_dtype(T.tensor_dtype(type_))
    name = resource_name(attribute)
    if name is None:
        return _from_dense(attribute, shape, dtype)
    result = _ARRAYS.get(attribute.context, {}).get(name)
    if result is not None:
        if filled:
            finish_copy(result)
        return result if _is_of(result, shape, dtype) else _viewed(result, name, shape, dtype)
    return _from_text(attribute, name, shape, dtype)


def resource_name(attribute: ir.Attribute) -> str | None:
    """Return the name of the resource that an attribute is made of, None for other attributes."""
    match = RESOURCE.match(str(attribute))
    return None if match is None else match.group(1)


def _from_dense(attribute: ir.Attribute, shape: list[int], dtype: np.dtype) -> np.ndarray:
    elements = attribute.maybe_downcast()
    if dtype == np.bool_ or dtype.kind in "iuf":
        try:
            array = np.array(elements)
        except (TypeError, ValueError):
            array = np.array([item for item in elements])
        return np.ascontiguousarray(array.astype(dtype, copy=False)).reshape(shape)
    if T.tensor_dtype(attribute.type) == "bfloat16":
        return _bfloat16(str(attribute), shape, dtype)
    return np.array([float(item) for item in elements], dtype=dtype).reshape(shape)


def _bfloat16(text: str, shape: list[int], dtype: np.dtype) -> np.ndarray:
    """Return the elements of a printed attribute: the bindings cannot read them."""
    if bits := _BITS.match(text):
        return np.frombuffer(bytes.fromhex(bits.group(1)), np.uint16).view(dtype).reshape(shape)
    numbers = _NUMBER.findall(text[: text.rindex(" : ")])
    words = [
        int(each, 16) if each.startswith("0x") else _bits(float(each), dtype) for each in numbers
    ]
    array = np.array(words, np.uint16).view(dtype)
    return np.full(shape, array[0]) if array.size == 1 else array.reshape(shape)


def _bits(number: float, dtype: np.dtype) -> int:
    return int(np.array(number, dtype).view(np.uint16))


def _from_text(attribute: ir.Attribute, name: str, shape: list[int], dtype: np.dtype) -> np.ndarray:
    # The bindings cannot read a resource's blob; MLIR prints it in hexadecimal after the module.
    with attribute.context, ir.Location.unknown():
        holder = ir.Module.create()
        holder.operation.attributes["relax.value"] = attribute
        text = holder.operation.get_asm()
    blob = _BLOB.search(text[text.find("dialect_resources") :])
    if blob is None:
        raise ValueError(f"the constant '{name}' has no data in this module (was it elided?)")
    # Four bytes of alignment come first.
    data = bytes.fromhex(blob.group(1))[4:]
    _check_size(name, len(data), shape, dtype)
    array = np.frombuffer(data, dtype=dtype).reshape(shape)
    _ARRAYS.setdefault(attribute.context, {})[name] = array
    return array


def _is_of(array: np.ndarray, shape: list[int], dtype: np.dtype) -> bool:
    return array.dtype == dtype and array.shape == tuple(shape)


def _viewed(array: np.ndarray, name: str, shape: list[int], dtype: np.dtype) -> np.ndarray:
    _check_size(name, array.nbytes, shape, dtype)
    return array.reshape(-1).view(dtype).reshape(shape)


def _check_size(name: str, size: int, shape: list[int], dtype: np.dtype) -> None:
    needed = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size != needed:
        raise ValueError(f"the constant '{name}' has {size} bytes, its type needs {needed}")
