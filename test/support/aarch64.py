"""Native code for AArch64 in an emulator of the processor, whose memory is this process's.

`emulated()` stands in for the linker of the runtime, so all else of a program runs as it does on
such a machine. Relocations are those of "ELF for the Arm 64-bit Architecture", section 5.7.
"""

import contextlib
import ctypes
import errno
import math
import mmap
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import tvm_ffi
import unicorn
from unicorn import arm64_const as arm

from relax_mlir.runtime.native import elf, loader
from relax_mlir.runtime.native.thread_pool import pool_object

TRIPLE = "aarch64-linux-gnu"
TARGET = f"llvm -mtriple={TRIPLE} -mcpu={{}} -num-threads=1"
PAGE = 4096
EM_AARCH64, RETURN = 183, 0xD65F03C0
ABSOLUTE, RELATIVE, RELATIVE_32 = 257, 260, 261
PAGES, GOT_PAGES, GOT_LOAD, BRANCHES = (275, 276), 311, 312, (282, 283)
# Loads, stores and additions of an address's low 12 bits, which a load counts in its elements.
LOW_BITS = {277: 0, 278: 0, 284: 1, 285: 2, 286: 3, 299: 4, GOT_LOAD: 3}
INTEGERS = [getattr(arm, f"UC_ARM64_REG_X{i}") for i in range(8)]
FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(INTEGERS))
# The functions of floating-point numbers that kernels call, and their arguments' registers.
REMAINDERS = {
    "fmodf": (np.dtype("f4"), (arm.UC_ARM64_REG_S0, arm.UC_ARM64_REG_S1)),
    "fmod": (np.dtype("f8"), (arm.UC_ARM64_REG_D0, arm.UC_ARM64_REG_D1)),
}


class Processor:
    """An emulated processor, which sees each page of this process when it asks for it."""

    def __init__(self) -> None:
        self.unicorn = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
        self.unicorn.ctl_set_cpu_model(arm.UC_CPU_ARM64_MAX)
        # Vectors are switched off at reset.
        self.unicorn.reg_write(arm.UC_ARM64_REG_CPACR_EL1, 3 << 20)
        self.unicorn.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, self._share)
        self.stack = mmap.mmap(-1, 1 << 20)
        self.end = mmap.mmap(-1, PAGE)
        self.failure: BaseException | None = None
        self.pages: set[int] = set()

    def _share(self, emulator: Any, access: int, address: int, size: int, *_: Any) -> bool:
        for page in {address & -PAGE, (address + size - 1) & -PAGE} - self.pages:
            if not _is_readable(page):
                self.failure = MemoryError(f"no memory at {address:#x}")
                return False
            emulator.mem_map_ptr(page, PAGE, unicorn.UC_PROT_ALL, page)
            self.pages.add(page)
        return True

    def call(self, address: int, *args: int) -> int:
        """Call a function of integers and pointers that returns an int32."""
        for register, value in zip(INTEGERS, args, strict=False):
            self.unicorn.reg_write(register, value)
        top, end = _address(self.stack) + len(self.stack), _address(self.end)
        self.unicorn.reg_write(arm.UC_ARM64_REG_SP, top)
        self.unicorn.reg_write(arm.UC_ARM64_REG_LR, end)
        try:
            self.unicorn.emu_start(address, end)
        except unicorn.UcError as error:
            self.failure = self.failure or error
        # What this process frees between calls must not be read.
        for page in self.pages:
            self.unicorn.mem_unmap(page, PAGE)
        self.pages.clear()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        return ctypes.c_int32(self.unicorn.reg_read(arm.UC_ARM64_REG_X0)).value

    def call_host(self, name: str, address: int) -> None:
        """Call a function of this process with the arguments in registers."""
        if name in REMAINDERS:
            dtype, registers = REMAINDERS[name]
            raw = b"".join(
                self.unicorn.reg_read(register).to_bytes(8, "little")[: dtype.itemsize]
                for register in registers
            )
            result = np.fmod(*np.frombuffer(raw, dtype))
            bits = int.from_bytes(result.tobytes(), "little")
            self.unicorn.reg_write(registers[0], bits)
            return
        values = [self.unicorn.reg_read(register) for register in INTEGERS]
        self.unicorn.reg_write(arm.UC_ARM64_REG_X0, FUNCTION(address)(*values))


