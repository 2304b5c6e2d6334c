"""The executable's file: a versioned header, checked sections, raw aligned data; no pickle.

Layout, little-endian: magic, version, number of sections, file size, CRC of header and table;
then per section name, offset, size, CRC; then the sections, each at a multiple of 64 bytes, zeros
between. `code` holds int64 words, `objects` machine code, `data` the arrays, the others JSON. Each
section but `data` is checked when the file is loaded; `data` is mapped, and the checksums of its
arrays, which are in `constants`, are compared when an array is first used.
"""

import contextlib
import json
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ExecutableFormatError
from relax_mlir.runtime.bytecode.checking import check_executable
from relax_mlir.runtime.files.access import pad
from relax_mlir.runtime.files.constant_codec import (
    Blob,
    ConstantDecoder,
    ConstantEncoder,
    slice_of,
    typed,
)
from relax_mlir.runtime.files.constants import CheckedConstants
from relax_mlir.runtime.native.thread_pool import POOL, keep_pool, pool_name, pool_object
from relax_mlir.runtime.program import NativeObject, Program, VMFunction

MAGIC = b"RLXMEXE\n"
VERSION = 3
_OLDER = 2  # the same without the thread pool
SECTIONS = ("metadata", "globals", "names", "code", "constants", "native", "objects", "data")
# Whatever class of executables is read.
_Kind = TypeVar("_Kind", bound=Program)
_LAZY = "data"
_HEADER = struct.Struct("<8sIIQI")
_ENTRY = struct.Struct("<16sQQI")
_HEADER_SIZE = _HEADER.size + len(SECTIONS) * _ENTRY.size
# What reading a table that is not as it should be may raise; ArgumentTypeError is a TypeError.
_MALFORMED = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def _native_row(obj: NativeObject, blob: Blob) -> dict[str, Any]:
    return {
        "name": obj.name,
        "symbols": list(obj.symbols),
        "triple": obj.triple,
        "cpu": obj.cpu,
        "features": obj.features,
        "is_parallel": obj.is_parallel,
        **blob.add(obj.data),
    }


def _pool(executable: Program) -> Iterator[NativeObject]:
    """Yield the thread pool that the executable's code needs, compiled."""
    triples = [obj.triple for obj in executable.native if obj.is_parallel][:1]
    for triple in triples:
        with contextlib.suppress(RuntimeError):  # no triple, or one that LLVM does not know
            yield NativeObject(pool_name(triple), pool_object(triple), (), triple)


