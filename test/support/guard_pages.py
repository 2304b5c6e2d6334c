"""Memory whose neighbours cannot be touched: a stray load or store of a kernel ends the process."""

import ctypes
import mmap
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.native.loader import ffi_value
from relax_mlir.runtime.values.convert import to_value

_PROT_NONE = 0
_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class GuardedPages:
    """A copy of an array right before, or right after, a page without access.

    Args:
        values: the array.
        at_end: whether its last byte is the last before such a page; else its first byte is the
            first after one.
    """

    def __init__(self, values: np.ndarray, at_end: bool) -> None:
        page = mmap.PAGESIZE
        inner = -(-max(values.nbytes, 1) // page) * page
        self._memory = mmap.mmap(-1, inner + 2 * page)
        start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for guard in (start, start + page + inner):
            if _LIBC.mprotect(guard, page, _PROT_NONE):
                raise OSError(ctypes.get_errno(), "mprotect")
        self._guards = (start, start + page + inner)
        offset = page + (inner - values.nbytes if at_end else 0)
        raw = np.frombuffer(self._memory, np.uint8, values.nbytes, offset)
        self.array = raw.view(values.dtype).reshape(values.shape)
        self.array[...] = values


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a native function that is called on such copies, placed both ways.

    It takes arrays, and TVM FFI's tensors, which constants and bfloat16 are. What the two calls
    write has to be equal, byte for byte.
    """

    def call(*args: Any) -> Any:
        arrays = [to_value(a) if hasattr(a, "shape") else None for a in args]
        written = []
        for at_end in (False, True):
            pages = [None if a is None else GuardedPages(a, at_end) for a in arrays]
            given = [
                a if p is None else ffi_value(p.array) for a, p in zip(args, pages, strict=True)
            ]
            result = function(*given)
            written.append([None if p is None else p.array.tobytes() for p in pages])
        assert written[0] == written[1]
        for array, page in zip(arrays, pages, strict=True):
            if array is not None and page is not None and array.tobytes() != page.array.tobytes():
                array[...] = page.array
        return result

    return call
