"""Weights and parameters in safetensors files: arrays by name, no code.

Layout: the header's size (8 bytes, little-endian), a JSON object that gives each name a dtype, a
shape and a byte range, then the bytes, without holes.
"""

import json
import math
import os
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relax_mlir.atomic_file import write_file
from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError, did_you_mean
from relax_mlir.runtime.files.access import ALIGN, aligned_copy, map_file
from relax_mlir.runtime.values.convert import describe, numpy_dtype, to_value

_SIZE = struct.Struct("<Q")
_MAX_HEADER = 100 << 20
_METADATA = "__metadata__"
_DTYPES = {
    "BOOL": "bool", "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64", "U8": "uint8",
    "U16": "uint16", "U32": "uint32", "U64": "uint64", "F16": "float16", "BF16": "bfloat16",
    "F32": "float32", "F64": "float64",
}  # fmt: skip
_NAMES = {dtype: code for code, dtype in _DTYPES.items()}


def save_file(
    tensors: Mapping[str, np.ndarray],
    path: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> int:
    """Write arrays by name and return the file's size; the old file stays until all is written.

    Arrays whose size is a multiple of 64 bytes come first, so that they are aligned in memory when
    the file is mapped; the others are aligned to their elements.

    Raises:
        ArgumentTypeError: a dtype that the format does not have, a name or metadata not a string.
        OSError: the file cannot be written.
    """
    parts = dump(tensors, metadata)
    write_file(path, parts)
    return sum(len(part) for part in parts)


def dump(
    tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None
) -> list[bytes | memoryview]:
    """Return the pieces of the file that `save_file` writes.

    Raises:
        ArgumentTypeError: a dtype that the format does not have, a name or metadata not a string.
    """
    little = {}
    for name, array in tensors.items():
        if not isinstance(name, str) or name == _METADATA:
            raise ArgumentTypeError(f"{name!r} cannot be the name of a weight")
        if array.dtype.name not in _NAMES:
            raise ArgumentTypeError(f"a safetensors file cannot hold dtype {array.dtype}: '{name}'")
        little[name] = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        little[name] = little[name].reshape(array.shape)
    header: dict[str, Any] = {}
    if metadata:
        if not all(isinstance(text, str) for pair in metadata.items() for text in pair):
            raise ArgumentTypeError("the metadata of a safetensors file must be strings")
        header[_METADATA] = dict(metadata)
    order = sorted(little, key=lambda n: (little[n].nbytes % ALIGN > 0, -little[n].itemsize, n))
    position = 0
    for name in order:
        array, start = little[name], position
        position += array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [start, position],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-(len(text) + _SIZE.size) % ALIGN)
    pieces = [little[name].reshape(-1).view(np.uint8) for name in order if little[name].size]
    return [_SIZE.pack(len(text)), text, *[piece.data for piece in pieces]]


def _invalid(path: str | os.PathLike[str], reason: str) -> ExecutableFormatError:
    return ExecutableFormatError(f"'{os.fspath(path)}' is no valid safetensors file: {reason}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name is there twice")
    return dict(pairs)


def _range(name: str, entry: Any) -> tuple[int, int, np.dtype, list[int]]:
    if not isinstance(entry, dict) or sorted(entry) != ["data_offsets", "dtype", "shape"]:
        raise ValueError(f"the entry of '{name}' is wrong")
    shape, offsets = entry["shape"], entry["data_offsets"]
    numbers = [*shape, *offsets] if isinstance(shape, list) and isinstance(offsets, list) else [-1]
    if not all(type(n) is int and n >= 0 for n in numbers) or len(offsets) != 2:
        raise ValueError(f"the entry of '{name}' is wrong")
    if str(entry["dtype"]) not in _DTYPES:
        known = did_you_mean(str(entry["dtype"]), _DTYPES)
        raise ValueError(f"'{name}' has the unknown dtype {entry['dtype']!r}{known}")
    dtype = numpy_dtype(_DTYPES[entry["dtype"]])
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ValueError(f"the shape and the bytes of '{name}' do not agree")
    return offsets[0], offsets[1], dtype, shape


def read_header(path: str | os.PathLike[str], data: np.ndarray) -> tuple[dict[str, Any], int]:
    """Return the header of a mapped file and where the arrays begin.

    Raises:
        ExecutableFormatError: truncated or malformed.
    """
    if len(data) < _SIZE.size:
        raise _invalid(path, f"it has only {len(data)} bytes")
    (size,) = _SIZE.unpack(data[: _SIZE.size].tobytes())
    if size > min(_MAX_HEADER, len(data) - _SIZE.size):
        raise _invalid(path, f"a header of {size} bytes in a file of {len(data)}")
    try:
        text = data[_SIZE.size : _SIZE.size + size].tobytes()
        header = json.loads(text, object_pairs_hook=_unique)
        if not isinstance(header, dict):
            raise ValueError("the header is no JSON object")
    except (ValueError, RecursionError) as error:
        raise _invalid(path, str(error)) from error
    return header, _SIZE.size + size


def load_file(
    path: str | os.PathLike[str], read: Callable[[str | os.PathLike[str]], np.ndarray] = map_file
) -> dict[str, np.ndarray]:
    """Return the arrays of a file by name; they are mapped, and read when they are looked at.

    Args:
        path: the file.
        read: how to get its bytes.

    Raises:
        ExecutableFormatError: truncated, malformed, or with holes.
        OSError: the file cannot be read.
    """
    data = read(path)
    header, begin = read_header(path, data)
    header.pop(_METADATA, None)
    result = {}
    try:
        ranges = sorted(
            ((*_range(name, e), name) for name, e in header.items()), key=lambda r: r[:2]
        )
        position = 0
        for start, end, dtype, shape, name in ranges:
            if start != position or begin + end > len(data):
                raise ValueError(f"the bytes of '{name}' are not where they must be")
            position = end
            raw = data[begin + start : begin + end].view(dtype.newbyteorder("<"))
            result[name] = raw.reshape(shape)
        if begin + position != len(data):
            raise ValueError(f"{len(data)} bytes in the file, {begin + position} expected")
    except (ValueError, ArgumentTypeError) as error:
        raise _invalid(path, str(error)) from error
    return result


def save_param_dict(params: Mapping[str, Any]) -> bytes:
    """Return arrays by name as bytes, for `load_param_dict` and `GraphModule.load_params`.

    Raises:
        ArgumentTypeError: a value that is no tensor, a dtype that cannot be kept, a wrong name.
    """
    arrays = {}
    for name, value in params.items():
        array = to_value(value)
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(f"parameter '{name}' must be a tensor, got {describe(value)}")
        arrays[name] = array
    return b"".join(dump(arrays))


def load_param_dict(param_bytes: bytes) -> dict[str, np.ndarray]:
    """Return the arrays that `save_param_dict` was given.

    Raises:
        ExecutableFormatError: truncated or malformed.
        ArgumentTypeError: not bytes.
    """
    if not isinstance(param_bytes, (bytes, bytearray, memoryview)):
        raise ArgumentTypeError(f"parameters are bytes, got {describe(param_bytes)}")
    data = aligned_copy(bytes(param_bytes))
    return load_file("<parameters>", lambda _: data)
