"""Memory for tensors: 64-byte aligned storage, new or from a pool of freed blocks."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from relax_mlir.errors import DeviceError, VMError
from relax_mlir.runtime.device.api import Device, cpu, device
from relax_mlir.runtime.device.cpu import CPUDeviceAPI

ALIGNMENT = 64
POOL_MAX_BYTES = 1 << 30
# What generated shape functions store for an expression that cannot be computed.
NO_VALUE = -(2**63)

_U8 = np.dtype("uint8")
_new_array = np.ndarray.__new__


class _Raw(np.ndarray):
    """Memory as it came from its device."""

    __slots__ = ()


class _DeviceSpace(_Raw):
    """A data space of a device other than the CPU; goes back to it when its last view dies."""

    # On the class, so that slices of a space have none and give nothing back.
    place: Device | None = None
    api: Any = None
    space: Any = None

    def __del__(self) -> None:
        if self.place is not None:
            self.api.free_data_space(self.place, self.space)


class Storage(np.ndarray):
    """Aligned bytes that tensors are views of; alive as long as any of them.

    numpy shortens chains of views, but only to a base of the view's own type. With three types,
    tensor, storage and raw memory, a tensor and all views of it keep the storage object.
    """

    __slots__ = ()


class PooledStorage(Storage):
    """Storage whose block goes back to its allocator when the last view of it dies."""

    __slots__ = ("block", "owner")

    def __del__(self) -> None:
        try:
            owner = self.owner
        except AttributeError:
            # A slice of a storage has none, and gives nothing back.
            return
        owner._recycle(self.block)


def space_of(array: Any) -> Any:
    """Return the data space of another device that an array is a view of, or None."""
    for owner in _owners(array):
        if type(owner) is _DeviceSpace and owner.place is not None:
            return owner
    return None


def storage_of(array: Any) -> np.ndarray | None:
    """Return the storage that an array is a view of, or None."""
    # The outermost: a slice of a storage is one too.
    storages = [owner for owner in _owners(array) if isinstance(owner, Storage)]
    return storages[-1] if storages else None


def is_storage_shared(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two tensors are the same bytes, of whatever shapes and dtypes they are."""
    return a.ctypes.data == b.ctypes.data and a.nbytes == b.nbytes


def _owners(array: Any) -> Iterator[np.ndarray]:
    """Yield an array and what it is a view of, outwards."""
    while isinstance(array, np.ndarray):
        yield array
        base = array.base
        array = base if isinstance(base, np.ndarray) else getattr(base, "read_only_owner", None)


def _is_host(place: Device) -> bool:
    return type(place.api) is CPUDeviceAPI


def _block(place: Device, size: int) -> _Raw:
    """Return fresh memory of a device."""
    api = place.api
    try:
        space = api.alloc_data_space(place, size, ALIGNMENT)
    except (MemoryError, ValueError, OverflowError, TypeError) as error:
        where = "" if _is_host(place) else f" on {place}"
        raise VMError(f"cannot allocate a storage of {size} bytes{where}: {error}") from error
    if type(api) is CPUDeviceAPI:
        return _new_array(_Raw, size, _U8, space)
    block = _new_array(_DeviceSpace, size, _U8, space)
    block.api, block.space, block.place = api, space, place
    return block


def _check_size(size: int) -> None:
    if size == NO_VALUE:
        raise VMError("cannot allocate a tensor: its size in bytes does not fit 64 bits")
    if size < 0:
        raise VMError(f"cannot allocate a storage of {size} bytes")


class NaiveAllocator:
    """Fresh memory for every storage.

    Attributes:
        place: the device whose memory it is.
    """

    kind = "naive"

    def __init__(self, place: Device | None = None) -> None:
        self.place: Device = place or cpu(0)

    def alloc(self, size: int) -> Storage:
        """Return `size` aligned bytes, not cleared.

        Raises:
            VMError: the size is negative or there is not so much memory.
        """
        _check_size(size)
        return _new_array(Storage, size, _U8, _block(self.place, size))

    def release(self) -> None:
        """Do nothing: no block is kept."""


