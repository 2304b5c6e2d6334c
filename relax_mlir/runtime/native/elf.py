"""Linking x86-64 object files into the process, with nothing but numpy.

A machine that only runs models needs no LLVM for that, which is more memory than all the rest of
the runtime. Formats and relocations are those of the System V ABI and its x86-64 supplement.
"""

import ctypes
import functools
import mmap
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

_HEADER = np.dtype({
    "names": ["magic", "type", "machine", "at", "entry", "count"],
    "formats": ["<u4", "<u2", "<u2", "<i8", "<u2", "<u2"],
    "offsets": [0, 16, 18, 40, 58, 60], "itemsize": 64,
})  # fmt: skip
_SECTION = np.dtype([
    ("name", "<u4"), ("type", "<u4"), ("flags", "<i8"), ("address", "<i8"), ("at", "<i8"),
    ("size", "<i8"), ("link", "<u4"), ("info", "<u4"), ("align", "<i8"), ("entry", "<i8"),
])  # fmt: skip
_SYMBOL = np.dtype([
    ("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<i8"),
    ("size", "<i8"),
])  # fmt: skip
_RELOCATION = np.dtype([("at", "<i8"), ("type", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_BYTE = np.dtype("u1")
_OBJECT_OF_X86_64 = (0x464C457F, 1, 62)
_SYMBOLS, _RELOCATIONS, _NO_BITS, _FRAMES = 2, 4, 8, 0x70000001
_WRITE, _ALLOCATED, _EXECUTED, _THREAD_LOCAL = 1, 2, 4, 0x400
_WEAK, _ABSOLUTE = 2, 0xFFF1
# Relocations by number: bytes, whether relative to their place, whether to the address table.
_KINDS = {
    1: (8, False, False), 2: (4, True, False), 4: (4, True, False), 24: (8, True, False),
    9: (4, True, True), 41: (4, True, True), 42: (4, True, True),
}  # fmt: skip
# An entry for each global symbol: `jmp *2(%rip)`, which reaches any distance, and its address.
_JUMP, _ENTRY_SIZE, _ADDRESS_AT = int.from_bytes(b"\xff\x25\x02", "little"), 16, 8
_COLUMNS = [[_KINDS.get(i, (0,) * 3)[k] for i in range(max(_KINDS) + 1)] for k in range(3)]
_WIDTH, _IS_RELATIVE, _IS_ENTRY = (np.array(column) for column in _COLUMNS)
_PAGE, _REACH = mmap.PAGESIZE, 1 << 31


class UnsupportedObjectError(ValueError):
    """An object is not of the kinds that this project's compiler makes."""


class Image:
    """Linked objects in memory, while this is held.

    Attributes:
        symbols: addresses of the global symbols by name.
    """

    def __init__(
        self, objects: Sequence[bytes], imports: Mapping[str, int], exports: Iterable[str] = ()
    ) -> None:
        """Link objects, which may use each other, what is given, and what the process has.

        Args:
            objects: relocatable files.
            imports: addresses by name.
            exports: symbols that must be there.

        Raises:
            UnsupportedObjectError: a file needs a linker that knows more.
            ValueError, IndexError: a file is damaged or for another machine.
            OSError: the system gives no memory for code.
        """
        parsed = [_Object(data) for data in objects]
        size, ends = 0, []
        for kind in (_EXECUTED, 0, _WRITE):
            for each in parsed:
                size = each.place(kind, size)
            size += -size % _PAGE
            ends.append(size)
        if size > _REACH:
            raise ValueError(f"code of {size} bytes, whose parts do not reach each other")
        base = _reserve(size)
        frames: list[int] = []
        release = weakref.finalize(self, _release, base, size, frames)
        # When the process ends, threads may still be in the code.
        release.atexit = False
        self.symbols: dict[str, int] = {}
        for each in parsed:
            each.define(base, self.symbols)
        missing = [name for name in exports if name not in self.symbols]
        pages: Any = (ctypes.c_uint8 * size).from_address(base)
        memory = np.frombuffer(pages, np.uint8)
        known, near = {**imports, **self.symbols}, {*self.symbols}
        for each in parsed:
            missing += each.resolve(memory, base, known, near)
        if missing:
            raise ValueError(f"symbols not found: {', '.join(dict.fromkeys(missing))}")
        for each in parsed:
            each.fill(memory)
        _relocate(memory, base, [each.uses(base) for each in parsed])
        _protect(base, ends[0], mmap.PROT_READ | mmap.PROT_EXEC)
        _protect(base + ends[0], ends[1] - ends[0], mmap.PROT_READ)
        if _unwinder() is not None:
            frames += [base + at for each in parsed for at in each.frames]
            _tell_unwinder("__register_frame", frames)


class _Object:
    """An object file: its tables, and where its sections are in the image."""

    def __init__(self, data: bytes) -> None:
        self.data = np.frombuffer(data, np.uint8)
        head = self._table(_HEADER, 0, 1)[0] if len(data) >= _HEADER.itemsize else None
        if head is None or (head["magic"], head["type"], head["machine"]) != _OBJECT_OF_X86_64:
            raise ValueError("the file was not recognized as a valid object file")
        sections = self._table(_SECTION, int(head["at"]), int(head["count"])).tolist()
        self.rows = [dict(zip(_SECTION.names or (), row, strict=True)) for row in sections]
        (table,) = (row for row in self.rows if row["type"] == _SYMBOLS)
        strings = self._bytes(self.rows[table["link"]]).tobytes()

        def text(at: int) -> str:
            return strings[at : strings.index(b"\0", at)].decode()

        self.symbols = self._table(_SYMBOL, table["at"], table["size"] // 24)
        self.first = table["info"]
        self.globals = [text(int(at)) for at in self.symbols["name"][self.first :]]
        # The sections that have some, and how many. Sections have few of them each: what is done to
        # them is done to those of all, as bytes, for joining tables takes long.
        self.relocated: list[tuple[int, int]] = []
        parts = []
        for section in self.rows:
            if section["type"] != _RELOCATIONS:
                continue
            count = section["size"] // _RELOCATION.itemsize
            part = self._raw(section["at"], count * _RELOCATION.itemsize)
            if self.rows[section["info"]]["flags"] & _ALLOCATED:
                self.relocated.append((section["info"], count))
                parts.append(part)
        self.relocations = np.frombuffer(b"".join(parts), _RELOCATION)
        if unknown := {*self.relocations["type"].tolist()} - {*_KINDS}:
            raise UnsupportedObjectError(f"relocations of type {min(unknown)}")
        self.frames: list[int] = []
        # The last one is of sections that are none, such as that of absolute symbols.
        self.places = np.full(len(self.rows) + 1, -1)
        self.entries = 0
        self.addresses = np.zeros(0, "int64")

    def _raw(self, at: int, size: int) -> bytes:
        part = self.data[at : at + size]
        if at < 0 or len(part) != size:
            raise ValueError("the file is truncated")
        return part.tobytes()

    def _table(self, dtype: np.dtype[Any], at: int, count: int) -> np.ndarray:
        return np.frombuffer(self._raw(at, count * dtype.itemsize), dtype)

    def _bytes(self, section: Any) -> np.ndarray:
        return self._table(_BYTE, section["at"], section["size"])

    def place(self, kind: int, at: int) -> int:
        """Give the sections of a kind places from a number on; return where they end."""
        if kind == _EXECUTED:
            self.entries = at + -at % _ENTRY_SIZE
            at = self.entries + _ENTRY_SIZE * len(self.globals)
        for i, section in enumerate(self.rows):
            flags, size, align = section["flags"], section["size"], section["align"]
            is_code = bool(flags & _EXECUTED)
            group = _EXECUTED if is_code else flags & _WRITE
            if not flags & _ALLOCATED or group != kind:
                continue
            if flags & _THREAD_LOCAL or size < 0 or align > _PAGE:
                raise UnsupportedObjectError(f"section {i}")
            self.places[i] = at = at + -at % max(align, 1)
            at += size
            if section["type"] == _FRAMES and size:
                self.frames.append(int(self.places[i]))
                at += 4  # zeros, which end them
        return at

    def define(self, base: int, symbols: dict[str, int]) -> None:
        """Add the global symbols of this object to those of all."""
        section, value = self.symbols["section"], self.symbols["value"]
        places = self.places[np.minimum(section, len(self.rows))]
        known = np.where(places >= 0, base + places + value, 0)
        self.addresses = np.where(section == _ABSOLUTE, value, known)
        for i, name in enumerate(self.globals, self.first):
            if (
                section[i]
                and symbols.setdefault(name, int(self.addresses[i])) != (self.addresses[i])
                and self.symbols["info"][i] >> 4 != _WEAK
            ):
                raise ValueError(f"'{name}' is defined twice")

    def resolve(
        self, memory: np.ndarray, base: int, symbols: Mapping[str, int], near: set[str]
    ) -> list[str]:
        """Write the entries of the global symbols; return the names that nobody has.

        Args:
            memory: all of the image.
            base: where it is.
            symbols: addresses by name.
            near: the symbols that are in the image.
        """
        missing, entries = [], [0] * len(self.globals)
        for number, name in enumerate(self.globals):
            address = symbols.get(name) or _of_process(name)
            if address is None:
                missing.append(name)
                continue
            entries[number] = address
            entry = base + self.entries + _ENTRY_SIZE * number
            self.addresses[self.first + number] = address if name in near else entry
        table = np.array([[_JUMP, address] for address in entries], "<i8").reshape(-1)
        memory[self.entries : self.entries + table.nbytes] = table.view(np.uint8)
        return missing

    def fill(self, memory: np.ndarray) -> None:
        """Write the sections."""
        for section, place in zip(self.rows, self.places.tolist(), strict=False):
            if place >= 0 and section["type"] != _NO_BITS:
                memory[place : place + section["size"]] = self._bytes(section)

    def uses(self, base: int) -> np.ndarray:
        """Return the relocations: kinds, places, addresses that they are of."""
        if not self.relocated:
            return np.empty((3, 0), "int64")
        indices, counts = map(list, zip(*self.relocated, strict=True))
        rows = self.relocations
        kind, at, symbol = rows["type"], rows["at"], rows["symbol"].astype("int64")
        entry = base + self.entries + _ADDRESS_AT + _ENTRY_SIZE * (symbol - self.first)
        value = np.where(_IS_ENTRY[kind], entry, self.addresses[symbol])
        room = np.repeat([self.rows[i]["size"] for i in indices], counts) - _WIDTH[kind]
        if at.min(initial=0) < 0 or (at > room).any() or not value.all():
            raise ValueError("a relocation is of what is not there")
        place = at + np.repeat(self.places[indices], counts)
        return np.stack([kind, place, value + rows["addend"]])


def _relocate(memory: np.ndarray, base: int, uses: list[np.ndarray]) -> None:
    """Write the addresses of what the sections use."""
    kind, at, value = np.concatenate(uses, axis=1)
    value = value - np.where(_IS_RELATIVE[kind], base + at, 0)
    for width in (4, 8):
        some = _WIDTH[kind] == width
        if width == 4 and (np.abs(value[some]) >= _REACH).any():
            raise ValueError("code does not reach what it uses")
        _write(memory, at[some], value[some], width)


def _write(memory: np.ndarray, at: np.ndarray, value: np.ndarray, width: int) -> None:
    raw = value.astype(f"<i{width}").view(np.uint8).reshape(-1, width)
    memory[at[:, None] + np.arange(width)] = raw


@functools.cache
def _process() -> Any:
    process = ctypes.CDLL(None, use_errno=True)
    process.mmap.restype = process.dlsym.restype = ctypes.c_void_p
    process.dlsym.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    process.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    process.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    process.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return process


@functools.cache
def _unwinder() -> Any:
    """Return libgcc, None without; the process gets its conversions of half precision."""
    try:
        return ctypes.CDLL("libgcc_s.so.1", mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None


def _tell_unwinder(what: str, frames: list[int]) -> None:
    for frame in frames:
        _unwinder()[what](ctypes.c_void_p(frame))


def _of_process(name: str) -> int | None:
    _unwinder()
    return _process().dlsym(None, name.encode())


def _reserve(size: int) -> int:
    kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    base = _process().mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, kind, -1, 0)
    if base == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), f"no memory for {size} bytes of code")
    return base


def _protect(base: int, size: int, kind: int) -> None:
    if size and _process().mprotect(base, size, kind):
        raise OSError(ctypes.get_errno(), "the system does not let memory be executed")


def _release(base: int, size: int, frames: list[int]) -> None:
    _tell_unwinder("__deregister_frame", frames)
    _process().munmap(base, size)
