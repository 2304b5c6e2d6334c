"""The device of an array, and copies between devices through their APIs."""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from relax_mlir.runtime.device.api import Device, cpu, device
from relax_mlir.runtime.device.cpu import CPUDeviceAPI
from relax_mlir.runtime.device.memory import NaiveAllocator, VMState, space_of
from relax_mlir.runtime.files.access import flat_bytes
from relax_mlir.runtime.values.convert import numpy_dtype, to_value

ndarray = np.ndarray


def device_of(array: np.ndarray) -> Device:
    """Return the device whose memory an array is in."""
    space = space_of(array)
    return cpu(0) if space is None else space.place


def empty(
    shape: tuple[int, ...], dtype: Any = "float32", device: Any = None, mem_allocator: Any = None
) -> np.ndarray:
    """Return an array in a device's memory, not initialised.

    Args:
        shape: its shape.
        dtype: its dtype or its name.
        device: the device; None is the CPU.
        mem_allocator: an allocator of that device to take the memory from.

    Raises:
        DeviceError: no such device.
        VMError: not so much memory.
    """
    place = cpu(0) if device is None else _device(device)
    result = numpy_dtype(dtype)
    allocator = mem_allocator or NaiveAllocator(place)
    storage = allocator.alloc(int(np.prod(shape, dtype=np.int64)) * result.itemsize)
    return ndarray(shape, result, storage)


_device = device


def copy_bytes(src: np.ndarray, dst: np.ndarray, stream: Any = None) -> None:
    """Copy an array's bytes to one of the same size; the API of the side that is not the CPU does.

    Both must be C-contiguous; for two devices of different kinds the copy goes over the CPU.
    """
    from_device, to_device_ = device_of(src), device_of(dst)
    on_host = [type(d.api) is CPUDeviceAPI for d in (from_device, to_device_)]
    if not any(on_host) and from_device.name != to_device_.name:
        staging = np.empty(src.nbytes, np.uint8)
        copy_bytes(src, staging, stream)
        copy_bytes(staging, dst, stream)
        return
    api = from_device.api if on_host[1] else to_device_.api
    api.copy_data_from_to(flat_bytes(src), flat_bytes(dst), from_device, to_device_, stream)


def copy_to(array: Any, target: Any, mem_allocator: Any = None) -> np.ndarray:
    """Return a copy of an array in a device's memory; complete when this returns.

    Raises:
        DeviceError: no such device.
        ArgumentTypeError: not an array.
        VMError: not so much memory.
    """
    source = to_value(array)
    source = source if isinstance(source, ndarray) else np.asarray(source)
    place = device(target)
    result = empty(source.shape, source.dtype, place, mem_allocator)
    copy_bytes(source, result)
    for side in {device_of(source), place}:
        side.sync()
    return result


class Placement:
    """Brings values to the first device of a VM and back, where that is not the CPU."""

    def __init__(self, state: VMState) -> None:
        self.state = state

    def inward(self, value: Any) -> Any:
        """Return a value whose arrays are on the device; those that are there are not copied."""
        if type(value) is tuple:
            return tuple([self.inward(v) for v in value])
        place = self.state.devices[0]
        if not isinstance(value, ndarray) or device_of(value) == place:
            return value
        return copy_to(value, place, self.state.allocators[0])

    def outward(self, value: Any) -> Any:
        """Return a value whose arrays are in the process's memory."""
        if type(value) is tuple:
            return tuple([self.outward(v) for v in value])
        if not isinstance(value, ndarray) or space_of(value) is None:
            return value
        return copy_to(value, cpu(0))

    def across(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that takes and returns arrays of the process for one on the device."""
        if self.state.on_host:
            return call

        @functools.wraps(call)
        def crossing(*args: Any, **kwargs: Any) -> Any:
            inside = [self.inward(to_value(a)) for a in args]
            named = {k: self.inward(to_value(a)) for k, a in kwargs.items()}
            return self.outward(call(*inside, **named))

        return crossing
