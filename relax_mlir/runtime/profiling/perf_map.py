"""Names of compiled functions for Linux `perf`: the file /tmp/perf-PID.map."""

import os
import struct
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from relax_mlir.runtime.native import loader
from relax_mlir.runtime.program import NativeObject

_LOCK = threading.Lock()
_SYMBOL_TABLE, _FUNCTION = 2, 2
_HEADER = struct.Struct("<16xHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_written: Path | None = None


class Symbol(NamedTuple):
    """A function in an object file.

    Attributes:
        name: its name.
        section: the index of the section it is in.
        offset: where in the section.
        size: bytes of code.
    """

    name: str
    section: int
    offset: int
    size: int


def function_symbols(data: bytes) -> list[Symbol]:
    """Return the functions of a 64-bit little-endian ELF object, also those it does not export.

    Any other file, or a damaged one, has none.
    """
    if data[:6] != b"\x7fELF\x02\x01":
        return []
    try:
        return list(_symbols(data))
    except (struct.error, IndexError, ValueError, OverflowError):
        return []


def _symbols(data: bytes) -> list[Symbol]:
    fields = _HEADER.unpack_from(data)
    start, size, count = fields[5], fields[10], fields[11]
    sections = [_SECTION.unpack_from(data, start + i * size) for i in range(count)]
    result = []
    for section in sections:
        if section[1] != _SYMBOL_TABLE:
            continue
        names = sections[section[6]][4]
        for at in range(section[4], section[4] + section[5], _SYMBOL.size):
            name, info, _, index, offset, length = _SYMBOL.unpack_from(data, at)
            if info & 15 == _FUNCTION and 0 < index < count and length:
                end = data.index(b"\0", names + name)
                text = data[names + name : end].decode()
                result.append(Symbol(text, index, offset, length))
    return result


def map_lines(objects: Sequence[NativeObject], addresses: Mapping[str, int]) -> list[str]:
    """Return the lines for linked objects: address and size in hexadecimal, name.

    Args:
        objects: what was linked.
        addresses: where their global symbols are.
    """
    lines = []
    for obj in objects:
        symbols = function_symbols(obj.data)
        begins = {
            symbol.section: addresses[symbol.name] - symbol.offset
            for symbol in symbols
            if symbol.name in addresses
        }
        for symbol in symbols:
            if symbol.section in begins:
                address = begins[symbol.section] + symbol.offset
                name = symbol.name.removeprefix(loader.PREFIX).replace("\n", " ")
                lines.append(f"{address:x} {symbol.size:x} {name}")
    return lines


def write_perf_map(folder: str | os.PathLike[str] = "/tmp") -> Path:
    """From now on, note the native code that this process loads where `perf` looks for it.

    Executables whose native code was loaded before are not in it.

    Args:
        folder: where to write; `perf` looks in /tmp.

    Raises:
        OSError: the file cannot be written.
    """
    global _written
    with _LOCK:
        path = Path(folder) / f"perf-{os.getpid()}.map"
        path.touch()
        if _written is None:
            loader.LOAD_OBSERVERS.append(_note)
        _written = path
        return path


def _note(objects: list[NativeObject], addresses: dict[str, int]) -> None:
    lines = map_lines(objects, addresses)
    with _LOCK:
        if _written is not None:
            with _written.open("a") as file:
                file.writelines(f"{line}\n" for line in lines)
