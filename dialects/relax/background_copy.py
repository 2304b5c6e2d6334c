"""Copies of large arrays that another thread makes while a build goes on."""

import mmap
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

# A smaller array is copied in less time than another thread takes to begin.
_MIN_BYTES = 1 << 18
# Bytes of a line of the cache, and columns of a block, whose lines fit in L1.
_LINE, _BLOCK = 64, 64


class _Copies:
    """The copies of one build, by the address of what they fill."""

    def __init__(self) -> None:
        self.executor = ThreadPoolExecutor(1, "relax_mlir.copy")
        self.running: dict[int, Future[None]] = {}
        self.deferred: dict[int, tuple[np.ndarray, np.ndarray]] = {}


_CURRENT: ContextVar[_Copies | None] = ContextVar("relax_mlir.copies", default=None)


@contextmanager
def copy_in_background() -> Iterator[None]:
    """Let `start_copy` return before arrays are filled; when this ends, all of them are.

    On a machine of one core it changes nothing.

    Raises:
        MemoryError: there was no memory for a copy.
    """
    if (os.cpu_count() or 1) == 1:
        yield
        return
    copies = _Copies()
    token = _CURRENT.set(copies)
    try:
        with copies.executor:
            yield
            for target, source in copies.deferred.values():
                copies.running[target.ctypes.data] = copies.executor.submit(_copy, target, source)
    finally:
        _CURRENT.reset(token)
    for future in copies.running.values():
        future.result()


def start_copy(target: np.ndarray, source: np.ndarray) -> None:
    """Fill an array with another one's elements, at once or in the background.

    Args:
        target: nobody may read it before `finish_copy` or the end of `copy_in_background`.
        source: of the same shape and dtype; nobody may write to it until then.
    """
    start_filling(target, partial(_copy, *_in_rows(target, source)))


def _in_rows(target: np.ndarray, source: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return arrays with an element for each row of these where both have rows in one piece.

    Numpy copies a row faster as one element than as many.
    """
    alike = source.shape == target.shape and source.dtype == target.dtype
    if not (alike and target.size and target.ndim > 1):
        return target, source
    if not target.strides[-1] == source.strides[-1] == target.itemsize:
        return target, source
    row = f"V{target.shape[-1] * target.itemsize}"
    return target.view(row), source.view(row)


def _copy(target: np.ndarray, source: np.ndarray) -> None:
    """Fill an array with another one's elements, in blocks of columns where those are rows there.

    numpy walks in the order of the target, so that a transposed source has a line of the cache
    for each element: a matrix of 3072 x 768 takes 15 ms, and 2 ms in blocks.
    """
    if source.ndim < 2 or abs(source.strides[-1]) < _LINE:
        np.copyto(target, source)
        return
    for first in range(0, source.shape[-1], _BLOCK):
        part = ..., slice(first, first + _BLOCK)
        np.copyto(target[part], source[part])


def start_filling(target: np.ndarray, fill: Callable[[], None]) -> None:
    """Fill an array, as `start_copy` does, by what a function computes."""
    copies = _CURRENT.get()
    if copies is None or target.nbytes < _MIN_BYTES:
        fill()
    else:
        copies.running[target.ctypes.data] = copies.executor.submit(fill)


def defer_copy(target: np.ndarray, source: np.ndarray) -> None:
    """Fill an array as `start_copy` does, but not before somebody needs its elements.

    What only copies an array again takes them from `origin_of` it, and calls `drop_copy` where
    nothing else reads it.
    """
    copies = _CURRENT.get()
    if copies is None or target.nbytes < _MIN_BYTES:
        _copy(target, source)
    else:
        copies.deferred[target.ctypes.data] = target, source


def origin_of(array: np.ndarray) -> np.ndarray:
    """Return what an array is to be filled with where that is put off, else the array.

    Copies of what is returned may be started: it is filled, or will be before them.
    """
    copies = _CURRENT.get()
    pair = None if copies is None else copies.deferred.get(array.ctypes.data)
    if pair is None:
        return array
    return pair[1] if pair[1].shape == array.shape else finish_copy(array)


def drop_copy(array: np.ndarray) -> None:
    """Never fill an array whose copy was put off: nobody reads it."""
    copies = _CURRENT.get()
    if copies is not None:
        copies.deferred.pop(array.ctypes.data, None)


def finish_copy(array: np.ndarray) -> np.ndarray:
    """Wait until an array is filled, if it is being copied to; return it."""
    copies = _CURRENT.get()
    if copies is None:
        return array
    pair = copies.deferred.pop(array.ctypes.data, None)
    if pair is not None:
        _copy(*pair)
    future = copies.running.get(array.ctypes.data)
    if future is not None:
        future.result()
    return array


def release_pages(array: np.ndarray) -> None:
    """Give the system back the memory of an array that is a view of a file mapped for reading.

    The elements stay: who asks for them again has them read from the file. A packed weight is a
    second copy, and a large model need not be in memory twice. Copies that were started are made
    before.
    """
    copies = _CURRENT.get()
    if copies is None:
        _release(array)
    else:
        copies.executor.submit(_release, array)


def _release(array: np.ndarray) -> None:
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if not isinstance(base, mmap.mmap) or not memoryview(base).readonly or not len(base):
        return
    place = array.ctypes.data - np.frombuffer(base, np.uint8).ctypes.data
    first = place + -place % mmap.PAGESIZE
    size = place + array.nbytes - first
    if hasattr(base, "madvise") and size >= mmap.PAGESIZE and array.flags.forc:
        base.madvise(mmap.MADV_DONTNEED, first, size)
