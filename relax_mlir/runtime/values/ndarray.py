"""The tensors that users see: numpy arrays with the methods of TVM's, `nd.array(x).numpy()`."""

import math
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

    def same_as(self, other: Any) -> bool:
        """Return whether another is this tensor: the same elements of the same memory.

        `==` compares elements, as for every array of numpy's.
        """
        return isinstance(other, np.ndarray) and (
            (self.__array_interface__["data"], self.shape, self.strides, self.dtype)
            == (other.__array_interface__["data"], other.shape, other.strides, other.dtype)
        )

    def _create_view(
        self, shape: Any, dtype: Any = None, relative_byte_offset: int = 0
    ) -> "Tensor":
        """Return a tensor over a part of this one's memory (TVM's `Tensor._create_view`).

        Args:
            shape: its shape.
            dtype: its dtype; None is this one's.
            relative_byte_offset: where it begins, in bytes behind this one's first element.

        Raises:
            ArgumentTypeError: no such dtype, or this tensor is not contiguous.
            ShapeMismatchError: the memory is too small for it.
        """
        kind = self.dtype if dtype is None else numpy_dtype(dtype)
        return memory_part(self, tuple(map(int, shape)), kind, relative_byte_offset).view(Tensor)


def memory_part(
    memory: np.ndarray, shape: tuple[int, ...], dtype: np.dtype, offset: int
) -> np.ndarray:
    """Return an array over the memory of another one, from a byte on.

    Raises:
        ArgumentTypeError: the other one is not contiguous.
        ShapeMismatchError: its memory is too small.
    """
    if not memory.flags.c_contiguous:
        raise ArgumentTypeError("a view is of a contiguous tensor; copy it first")
    end = offset + math.prod(shape) * dtype.itemsize
    if offset < 0 or end > memory.nbytes or min(shape, default=0) < 0:
        raise ShapeMismatchError(
            f"a view of shape {shape} and dtype {dtype} would occupy bytes {offset} <= i_byte < "
            f"{end}, but the Tensor being viewed only contains {memory.nbytes} bytes"
        )
    raw = memory.view(np.ndarray).reshape(-1).view(np.uint8)[offset:end]
    return raw.view(dtype).reshape(shape)


def tensor_view(
    tensor: np.ndarray, shape: tuple[int, ...], dtype: str, offset: int = 0
) -> np.ndarray:
    """Return the memory of a tensor under a shape and a dtype, from a byte on.

    Args:
        tensor: any contiguous tensor.
        shape: of the view.
        dtype: of the view.
        offset: of its first byte; where that is not aligned for the dtype, the view is a copy.

    Raises:
        ArgumentTypeError: the tensor is not contiguous.
        ShapeMismatchError: the view does not fit into it.
    """
    part = memory_part(tensor, tuple(shape), numpy_dtype(dtype), offset)
    # Kernels take aligned memory.
    return part if part.flags.aligned else part.copy()


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
    # Arrays of the dtypes of ml_dtypes, such as float8_e4m3fn, are held and passed on.
    if not is_tensor_dtype(value.dtype) and value.dtype.type.__module__ != "ml_dtypes":
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


def convert(value: Any) -> Any:
    """Return a Python value as a program returns it: arrays as tensors, lists as tuples.

    Raises:
        ArgumentTypeError: an array-like object that numpy cannot read.
    """
    return as_tensors(to_value(value))


def from_dlpack(ext_tensor: Any) -> Tensor:
    """Return a tensor over the memory of an object with `__dlpack__`, or over that of a capsule.

    Raises:
        ArgumentTypeError: it is neither, or not in the process's memory.
    """
    given = ext_tensor if hasattr(ext_tensor, "__dlpack__") else _Capsule(ext_tensor)
    result = as_tensors(to_value(given))
    if not isinstance(result, Tensor):
        raise ArgumentTypeError(f"from_dlpack takes a DLPack tensor, got {describe(ext_tensor)}")
    return result


class _Capsule:
    """A DLPack capsule as an object that numpy takes."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


# TVM's name of it since 0.22.
tensor = array


def __getattr__(name: str) -> Any:
    # TVM's class of dtypes is the FFI's, a string: every function here takes it as one.
    if name == "DataType":
        from relax_mlir.runtime.native.ffi import tvm_ffi

        return tvm_ffi.dtype
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