class PooledAllocator:
    """Keeps freed blocks, by size class, for the next storage.

    A large block from the system comes with pages that must be faulted in again each time, and for
    a small one finding its address costs more than taking it from a list. Taking a block and giving
    it back are single operations on a list, which need no lock.

    Attributes:
        place: the device whose memory it is.
        max_bytes: how much it keeps at most; then the size classes that were not used for longest
            give theirs back.
    """

    kind = "pooled"

    def __init__(self, place: Device | None = None, max_bytes: int = POOL_MAX_BYTES) -> None:
        self.place: Device = place or cpu(0)
        self.max_bytes = max_bytes
        # In the order of their last use, oldest first; and the list that was last used.
        self._free: dict[int, list[_Raw]] = {}
        self._latest: list[_Raw] | None = None
        # What would be kept now if no block had been taken since that was counted.
        self._most = 0
        # Re-entrant: a collection inside the lock may finalise a storage in the same thread.
        self._lock = threading.RLock()

    @property
    def kept(self) -> int:
        """How many bytes it keeps now."""
        with self._lock:
            # A collection may give blocks back, here in this thread, while this counts.
            return sum(size * len(blocks) for size, blocks in list(self._free.items()))

    def alloc(self, size: int) -> Storage:
        """Return `size` aligned bytes, not cleared; raises VMError like the naive allocator."""
        if size < 0:
            _check_size(size)
        # Eight classes per power of two: dynamic shapes find a block, at most 1/8 is wasted.
        step = 1 << max(6, size.bit_length() - 4)
        rounded = (size + step - 1) & -step
        try:
            block = self._free[rounded].pop()
        except (KeyError, IndexError):
            block = self._fresh(rounded)
        storage = _new_array(PooledStorage, size, _U8, block)
        storage.block = block
        storage.owner = self
        return storage

    def _fresh(self, size: int) -> _Raw:
        try:
            return _block(self.place, size)
        except VMError:
            self.release()
            return _block(self.place, size)

    def _recycle(self, block: _Raw) -> None:
        size = block.nbytes
        if size > self.max_bytes:
            return
        blocks = self._free.get(size)
        if blocks is None or blocks is not self._latest:
            with self._lock:
                blocks = self._latest = self._free.pop(size, None) or []
                self._free[size] = blocks
        blocks.append(block)
        self._most += size
        if self._most > self.max_bytes:
            self._trim()

    def _trim(self) -> None:
        # Blocks that are given up die after the lock is free.
        dropped: list[list[_Raw]] = []
        with self._lock:
            before, kept = self._most, self.kept
            while kept > self.max_bytes:
                oldest = next(iter(self._free))
                dropped.append(self._free.pop(oldest))
                kept -= oldest * len(dropped[-1])
            # Others may have added to it meanwhile.
            self._most += kept - before

    def release(self) -> None:
        """Give the kept blocks back to the system."""
        with self._lock:
            dropped, self._free = self._free, {}
            self._latest, self._most = None, 0
        dropped.clear()


_ALLOCATORS = {"pooled": PooledAllocator, "naive": NaiveAllocator}


class VMState:
    """What builtins may reach of the VM that calls them: its allocators, one per device.

    Args:
        memory: "pooled" or "naive", for all devices or by device (the others are pooled).
        devices: the devices; the first is where a program's memory is if it does not say.

    Raises:
        ValueError: another kind of memory.
        DeviceError: a device that does not exist, or one twice.
    """

    def __init__(
        self, memory: str | Mapping[Any, str] | None = None, devices: Sequence[Any] = ()
    ) -> None:
        self.devices: tuple[Device, ...] = tuple([device(d) for d in devices]) or (cpu(0),)
        kinds: dict[Device, str] = dict.fromkeys(self.devices, "pooled")
        if isinstance(memory, Mapping):
            kinds.update({device(d): kind for d, kind in memory.items()})
        elif memory is not None:
            kinds = dict.fromkeys(self.devices, memory)
        for kind in kinds.values():
            if kind not in _ALLOCATORS:
                raise ValueError(f"memory must be 'pooled' or 'naive', got {kind!r}")
        missing = [d for d in self.devices if not d.exist]
        if missing or len(set(self.devices)) != len(self.devices):
            names = ", ".join(str(d) for d in missing or self.devices)
            raise DeviceError(f"there is no device {names}" if missing else f"{names}: one twice")
        self.allocators: list[Any] = [_ALLOCATORS[kinds[d]](d) for d in self.devices]
        for d in self.devices:
            d.api.set_device(d)

    @property
    def on_host(self) -> bool:
        """Whether a program's memory is the process's own, if the program does not say."""
        return _is_host(self.devices[0])

    @property
    def plain(self) -> bool:
        """Whether all memory is the process's own, pooled: small tensors may be numpy's then."""
        return self.on_host and [a.kind for a in self.allocators] == ["pooled"]

    def allocator(self, name: Any) -> Any:
        """Return the allocator of a device that a program names: by number, or `cpu`, `dev:1`.

        A VM with one device uses that, whatever the program's name for it is.

        Raises:
            DeviceError: the VM has no such device.
        """
        if len(self.allocators) == 1 and type(name) is not int:
            return self.allocators[0]
        if type(name) is int:
            if 0 <= name < len(self.allocators):
                return self.allocators[name]
        else:
            wanted = device(name)
            for allocator in self.allocators:
                if allocator.place == wanted:
                    return allocator
        have = ", ".join(str(d) for d in self.devices)
        raise DeviceError(f"the program asks for memory on device {name}, the VM has {have}")


DEFAULT_STATE = VMState()
