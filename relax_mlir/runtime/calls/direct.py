"""Native functions that take numpy arrays as they are, in a quarter of the time.

The FFI makes an object of every array. Here code that knows how numpy and CPython lay out theirs
describes the arrays on the stack. It is compiled when a function has been called a few times, once
per process, and left out where objects are not laid out so. What it hands on native code checks.
"""

import ctypes
import functools
import platform
import struct
import sys
import sysconfig
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from relax_mlir.runtime.calls import direct_code, plan_code
from relax_mlir.runtime.native.loader import ADDRESS, NAME, link_for_good
from relax_mlir.runtime.values.convert import BFLOAT16, DTYPES

# Numbers of numpy's own dtypes are smaller; the last pair is for bfloat16.
_NUMBERS = 33
_CODES = {"b": 6, "i": 0, "u": 1, "f": 2}
_BFLOAT = 4 | 16 << 8 | 1 << 16
_METH_FASTCALL = 0x80


class _MethodDef(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("code", ctypes.c_void_p), ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    ]  # fmt: skip


class Code:
    """The compiled code of this process."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm
        import tvm_ffi

        self._dtypes = (ctypes.c_uint64 * (2 * _NUMBERS))()
        for char in "?bBhHiIlLqQefd":
            dtype = np.dtype(char)
            bits = _CODES[dtype.kind] | 8 * dtype.itemsize << 8 | 1 << 16
            self._dtypes[2 * dtype.num : 2 * dtype.num + 2] = [id(dtype), bits]
        objects = {"ndarray": np.ndarray, "int": int, "float": float, "bool": bool}
        addresses = {n: id(o) for n, o in objects.items()} | {"True": id(True), "None": id(None)}
        table = ctypes.addressof(self._dtypes)
        parts = [
            direct_code.declarations(),
            direct_code.argument_code(addresses, table, _NUMBERS),
            direct_code.call_code(addresses),
            plan_code.plan_code(addresses),
        ]
        # Optimised, it takes three times as long to compile and saves some nanoseconds a call.
        machine = llvm.Target.from_default_triple().create_target_machine(opt=0, jit=True)
        image = machine.emit_object(llvm.parse_assembly("\n".join(parts)))
        api = {
            n: ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p).value or 0
            for n in direct_code.API
        }
        names = direct_code.CALL, direct_code.RAISED, plan_code.RUN
        self._call, raised, self._run = link_for_good(image, api, names)
        self._raiser = tvm_ffi.Function.__from_extern_c__(raised)
        prototype = ctypes.PYFUNCTYPE(
            ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
        )
        self._new = prototype(("PyCFunction_NewEx", ctypes.pythonapi))

    def call(self, name: str, func: Any, address: int) -> Callable[..., Any]:
        """Return a function that calls a native one, by way of the FFI where it must."""
        self._know_bfloat16()
        definition = self._define(name, self._call)
        own = (func, address, self._raiser, definition)
        return self._new(ctypes.addressof(definition), own, None)

    def run(self, name: str, miss: Any, plans: Sequence[Any]) -> Callable[..., Any]:
        """Return a function that runs the first plan that fits its arguments, or gives `miss`."""
        self._know_bfloat16()
        definition = self._define(name, self._run)
        own = (miss, np.empty, (definition, *plans), *[plan.address for plan in plans])
        return self._new(ctypes.addressof(definition), own, None)

    def _define(self, name: str, code: int) -> _MethodDef:
        return _MethodDef(name.encode(), code, _METH_FASTCALL, None)

    def _know_bfloat16(self) -> None:
        # Its dtype comes with a package that is loaded when a program needs it.
        dtype = DTYPES.get(BFLOAT16)
        if dtype is not None:
            self._dtypes[2 * _NUMBERS - 2 :] = [id(dtype), _BFLOAT]


@functools.lru_cache(maxsize=1)
def code() -> Code | None:
    """Return the process's code, None where its objects are not as it expects."""
    return Code() if _is_as_expected() else None


def direct(func: Any, slow: Any = None) -> Any:
    """Return a native function that takes arrays as they are; the same one where none can.

    Args:
        func: a function of `load_objects`.
        slow: what takes other arguments; None is the function itself.
    """
    address, native = getattr(func, ADDRESS, None), code()
    if address is None or native is None:
        return slow or func
    return native.call(getattr(func, NAME), slow or func, address)


def is_plain(value: Any) -> bool:
    """Whether a value is an array as native functions take it."""
    if type(value) is not np.ndarray or DTYPES.get(value.dtype.name) is not value.dtype:
        return False
    return value.ndim <= direct_code.MOST_DIMS and value.flags.carray


def _is_as_expected() -> bool:
    """Whether CPython and numpy lay objects out as the code takes it."""
    if platform.python_implementation() != "CPython" or sys.byteorder != "little":
        return False
    if struct.calcsize("P") != 8 or hasattr(sys, "getobjects"):
        return False
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if np.ndarray.__basicsize__ < direct_code.ARRAY_FLAGS + 4:
        return False
    samples = [np.zeros((2, 3), "float32"), np.zeros((), "int8"), np.zeros((5, 1, 7), "bool")]
    samples += [samples[0].T, np.zeros((3, 0, 2), "float64")]
    samples[-1].flags.writeable = False
    return all(_is_laid_out(sample) for sample in samples)


def _is_laid_out(array: np.ndarray) -> bool:
    flags = array.flags
    bits = 1 * flags.c_contiguous | 0x100 * flags.aligned | 0x400 * flags.writeable
    rank = _read(ctypes.c_int, array, direct_code.ARRAY_RANK)
    if rank != array.ndim:
        return False
    dims = _read(ctypes.c_uint64, array, direct_code.ARRAY_DIMS)
    shape = (ctypes.c_int64 * rank).from_address(dims)[:] if rank else []
    number = _read(ctypes.c_int, array.dtype, direct_code.DTYPE_NUMBER)
    return (
        _read(ctypes.c_uint64, array, 8) == id(np.ndarray)
        and _read(ctypes.c_uint64, array, direct_code.ARRAY_DATA) == array.ctypes.data
        and tuple(shape) == array.shape
        and _read(ctypes.c_uint64, array, direct_code.ARRAY_DTYPE) == id(array.dtype)
        and _read(ctypes.c_int, array, direct_code.ARRAY_FLAGS) & direct_code.GOOD_FLAGS == bits
        and number == array.dtype.num < _NUMBERS - 1
    )


def _read(kind: Any, value: Any, offset: int) -> int:
    return kind.from_address(id(value) + offset).value
