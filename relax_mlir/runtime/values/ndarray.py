"""The tensors that users see: numpy arrays with the methods of TVM's, `nd.array(x).numpy()`."""

from typing import Any

import numpy as np

from relax_mlir.errors import ArgumentTypeError, ShapeMismatchError
from relax_mlir.runtime.device import placement
from relax_mlir.runtime.device.api import Device
from relax_mlir.runtime.values.convert import describe, is_tensor_dtype, numpy_dtype, to_value


class Tensor(np.ndarray):
    """An array in a device's memory, passed and indexed as any other of numpy's.

    Results of compiled programs and the arguments of packed functions are such arrays. What numpy
    computes of one is a plain array.
    """

    def __array_wrap__(
        self, array: np.ndarray, context: Any = None, return_scalar: bool = False
    ) -> Any:
        """Return what a numpy function computed: an array or a number, as for plain arrays."""
        return array[()] if return_scalar else array.view(np.ndarray)

    @property
    def device(self) -> Device:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Where it is."""
        return placement.device_of(self)

    def numpy(self) -> np.ndarray:
        """Return a plain copy in the process's memory."""
        return placement.copy_to(self.view(np.ndarray), "cpu")

    asnumpy = numpy

    def copyto(self, target: Any, mem_scope: str | None = None) -> "Tensor":
        """Copy the elements into an array, or into a new one on a device.

        Args:
            target: an array of this shape and dtype, or a device.
            mem_scope: None or `global`.

        Returns:
            The array that has them.

        Raises:
            ShapeMismatchError: the array has another shape.
            ArgumentTypeError: it has another dtype.
            DeviceError: no such device.
        """
        if mem_scope not in (None, "", "global"):
            raise ArgumentTypeError(f"there is no memory of scope '{mem_scope}'; it is 'global'")
        if not isinstance(target, np.ndarray):
            return placement.copy_to(self.view(np.ndarray), target).view(Tensor)
        _same_form(self, target)
        placement.copy_bytes(np.ascontiguousarray(self), target)
        return target.view(Tensor)

    def copyfrom(self, source: Any) -> "Tensor":
        """Take over the elements of an array of this shape, converted to this dtype.

        Raises:
            ShapeMismatchError: it has another shape.
        """
        given = np.asarray(to_value(source))
        if given.shape != self.shape:
            raise ShapeMismatchError(f"copyfrom: the array is {self.shape}, got {given.shape}")
        placement.copy_bytes(np.ascontiguousarray(given, self.dtype), self)
        return self


def _same_form(source: np.ndarray, target: np.ndarray) -> None:
    if source.shape != target.shape:
        raise ShapeMismatchError(f"copyto: from {source.shape} into {target.shape}")
    if source.dtype != target.dtype:
        raise ArgumentTypeError(f"copyto: from {source.dtype} into {target.dtype}; cast it first")


def array(arr: Any, device: Any = None, mem_scope: str | None = None) -> Tensor:
    """Return a copy of an array on a device; also `runtime.tensor`.

    Args:
        arr: an array, or nested lists of numbers.
        device: the device; None is the CPU.
        mem_scope: None or `global`.

    Raises:
        ArgumentTypeError: it is no array of numbers.
        DeviceError: no such device.
    """
    value = to_value(arr)
    try:
        value = value if isinstance(value, np.ndarray) else np.asarray(value)
    except ValueError as error:
        raise ArgumentTypeError(f"nd.array takes an array of numbers: {error}") from None
    if not is_tensor_dtype(value.dtype):
        raise ArgumentTypeError(
            f"nd.array takes an array of numbers, got {describe(arr)} of dtype {value.dtype}"
        )
    return value.view(Tensor).copyto("cpu" if device is None else device, mem_scope)


def empty(
    shape: Any, dtype: Any = "float32", device: Any = None, mem_scope: str | None = None
) -> Tensor:
    """Return an array on a device, not initialised.

    Args:
        shape: a size, or a tuple of them.
        dtype: its dtype or its name.
        device: the device; None is the CPU.
        mem_scope: None or `global`.

    Raises:
        ArgumentTypeError: no such dtype, or the shape is none.
        DeviceError: no such device.
        VMError: not so much memory.
    """
    sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        raise ArgumentTypeError(f"the shape of an array is sizes of 0 and more, got {shape!r}")
    if mem_scope not in (None, "", "global"):
        raise ArgumentTypeError(f"there is no memory of scope '{mem_scope}'; it is 'global'")
    made = placement.empty(tuple(map(int, sizes)), numpy_dtype(dtype), device)
    return made.view(Tensor)


def as_tensors(value: Any) -> Any:
    """Return a value of the virtual machine for users: its arrays as tensors, over their memory."""
    if type(value) is np.ndarray:
        return value.view(Tensor)
    return tuple([as_tensors(v) for v in value]) if type(value) is tuple else value


# TVM's name of it since 0.22.
tensor = array
