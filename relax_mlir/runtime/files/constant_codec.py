"""Constants in an executable's file: the types that are supported, and their encoding."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError
from relax_mlir.runtime.files.access import checksums, flat_bytes, pad
from relax_mlir.runtime.files.constants import CheckedConstants
from relax_mlir.runtime.values.convert import is_tensor_dtype, numpy_dtype, to_value


def holds_array(value: Any) -> bool:
    """Whether a value is an array or a tuple with one in it."""
    return isinstance(value, np.ndarray) or (
        isinstance(value, tuple) and any(holds_array(v) for v in value)
    )


def constant_value(value: Any) -> Any:
    """Return a value as the constant pool holds it; ArgumentTypeError for one that it cannot."""
    if type(value) in (int, float, bool, str, bytes, type(None)):
        return value
    if isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic)):
        return np.dtype(value)
    if isinstance(value, np.ndarray):
        known = value.dtype.kind in "biuf" or is_tensor_dtype(value.dtype)
        return value if known else _refuse(value)
    if isinstance(value, (tuple, list)):
        return tuple([int(v) if isinstance(v, np.integer) else constant_value(v) for v in value])
    if type(value).__module__.partition(".")[0] == "tvm_ffi" and "dtype" in type(value).__name__:
        return numpy_dtype(str(value))
    converted = to_value(value)
    if converted is value:
        return str(value) if isinstance(value, str) else _refuse(value)
    return constant_value(converted)


def _refuse(value: Any) -> Any:
    what = f"array of dtype {value.dtype}" if isinstance(value, np.ndarray) else repr(value)
    raise ArgumentTypeError(f"{what} cannot be a constant of an executable")


class Blob:
    """Collects raw data, every piece aligned; remembers where it went."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.size = 0

    def add(self, piece: bytes | memoryview) -> dict[str, int]:
        """Append bytes and return where they are."""
        size = len(piece)
        where = {"offset": self.size, "size": size}
        self.parts += [piece, bytes(pad(size))]
        self.size += size + pad(size)
        return where


class ConstantEncoder:
    """Turns constants into JSON; their bytes go into the file or among the weights."""

    def __init__(self, weights: dict[str, np.ndarray] | None) -> None:
        self.blob: Blob = Blob()
        self.weights = weights

    def constant(self, value: Any, name: str) -> dict[str, Any]:
        """Return the description of a constant; `name` is what its array is called.

        Raises:
            ArgumentTypeError: files cannot hold such a value.
        """
        kind = type(value)
        if isinstance(value, np.ndarray):
            return self._tensor(value, name)
        if value is None or kind in (bool, int, str):
            return {"kind": "plain", "value": value}
        if kind is float:
            return {"kind": "float", "value": float.hex(value)}
        if kind is tuple:
            items = [self.constant(v, f"{name}.{i}") for i, v in enumerate(value)]
            return {"kind": "tuple", "items": items}
        if kind is bytes:
            return {"kind": "bytes", "value": value.hex()}
        if isinstance(value, np.dtype) and is_tensor_dtype(value):
            return {"kind": "dtype", "value": value.name}
        raise ArgumentTypeError(f"an executable's file cannot hold a constant {kind.__name__}")

    def _tensor(self, array: np.ndarray, name: str) -> dict[str, Any]:
        if not is_tensor_dtype(array.dtype):
            raise ArgumentTypeError(
                f"an executable's file cannot hold arrays of dtype {array.dtype}"
            )
        # The file is little-endian whatever the host.
        plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        raw = flat_bytes(plain)
        item = {"dtype": array.dtype.name, "shape": list(array.shape), "crc": checksums(raw)[0]}
        if self.weights is None:
            return {"kind": "tensor", **item, **self.blob.add(raw.data)}
        self.weights[name] = plain.reshape(array.shape)
        return {"kind": "weight", **item, "name": name}


def slice_of(data: np.ndarray, item: dict[str, Any]) -> np.ndarray:
    """Return the bytes that a description says are its; ValueError when they cannot be."""
    start, size = item["offset"], item["size"]
    if type(start) is not int or type(size) is not int or start < 0 or size < 0:
        raise ValueError("offset or size is not a number")
    if start + size > len(data):
        raise ValueError("it reaches past the end of its section")
    return data[start : start + size]


def typed(value: Any, *types: type) -> Any:
    """Return the value; ValueError when it is of none of the types."""
    if type(value) not in types:
        raise ValueError(f"a {type(value).__name__} is where a {types[0].__name__} must be")
    return value


class ConstantDecoder:
    """Turns JSON into constants; arrays are views of the file or of the weights."""

    def __init__(self, data: np.ndarray, weights: Mapping[str, np.ndarray]) -> None:
        self.data = data
        self.weights = weights

    def table(self, rows: Any) -> CheckedConstants:
        """Return the constants of a table of descriptions, which may raise as any wrong data."""
        views, checks = [], {}
        for index, item in enumerate(typed(rows, list)):
            checksums: list[tuple[np.ndarray, list[int]]] = []
            views.append(self._constant(item, checksums))
            if checksums:
                checks[index] = checksums
        return CheckedConstants(views, checks)

    def _constant(self, item: dict[str, Any], checksums: list) -> Any:
        kind = item["kind"]
        if kind in ("tensor", "weight"):
            array = self._tensor(item) if kind == "tensor" else self._weight(item)
            checksums.append((array, [typed(crc, int) for crc in typed(item["crc"], list)]))
            return array
        if kind == "plain":
            if item["value"] is not None and type(item["value"]) not in (bool, int, str):
                raise ValueError("a plain constant of another type")
            return item["value"]
        if kind == "float":
            return float.fromhex(item["value"])
        if kind == "tuple":
            return tuple([self._constant(v, checksums) for v in item["items"]])
        if kind == "bytes":
            return bytes.fromhex(item["value"])
        if kind == "dtype":
            return numpy_dtype(typed(item["value"], str))
        raise ValueError(f"unknown kind {kind!r}")

    def _tensor(self, item: dict[str, Any]) -> np.ndarray:
        dtype = numpy_dtype(typed(item["dtype"], str))
        raw = slice_of(self.data, item).view(dtype.newbyteorder("<"))
        return raw.reshape([typed(d, int) for d in item["shape"]])

    def _weight(self, item: dict[str, Any]) -> np.ndarray:
        name = typed(item["name"], str)
        array = self.weights.get(name)
        if array is None:
            raise ValueError(f"the weights file has no '{name}'")
        if array.dtype.name != item["dtype"] or list(array.shape) != item["shape"]:
            raise ValueError(
                f"weight '{name}' is {array.dtype.name}{list(array.shape)} in the weights file, "
                f"{item['dtype']}{item['shape']} expected"
            )
        return array
