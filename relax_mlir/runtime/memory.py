"""Memory for tensors: 64-byte aligned storage, fresh or from a pool of freed blocks (V15)."""

import threading
from typing import Any

import numpy as np

from relax_mlir.errors import VMError

ALIGNMENT = 64
POOL_MAX_BYTES = 1 << 30

_U8 = np.dtype("uint8")
_new_array = np.ndarray.__new__
_Block = tuple[np.ndarray, int]


class _Raw(np.ndarray):
    """Memory as it came from the system."""


class Storage(np.ndarray):
    """Aligned bytes that tensors are views of; alive as long as any of them.

    numpy shortens chains of views, but only to a base of the view's own type. With three types,
    tensor, storage and raw memory, a tensor and all views of it keep the storage object.
    """


class PooledStorage(Storage):
    """Storage whose block goes back to its allocator when the last view of it dies."""

    # On the class, so that slices of a storage have none and give nothing back.
    owner: Any = None
    block: Any = None

    def __del__(self) -> None:
        if self.owner is not None:
            self.owner._recycle(self.block)


def _block(size: int) -> _Block:
    """Return fresh memory with room for `size` bytes, and where alignment begins in it."""
    try:
        raw = _new_array(_Raw, size + ALIGNMENT, _U8)
    except (MemoryError, ValueError, OverflowError, TypeError) as error:
        raise VMError(f"cannot allocate a storage of {size} bytes: {error}") from error
    return raw, -raw.__array_interface__["data"][0] & (ALIGNMENT - 1)


def _check_size(size: int) -> None:
    if size < 0:
        raise VMError(f"cannot allocate a storage of {size} bytes")


class NaiveAllocator:
    """Fresh memory for every storage."""

    kind = "naive"

    def alloc(self, size: int) -> Storage:
        """Return `size` aligned bytes, not cleared.

        Raises:
            VMError: the size is negative or there is not so much memory.
        """
        _check_size(size)
        raw, start = _block(size)
        return _new_array(Storage, size, _U8, raw, start)


class PooledAllocator:
    """Keeps freed blocks, by size class, for the next storage.

    A large block from the system comes with pages that must be faulted in again each time, and for
    a small one finding its address costs more than taking it from a list.
    """

    kind = "pooled"

    def __init__(self) -> None:
        self._free: dict[int, list[_Block]] = {}
        self._kept = 0
        # Re-entrant: a collection inside the lock may finalise a storage in the same thread.
        self._lock = threading.RLock()

    def alloc(self, size: int) -> Storage:
        """Return `size` aligned bytes, not cleared; raises VMError like the naive allocator."""
        _check_size(size)
        # Eight classes per power of two: dynamic shapes find a block, at most 1/8 is wasted.
        step = 1 << max(6, size.bit_length() - 4)
        rounded = (size + step - 1) & -step
        with self._lock:
            blocks = self._free.get(rounded)
            block = blocks.pop() if blocks else None
            if block is not None:
                self._kept -= rounded
        if block is None:
            try:
                block = _block(rounded)
            except VMError:
                self.release()
                block = _block(rounded)
        storage = _new_array(PooledStorage, size, _U8, block[0], block[1])
        storage.block = block
        storage.owner = self
        return storage

    def _recycle(self, block: _Block) -> None:
        size = block[0].nbytes - ALIGNMENT
        with self._lock:
            if self._kept + size <= POOL_MAX_BYTES:
                self._kept += size
                self._free.setdefault(size, []).append(block)

    def release(self) -> None:
        """Give the kept blocks back to the system."""
        with self._lock:
            self._free.clear()
            self._kept = 0


class VMState:
    """What builtins may reach of the VM that calls them: its allocators, one per device (V08)."""

    def __init__(self, memory: str = "pooled") -> None:
        if memory not in ("pooled", "naive"):
            raise ValueError(f"memory must be 'pooled' or 'naive', got {memory!r}")
        self.allocators = [PooledAllocator() if memory == "pooled" else NaiveAllocator()]


DEFAULT_STATE = VMState()
