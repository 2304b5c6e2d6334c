"""The executable's file: a versioned header, checked sections, raw aligned data; no pickle (V12).

Layout, little-endian: magic, version, number of sections, file size, CRC of header and table;
then per section name, offset, size, CRC; then the sections, each at a multiple of 64 bytes, zeros
between. `data` holds the arrays and the machine code, `code` int64 words, the others JSON.
"""

import json
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError
from relax_mlir.runtime.executable import Executable, NativeObject, VMFunction
from relax_mlir.runtime.values import DTYPES

MAGIC = b"RLXMEXE\n"
VERSION = 1
ALIGN = 64
SECTIONS = ("metadata", "globals", "names", "code", "constants", "native", "data")
_HEADER = struct.Struct("<8sIIQI")
_ENTRY = struct.Struct("<16sQQI")
_HEADER_SIZE = _HEADER.size + len(SECTIONS) * _ENTRY.size


def _pad(size: int) -> int:
    return -size % ALIGN


class _Blob:
    """Collects raw data, every piece aligned; remembers where it went."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.size = 0

    def add(self, piece: bytes | memoryview) -> dict[str, int]:
        size = len(piece)
        where = {"offset": self.size, "size": size}
        self.parts += [piece, bytes(_pad(size))]
        self.size += size + _pad(size)
        return where


def _encode_tensor(array: np.ndarray, blob: _Blob) -> dict[str, Any]:
    if array.dtype.name not in DTYPES:
        raise ArgumentTypeError(f"an executable's file cannot hold arrays of dtype {array.dtype}")
    # The file is little-endian whatever the host.
    plain = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    raw = plain.reshape(-1).view(np.uint8).data if array.size else b""
    shape = list(array.shape)
    return {"kind": "tensor", "dtype": array.dtype.name, "shape": shape, **blob.add(raw)}


def _encode_constant(value: Any, blob: _Blob) -> Any:
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _encode_tensor(value, blob)
    if value is None or kind in (bool, int, str):
        return {"kind": "plain", "value": value}
    if kind is float:
        return {"kind": "float", "value": float.hex(value)}
    if kind is tuple:
        return {"kind": "tuple", "items": [_encode_constant(v, blob) for v in value]}
    if kind is bytes:
        return {"kind": "bytes", **blob.add(bytes(value))}
    if isinstance(value, np.dtype) and value.name in DTYPES:
        return {"kind": "dtype", "value": value.name}
    raise ArgumentTypeError(f"an executable's file cannot hold a constant {kind.__name__}")


def dump(executable: Executable) -> list[Any]:
    """Return the pieces of the file, in order.

    Raises:
        ArgumentTypeError: a constant or the metadata is of a kind that files cannot hold.
    """
    blob = _Blob()
    constants = [_encode_constant(c, blob) for c in executable.constants]
    native = [
        {
            "name": obj.name,
            "symbols": list(obj.symbols),
            "triple": obj.triple,
            "cpu": obj.cpu,
            "features": obj.features,
            "needs_omp": obj.needs_omp,
            **blob.add(obj.data),
        }
        for obj in executable.native
    ]
    table = [
        [f.name, f.start_instr, f.end_instr, f.num_args, f.register_file_size, list(f.param_names)]
        for f in executable.global_funcs
    ]
    head = np.array([len(executable.instr_offset), len(executable.instr_data)])
    code = np.concatenate([head, executable.instr_offset, executable.instr_data])
    try:
        metadata = json.dumps(executable.metadata).encode()
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"metadata must be JSON: {error}") from None
    contents: dict[str, list[Any]] = {
        "metadata": [metadata],
        "globals": [json.dumps(table).encode()],
        "names": [json.dumps(executable.func_names).encode()],
        "code": [code.astype("<i8").tobytes()],
        "constants": [json.dumps(constants).encode()],
        "native": [json.dumps(native).encode()],
        "data": blob.parts,
    }
    entries = b""
    body: list[Any] = [bytes(_pad(_HEADER_SIZE))]
    position = _HEADER_SIZE + _pad(_HEADER_SIZE)
    for name in SECTIONS:
        crc = size = 0
        for part in contents[name]:
            crc = zlib.crc32(part, crc)
            size += len(part)
        entries += _ENTRY.pack(name.encode(), position, size, crc)
        body += [*contents[name], bytes(_pad(size))]
        position += size + _pad(size)
    crc = zlib.crc32(_HEADER.pack(MAGIC, VERSION, len(SECTIONS), position, 0) + entries)
    return [_HEADER.pack(MAGIC, VERSION, len(SECTIONS), position, crc), entries, *body]


def _aligned_buffer(size: int) -> np.ndarray:
    raw = np.empty(size + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    return raw[start : start + size]


def aligned_copy(data: bytes) -> np.ndarray:
    """Return the bytes in memory aligned like the file's sections."""
    buffer = _aligned_buffer(len(data))
    buffer[:] = np.frombuffer(data, np.uint8)
    return buffer


def read_aligned(path: str | os.PathLike) -> np.ndarray:
    """Return a file's bytes in memory aligned like its sections; OSError when it cannot be read."""
    with Path(path).open("rb") as file:
        buffer = _aligned_buffer(os.fstat(file.fileno()).st_size)
        view, done = buffer.data, 0
        while done < len(view):
            got = file.readinto(view[done:])
            if not got:
                break
            done += got
    return buffer[:done]


