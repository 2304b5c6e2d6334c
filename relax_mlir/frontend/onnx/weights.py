"""The elements of ONNX tensors: in the model, or in files next to it, which are mapped."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import ModelError
from relax_mlir.frontend.onnx.package import onnx_package
from relax_mlir.frontend.values import STORAGE


def dtype_name(elem_type: int, what: str) -> str:
    """Return the dtype of an element type of ONNX; `string` for strings.

    Raises:
        ModelError: ONNX has no such type, or there are no tensors of it here.
    """
    onnx = onnx_package()
    if elem_type == onnx.TensorProto.STRING:
        return "string"
    try:
        name = onnx.helper.tensor_dtype_to_np_dtype(elem_type).name
    except (KeyError, ValueError):
        raise ModelError(f"{what} has element type {elem_type}, which ONNX does not have") from None
    if name.startswith("complex"):
        raise ModelError(f"{what} has elements of {name}; complex tensors are not supported")
    return name


def storage_dtype(dtype: str) -> str:
    """Return the dtype of Relax that holds elements of a dtype of ONNX."""
    return STORAGE.get(dtype, dtype)


def elements(tensor: Any, folder: Path | None) -> np.ndarray:
    """Return the elements of a `TensorProto`, of the dtype that `storage_dtype` says.

    Args:
        tensor: the tensor.
        folder: that of the model, in which its external data has to be; None where there is none.

    Raises:
        ModelError: it has not as many bytes as its shape needs, or external data outside of the
            folder.
    """
    onnx = onnx_package()
    what = f"tensor '{tensor.name}'"
    dtype = dtype_name(tensor.data_type, what)
    if any(size < 0 for size in tensor.dims):
        raise ModelError(f"{what} has a negative dimension: {list(tensor.dims)}")
    if tensor.data_location == onnx.TensorProto.EXTERNAL:
        return _mapped(tensor, dtype, folder, what)
    if dtype != "string":
        _check_size(tensor, dtype, what)
    try:
        array = onnx.numpy_helper.to_array(tensor)
    except Exception as error:
        raise ModelError(f"{what} of shape {list(tensor.dims)} cannot be read: {error}") from error
    if dtype in STORAGE:
        to = storage_dtype(dtype)
        return array.view(to) if "float" in dtype else array.astype(to)
    return array


def _check_size(tensor: Any, dtype: str, what: str) -> None:
    """Raise for a shape that the elements cannot fill, before anything allocates it."""
    count = math.prod(tensor.dims)
    fields = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
    held = (
        len(tensor.raw_data) * 4
        if tensor.raw_data
        else 2 * sum(len(getattr(tensor, name)) for name in fields)
    )
    if dtype not in STORAGE and count > max(held, 0):
        raise ModelError(
            f"{what} of shape {list(tensor.dims)} needs {count} elements of {dtype} and has fewer"
        )


def _mapped(tensor: Any, dtype: str, folder: Path | None, what: str) -> np.ndarray:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    location = entries.get("location", "")
    if folder is None:
        raise ModelError(
            f"{what} is in the file '{location}' next to the model; import the model by its path"
        )
    if dtype in STORAGE or dtype == "string":
        raise ModelError(f"{what}: external data of {dtype} is not supported")
    path = (folder / location).resolve()
    if not location or not path.is_relative_to(folder.resolve()):
        raise ModelError(f"{what}: its data '{location}' is not in the folder of the model")
    if not path.is_file():
        raise ModelError(f"{what}: there is no file '{location}' in the folder of the model")
    itemsize = 2 if dtype == "bfloat16" else np.dtype(dtype).itemsize
    needed = math.prod(tensor.dims) * itemsize
    try:
        offset = int(entries.get("offset", 0))
        length = int(entries.get("length", needed))
    except ValueError as error:
        raise ModelError(f"{what}: offset or length of its data is no number: {error}") from error
    size = path.stat().st_size
    if offset < 0 or length != needed or offset + length > size:
        raise ModelError(
            f"{what} of shape {list(tensor.dims)} needs {needed} bytes of {dtype}; bytes "
            f"{offset} to {offset + length} of '{location}', which has {size}, do not give them"
        )
    if not needed:
        return np.zeros(tuple(tensor.dims), dtype)
    mapped = np.memmap(path, "uint8", "r", offset, (needed,)).view(np.ndarray)
    if dtype == "bfloat16":
        import ml_dtypes

        return mapped.view(ml_dtypes.bfloat16).reshape(tuple(tensor.dims))
    return mapped.view(dtype).reshape(tuple(tensor.dims))