def _address(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _is_readable(page: int) -> bool:
    """Whether this process can read a page: whether a system call can."""
    source, target = os.pipe()
    try:
        return ctypes.CDLL(None).write(target, ctypes.c_void_p(page), 1) == 1
    finally:
        os.close(source)
        os.close(target)


class _Object:
    """An object file, and where its sections, its table of addresses and its stubs are."""

    def __init__(self, data: bytes, start: int) -> None:
        self.data = np.frombuffer(data, np.uint8)
        (head,) = self._rows(elf._HEADER, 0, 1)
        self.sections = self._rows(elf._SECTION, int(head["at"]), int(head["count"]))
        (table,) = self.sections[self.sections["type"] == elf._SYMBOLS]
        self.symbols = self._entries(elf._SYMBOL, table)
        strings = self.bytes(self.sections[table["link"]]).tobytes()
        self.names = [
            strings[at : strings.index(b"\0", at)].decode() for at in self.symbols["name"]
        ]
        self.places: dict[int, int] = {}
        end = start
        for i, section in enumerate(self.sections):
            if section["flags"] & elf._ALLOCATED:
                self.places[i] = end + -end % max(int(section["align"]), 1)
                end = self.places[i] + int(section["size"])
        self.table = end + -end % 8
        self.stubs = self.table + 8 * len(self.symbols)
        self.end = self.stubs + 4 * len(self.symbols)

    def _rows(self, dtype: np.dtype[Any], at: int, count: int) -> np.ndarray:
        return np.frombuffer(self.data[at : at + count * dtype.itemsize].tobytes(), dtype)

    def _entries(self, dtype: np.dtype[Any], section: Any) -> np.ndarray:
        return self._rows(dtype, int(section["at"]), int(section["size"]) // dtype.itemsize)

    def bytes(self, section: Any) -> np.ndarray:
        return self.data[int(section["at"]) : int(section["at"] + section["size"])]

    def address(self, base: int, symbol: Any) -> int:
        return base + self.places[int(symbol["section"])] + int(symbol["value"])

    def defined(self, base: int) -> dict[str, int]:
        """Return the addresses of its symbols that other objects may use."""
        return {
            name: self.address(base, symbol)
            for symbol, name in zip(self.symbols, self.names, strict=True)
            if symbol["section"] in self.places and symbol["info"] >> 4
        }

    def relocations(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield the section and the relocations in it."""
        for section in self.sections[self.sections["type"] == elf._RELOCATIONS]:
            if int(section["info"]) in self.places:
                yield int(section["info"]), self._entries(elf._RELOCATION, section)


class Image:
    """Linked objects for AArch64, whose symbols are addresses that this process can call."""

    processor: Processor
    kept: ClassVar[
        list[Any]
    ] = []  # the emulator keeps what it translated, so no address is used twice

    def __init__(
        self, objects: Sequence[bytes], imports: Mapping[str, int], exports: Iterable[str]
    ) -> None:
        parsed, size = [], 0
        for data in [*objects, pool_object(TRIPLE)]:
            parsed.append(each := _Object(data, size))
            size = each.end
        self.memory = mmap.mmap(-1, size)
        self.base = _address(self.memory)
        addresses: dict[str, int] = {}
        for each in parsed:
            addresses |= each.defined(self.base)
        self.calls: dict[int, tuple[str, int]] = {}
        for each in parsed:
            for section, at in each.places.items():
                if each.sections[section]["type"] != elf._NO_BITS:
                    contents = each.bytes(each.sections[section]).tobytes()
                    self.memory[at : at + len(contents)] = contents
            values = []
            for i, (symbol, name) in enumerate(zip(each.symbols, each.names, strict=True)):
                stub = self.base + each.stubs + 4 * i
                if symbol["section"] in each.places:
                    values.append(each.address(self.base, symbol))
                elif name in addresses:
                    values.append(addresses[name])
                else:
                    values.append(stub)
                    self._write(stub, RETURN, 4)
                    if symbol["section"] == 0 and name:
                        self.calls[stub] = name, imports.get(name) or _of_process(name)
                self._write(self.base + each.table + 8 * i, values[-1], 8)
            for section, rows in each.relocations():
                for row in rows:
                    at, kind, symbol, addend = (int(row[n]) for n in elf._RELOCATION.names or ())
                    value = values[symbol] + addend
                    if kind in (GOT_PAGES, GOT_LOAD):
                        value = self.base + each.table + 8 * symbol
                    self._relocate(self.base + each.places[section] + at, kind, value)
            self.processor.unicorn.hook_add(
                unicorn.UC_HOOK_CODE, self._leave, None,
                self.base + each.stubs, self.base + each.end - 1,
            )  # fmt: skip
        self.functions = {name: FUNCTION(self._entry(addresses[name])) for name in exports}
        self.symbols = {
            name: ctypes.cast(function, ctypes.c_void_p).value
            for name, function in self.functions.items()
        }
        self.kept.append(self)

    def _write(self, address: int, value: int, width: int) -> None:
        at = address - self.base
        self.memory[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")

    def _relocate(self, place: int, kind: int, value: int) -> None:
        if kind in (ABSOLUTE, RELATIVE, RELATIVE_32):
            width = 4 if kind == RELATIVE_32 else 8
            self._write(place, value - (0 if kind == ABSOLUTE else place), width)
            return
        at = place - self.base
        code = int.from_bytes(self.memory[at : at + 4], "little")
        if kind in PAGES or kind == GOT_PAGES:
            pages = (value >> 12) - (place >> 12)
            code |= (pages & 3) << 29 | (pages >> 2 & 0x7FFFF) << 5
        elif kind in LOW_BITS:
            code |= ((value & 0xFFF) >> LOW_BITS[kind]) << 10
        else:
            assert kind in BRANCHES, f"relocation of type {kind}"
            code |= (value - place) >> 2 & 0x3FFFFFF
        self._write(place, code, 4)

    def _entry(self, address: int) -> Any:
        def enter(*args: int) -> int:
            # An exception would be lost on its way through C.
            try:
                return self.processor.call(address, *args[:4])
            except Exception as error:
                tvm_ffi.LIB.TVMFFIErrorSetRaisedFromCStr(b"RuntimeError", repr(error).encode())
                return -1

        return enter

    def _leave(self, emulator: Any, address: int, *_: Any) -> None:
        try:
            self.processor.call_host(*self.calls[address])
        except Exception as error:
            self.processor.failure = error
            emulator.emu_stop()


@FUNCTION
def _no_thread(*_: int) -> int:
    """Stand in for `pthread_create`: parallel regions run on their caller alone."""
    return errno.EAGAIN


def _of_process(name: str) -> int:
    function = _no_thread if name == "pthread_create" else getattr(ctypes.CDLL(None), name)
    assert name in REMAINDERS or not hasattr(math, name.removesuffix("f")), f"a call of {name}"
    return ctypes.cast(function, ctypes.c_void_p).value or 0


def _is_for_aarch64(data: bytes) -> bool:
    return int.from_bytes(data[18:20], "little") == EM_AARCH64


@contextlib.contextmanager
def emulated() -> Iterator[None]:
    """Let programs for AArch64 that are loaded meanwhile run, beside those for this machine."""
    link, check, pool = loader._image, loader.check_host, loader.thread_pool
    Image.processor = Processor()

    def image(objects: Sequence[bytes], *linked: Any) -> Any:
        return (Image if _is_for_aarch64(objects[0]) else link)(objects, *linked)

    def check_host(obj: Any) -> None:
        if not _is_for_aarch64(obj.data):
            check(obj)

    def thread_pool(triple: str = "") -> dict[str, int]:
        # An image for AArch64 has its own.
        return {} if triple == TRIPLE else pool(triple)

    loader._image, loader.check_host, loader.thread_pool = image, check_host, thread_pool
    try:
        yield
    finally:
        loader._image, loader.check_host, loader.thread_pool = link, check, pool