def _invalid(section: str, reason: str) -> ExecutableFormatError:
    return ExecutableFormatError(f"Invalid VM file format in the {section} section: {reason}")


def _sections(data: np.ndarray) -> dict[str, np.ndarray]:
    if len(data) < _HEADER.size:
        raise _invalid("header", f"the file has only {len(data)} bytes")
    magic, version, count, size, crc = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if magic != MAGIC:
        raise _invalid("header", "this is not an executable of relax_mlir")
    if version != VERSION:
        raise _invalid("header", f"version {version}; this library reads version {VERSION}")
    if count != len(SECTIONS) or len(data) < _HEADER_SIZE:
        raise _invalid("header", "the section table is incomplete")
    table = data[_HEADER.size : _HEADER_SIZE].tobytes()
    if zlib.crc32(_HEADER.pack(magic, version, count, size, 0) + table) != crc:
        raise _invalid("header", "its checksum is wrong")
    found = {}
    position = _HEADER_SIZE
    for index, name in enumerate(SECTIONS):
        stored, offset, length, section_crc = _ENTRY.unpack_from(table, index * _ENTRY.size)
        if stored.rstrip(b"\0") != name.encode() or offset != position + _pad(position):
            raise _invalid("header", f"the entry of section '{name}' is wrong")
        position = offset + length
        if position + _pad(position) > len(data):
            raise _invalid(name, f"the file is truncated ({len(data)} of {size} bytes)")
        if zlib.crc32(data[offset:position].data) != section_crc:
            raise _invalid(name, "its checksum is wrong")
        gap = data[(_HEADER_SIZE if index == 0 else offset) : offset]
        tail = data[position : position + _pad(position)]
        if gap.any() or tail.any():
            raise _invalid(name, "the padding around it is not zero")
        found[name] = data[offset:position]
    if position + _pad(position) != size or len(data) != size:
        raise _invalid("data", f"{len(data)} bytes in the file, {size} expected")
    return found


def _slice(data: np.ndarray, item: dict[str, Any]) -> np.ndarray:
    start, size = item["offset"], item["size"]
    if type(start) is not int or type(size) is not int or start < 0 or size < 0:
        raise ValueError("offset or size is not a number")
    if start + size > len(data):
        raise ValueError("it reaches past the end of the data section")
    return data[start : start + size]


def _decode_constant(item: dict[str, Any], data: np.ndarray) -> Any:
    kind = item["kind"]
    if kind == "tensor":
        dtype = DTYPES[item["dtype"]]
        raw = _slice(data, item).view(dtype.newbyteorder("<"))
        return raw.reshape([int(d) for d in item["shape"]]).astype(dtype, copy=False)
    if kind == "plain":
        if item["value"] is not None and type(item["value"]) not in (bool, int, str):
            raise ValueError("a plain constant of another type")
        return item["value"]
    if kind == "float":
        return float.fromhex(item["value"])
    if kind == "tuple":
        return tuple([_decode_constant(v, data) for v in item["items"]])
    if kind == "bytes":
        return _slice(data, item).tobytes()
    if kind == "dtype":
        return DTYPES[item["value"]]
    raise ValueError(f"unknown kind {kind!r}")


def _typed(value: Any, *types: type) -> Any:
    if type(value) not in types:
        raise ValueError(f"a {type(value).__name__} is where a {types[0].__name__} must be")
    return value


def _function(row: list[Any]) -> VMFunction:
    name, start, end, num_args, size, params = row
    start, end, num_args, size = (_typed(n, int) for n in (start, end, num_args, size))
    names = tuple([_typed(p, str) for p in params])
    return VMFunction(_typed(name, str), start, end, num_args, size, names)


def _native(item: dict[str, Any], data: np.ndarray) -> NativeObject:
    return NativeObject(
        name=_typed(item["name"], str),
        data=_slice(data, item).tobytes(),
        symbols=tuple([_typed(s, str) for s in item["symbols"]]),
        triple=_typed(item["triple"], str),
        cpu=_typed(item["cpu"], str),
        features=_typed(item["features"], str),
        needs_omp=_typed(item["needs_omp"], bool),
    )


def parse(data: np.ndarray) -> Executable:
    """Return the executable of a file's bytes.

    Raises:
        ExecutableFormatError: names the section that is truncated, corrupted or inconsistent.
    """
    found = _sections(data)

    def read(section: str, build: Callable[[Any], Any]) -> Any:
        try:
            raw = found[section]
            return build(raw.view("<i8") if section == "code" else json.loads(raw.tobytes()))
        except (ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError) as err:
            raise _invalid(section, str(err)) from err

    blob = found["data"]
    functions = read("globals", lambda rows: [_function(row) for row in rows])
    names = read("names", lambda rows: [_typed(n, str) for n in rows])
    constants = read("constants", lambda rows: [_decode_constant(c, blob) for c in rows])
    native = read("native", lambda rows: [_native(n, blob) for n in rows])
    metadata = read("metadata", lambda value: _typed(value, dict))

    def build_code(words: np.ndarray) -> Executable:
        count, size = (int(w) for w in words[:2])
        if count < 0 or size < 0 or len(words) != 2 + count + size:
            raise ValueError("its counts are wrong")
        executable = Executable(
            functions, constants, names, words[2 + count :], words[2 : 2 + count], native, metadata
        )
        executable.check()
        return executable

    return read("code", build_code)