def dump(
    executable: Program,
    weights: dict[str, np.ndarray] | None = None,
    weights_file: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> list[Any]:
    """Return the pieces of the file, in order.

    Args:
        executable: what to write.
        weights: when given, the arrays are put here, by name, and not into the file.
        weights_file: where they are, seen from the executable's folder.
        metadata: instead of the executable's.

    Raises:
        ArgumentTypeError: a constant or the metadata is of a kind that files cannot hold.
        ExecutableFormatError: the executable's own file is damaged.
    """
    encoder, objects = ConstantEncoder(weights), Blob()
    constants = [encoder.constant(c, f"c{i}") for i, c in enumerate(executable.constants)]
    native = [_native_row(obj, objects) for obj in (*executable.native, *_pool(executable))]
    table = [
        [f.name, f.start_instr, f.end_instr, f.num_args, f.register_file_size, list(f.param_names)]
        for f in executable.global_funcs
    ]
    head = np.array([len(executable.instr_offset), len(executable.instr_data)])
    code = np.concatenate([head, executable.instr_offset, executable.instr_data])
    try:
        texts = json.dumps(executable.metadata if metadata is None else metadata).encode()
    except (TypeError, ValueError) as error:
        raise ArgumentTypeError(f"metadata must be JSON: {error}") from None
    contents: dict[str, list[Any]] = {
        "metadata": [texts],
        "globals": [json.dumps(table).encode()],
        "names": [json.dumps(executable.func_names).encode()],
        "code": [code.astype("<i8").tobytes()],
        "constants": [json.dumps({"weights": weights_file, "table": constants}).encode()],
        "native": [json.dumps(native).encode()],
        "objects": objects.parts,
        "data": encoder.blob.parts,
    }
    entries = b""
    body: list[Any] = [bytes(pad(_HEADER_SIZE))]
    position = _HEADER_SIZE + pad(_HEADER_SIZE)
    for name in SECTIONS:
        size = sum(len(part) for part in contents[name])
        crc = 0
        for part in contents[name] if name != _LAZY else ():
            crc = zlib.crc32(part, crc)
        entries += _ENTRY.pack(name.encode(), position, size, crc)
        body += [*contents[name], bytes(pad(size))]
        position += size + pad(size)
    crc = zlib.crc32(_HEADER.pack(MAGIC, VERSION, len(SECTIONS), position, 0) + entries)
    return [_HEADER.pack(MAGIC, VERSION, len(SECTIONS), position, crc), entries, *body]


def _invalid(section: str, reason: str) -> ExecutableFormatError:
    return ExecutableFormatError(f"Invalid VM file format in the {section} section: {reason}")


def _sections(data: np.ndarray) -> dict[str, np.ndarray]:
    if len(data) < _HEADER.size:
        raise _invalid("header", f"the file has only {len(data)} bytes")
    magic, version, count, size, crc = _HEADER.unpack(data[: _HEADER.size].tobytes())
    if magic != MAGIC:
        raise _invalid("header", "this is not an executable of relax_mlir")
    if version not in (_OLDER, VERSION):
        raise _invalid("header", f"version {version}; this library reads version {VERSION}")
    if count != len(SECTIONS) or len(data) < _HEADER_SIZE:
        raise _invalid("header", "the section table is incomplete")
    table = data[_HEADER.size : _HEADER_SIZE].tobytes()
    if zlib.crc32(_HEADER.pack(magic, version, count, size, 0) + table) != crc:
        raise _invalid("header", "its checksum is wrong")
    result = {}
    position = _HEADER_SIZE
    for index, name in enumerate(SECTIONS):
        stored, offset, length, section_crc = _ENTRY.unpack_from(table, index * _ENTRY.size)
        if stored.rstrip(b"\0") != name.encode() or offset != position + pad(position):
            raise _invalid("header", f"the entry of section '{name}' is wrong")
        position = offset + length
        if position + pad(position) > len(data):
            raise _invalid(name, f"the file is truncated ({len(data)} of {size} bytes)")
        if name != _LAZY and zlib.crc32(data[offset:position].data) != section_crc:
            raise _invalid(name, "its checksum is wrong")
        gap = data[(_HEADER_SIZE if index == 0 else offset) : offset]
        tail = data[position : position + pad(position)]
        if gap.any() or tail.any():
            raise _invalid(name, "the padding around it is not zero")
        result[name] = data[offset:position]
    if position + pad(position) != size or len(data) != size:
        raise _invalid("data", f"{len(data)} bytes in the file, {size} expected")
    return result


def _function(row: list[Any]) -> VMFunction:
    name, start, end, num_args, size, params = row
    start, end, num_args, size = (typed(n, int) for n in (start, end, num_args, size))
    names = tuple([typed(p, str) for p in params])
    return VMFunction(typed(name, str), start, end, num_args, size, names)


def _native(item: dict[str, Any], data: np.ndarray) -> NativeObject:
    return NativeObject(
        name=typed(item["name"], str),
        data=slice_of(data, item).tobytes(),
        symbols=tuple([typed(s, str) for s in item["symbols"]]),
        triple=typed(item["triple"], str),
        cpu=typed(item["cpu"], str),
        features=typed(item["features"], str),
        is_parallel=typed(item["is_parallel"], bool),
    )


def _objects(rows: list[dict[str, Any]], data: np.ndarray) -> list[NativeObject]:
    """Return the objects but the thread pool, which is the process's."""
    objects = []
    for obj in [_native(row, data) for row in rows]:
        if obj.symbols or not obj.name.startswith(POOL):
            objects.append(obj)
        elif obj.name == pool_name(obj.triple):
            keep_pool(obj.triple, obj.data)
    return objects


def parse(
    kind: type[_Kind],
    data: np.ndarray,
    load_weights: Callable[[str], Mapping[str, np.ndarray]] | None = None,
) -> _Kind:
    """Return the executable of a file's bytes; its arrays are views of them.

    Args:
        kind: its class.
        data: the bytes, aligned.
        load_weights: returns the arrays of the weights file that the executable names.

    Raises:
        ExecutableFormatError: names the section that is truncated, corrupted or inconsistent.
    """
    result = _sections(data)

    def read(section: str, build: Callable[[Any], Any]) -> Any:
        try:
            raw = result[section]
            return build(raw.view("<i8") if section == "code" else json.loads(raw.tobytes()))
        except ExecutableFormatError:
            raise
        except _MALFORMED as error:
            raise _invalid(section, str(error) or type(error).__name__) from error

    def build_constants(content: dict[str, Any]) -> CheckedConstants:
        name = content["weights"]
        weights: Mapping[str, np.ndarray] = {}
        if name is not None:
            if load_weights is None:
                raise ValueError(f"its arrays are in '{name}': say where with weights=")
            weights = load_weights(typed(name, str))
        return ConstantDecoder(result["data"], weights).table(content["table"])

    functions = read("globals", lambda rows: [_function(row) for row in rows])
    names = read("names", lambda rows: [typed(n, str) for n in rows])
    constants = read("constants", build_constants)
    native = read("native", lambda rows: _objects(rows, result["objects"]))
    metadata = read("metadata", lambda value: typed(value, dict))

    def build_code(words: np.ndarray) -> _Kind:
        count, size = (int(w) for w in words[:2])
        if count < 0 or size < 0 or len(words) != 2 + count + size:
            raise ValueError("its counts are wrong")
        executable = kind(
            functions, constants, names, words[2 + count :], words[2 : 2 + count], native, metadata
        )
        check_executable(executable)
        return executable

    return read("code", build_code)
